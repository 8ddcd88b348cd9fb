"""Findings to write reports of: made up around known systems, nothing is fitted."""

from dataclasses import replace
from typing import Any

import numpy as np

import graphgrad as gg
from graphgrad.report import Findings

HOSTILE = (
    "<script>window.harm = 1</script>",
    "</script><img src=x onerror='window.harm = 2'>",
    "\"'><b onmouseover=window.harm=3>${script} $$ </title></style><!--",
)

SMALL = Findings(
    title="Hares",
    states=("hare", "lynx"),
    terms=("1", "hare", "lynx", "hare lynx"),
    incidence=np.array([[0.0, 1, 0, 1], [0, 0, 1, 1]]),
    coefficients=np.array([[0.0, 1.1, 0, -0.02], [0.5, 0, 0.9, 0]]),
)
DRIVEN = Findings(
    title="One state, one input, a flow",
    states=("x1",),
    inputs=("u",),
    terms=("x1^2", "x1^(1/2)", "sin(x1)", "u"),
    incidence=np.array([[2, 0.5, 1, 0], [0, 0, 0, 1]]),
    monomials=np.array([True, True, False, True]),
    coefficients=np.array([[-1e-7, 1.0, 1.0, 2.0]]),
    dynamics="flow",
    prices=np.array([2.0]),
    path=np.array([[[-1e-7, 1.0, 1.0, 2.0]]]),
)


def failed(findings: Findings) -> Findings:
    """The same where the fit broke down: nothing is a number."""
    arrays = ("coefficients", "data", "means", "bands", "residuals", "forecast")
    arrays += ("edge_strength", "edge_confidence", "path", "field")
    gone = {name: np.full(np.shape(getattr(findings, name)), np.nan) for name in arrays}
    return replace(findings, outcome="degenerate_likelihood", **gone)


def sample(
    system: gg.systems.System,
    *,
    steps: int = 200,
    names: tuple[str, ...] | None = None,
    title: str = "A test",
    dynamics: str = "flow",
) -> Findings:
    """The truth a little off, with data around it that have gaps."""
    rng = np.random.default_rng(0)
    names = tuple(system.states) if names is None else names
    library = system.library()
    C = np.asarray(system.coefficients(dynamics=dynamics), dtype=float)
    errors = np.where(C != 0, 0.002 + 0.01 * np.abs(C), 0.0)
    found = C + errors * rng.normal(size=C.shape)
    states = _path(system, steps, rng)
    data = states + 0.1 * states.std(axis=0) * rng.normal(size=states.shape)
    gap = slice(steps // 3, steps // 3 + steps // 15)
    data[gap] = np.nan
    spread = 0.06 * states.std(axis=0) * np.ones_like(states)
    spread[gap] *= 3
    strength = _strength(
        found, np.asarray(library.incidence), states, dynamics, system.dt
    )
    sure = rng.uniform(0.93, 1, strength.shape)
    sure[0, 1], sure[-1, 0] = 0.84, 0.42
    prices = np.geomspace(300, 3, 21)
    weak = 0.1 * rng.normal(size=C.shape) * (rng.random(C.shape) < 0.02)
    # Something that no equation has: the last state in the first equation.
    weak[0, len(names)] = 0.05
    path = np.stack([_shrunk(found, p / 400) + weak * (p < 8) for p in prices])
    ahead = states[-1] + rng.normal(size=(200, 40, len(names))).cumsum(axis=1)
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    dt = float(system.dt)
    return Findings(
        title=title,
        states=names,
        terms=library.names(names),
        incidence=np.asarray(library.incidence, dtype=float),
        coefficients=found,
        dynamics=dynamics,
        standard_errors=errors,
        term_confidence=np.where(C != 0, rng.uniform(0.8, 1, C.shape), 0.0),
        edge_confidence=sure,
        edge_strength=strength,
        latex=tuple(gg.latex(found, library, names, dynamics=dynamics)),
        times=dt * np.arange(1, steps + 1),
        columns=names,
        data=data,
        means=states,
        bands=np.stack([states - spread, states + spread], axis=-1),
        **(_field(found, library, states) if dynamics == "flow" else {}),
        prices=prices,
        path=path,
        chosen=12,
        residuals=np.where(np.isnan(data), np.nan, rng.normal(size=data.shape)),
        verdicts=("The residuals look like noise: nothing is left to explain.",),
        forecast_times=dt * np.arange(steps + 1, steps + 41),
        forecast_levels=levels,
        forecast=np.quantile(ahead, levels, axis=0),
        outcome="converged",
        advice=gg.Outcome.converged.advice,
        scores={"log-likelihood": -812.4, "extended BIC": 1701.3, "rows": steps},
        settings={"degree": 2, "dt": dt, "solver": "adaptive", "engine": "Gaussian"},
        versions={"graphgrad": "0.1.0", "Python": "3.11"},
    )


def _path(
    system: gg.systems.System, steps: int, rng: np.random.Generator
) -> np.ndarray:
    """States that the equations pass through, once they are where they belong."""
    step = gg.numpy_function(system.coefficients(dynamics="map"), system.library())
    x, states = 1 + rng.normal(size=len(system.states)), []
    for _ in range(steps + 300):
        x = step(x)
        states.append(x)
    return np.array(states[300:])


def _field(A: np.ndarray, library: Any, states: np.ndarray) -> dict[str, Any]:
    """Rates of the first two states in their plane."""
    low, high = states.min(axis=0), states.max(axis=0)
    x, y = np.linspace(low[0], high[0], 12), np.linspace(low[1], high[1], 9)
    places = np.broadcast_to(states.mean(axis=0), (9, 12, len(A))).copy()
    places[..., 0], places[..., 1] = np.meshgrid(x, y)
    rate = gg.numpy_function(A, library, dynamics="flow")
    return {"field_x": x, "field_y": y, "field": rate(0.0, places)[..., :2]}


def _strength(
    C: np.ndarray, powers: np.ndarray, x: np.ndarray, dynamics: str, dt: float
) -> np.ndarray:
    """As `to_networkx` has it: what a state adds to the steps of another."""
    phi = np.prod(x[:, :, None] ** powers, axis=1)
    phi = dt * (phi[:-1] + phi[1:]) / 2 if dynamics == "flow" else phi[:-1]
    added = np.einsum("tj,aj,bj->tab", phi, C, (powers != 0).astype(float))
    if dynamics == "map":
        own = np.arange(len(C))
        added[:, own, own] -= x[:-1]
    return added.var(axis=0) / np.diff(x, axis=0).var(axis=0)[:, None]


def _shrunk(values: np.ndarray, by: float) -> np.ndarray:
    return np.sign(values) * np.maximum(np.abs(values) - by * np.abs(values) ** 0.3, 0)

"""Findings to write reports of: made up around known systems, nothing is fitted."""

import jax
import numpy as np

import graphgrad as gg
from graphgrad.report import Findings

HOSTILE = (
    "<script>window.harm = 1</script>",
    "</script><img src=x onerror='window.harm = 2'>",
    "\"'><b onmouseover=window.harm=3>${script} $$ </title></style><!--",
)


def sample(
    system: gg.systems.System,
    *,
    steps: int = 200,
    names: tuple[str, ...] | None = None,
    title: str = "A test",
) -> Findings:
    """The truth a little off, with data around it that have gaps."""
    rng = np.random.default_rng(0)
    names = tuple(system.states) if names is None else names
    library = system.library()
    C = np.asarray(system.coefficients(), dtype=float)
    errors = np.where(C != 0, 0.002 + 0.01 * np.abs(C), 0.0)
    found = C + errors * rng.normal(size=C.shape)
    simulation = system.simulate(jax.random.key(0), steps=steps)
    states = np.asarray(simulation.states, dtype=float)[1:]
    data = np.array(simulation.observations, dtype=float)
    data[steps // 3 : steps // 3 + steps // 15] = np.nan
    spread = 0.15 * data[:5].std() * np.ones_like(states)
    spread[steps // 3 : steps // 3 + steps // 15] *= 3
    graph = gg.to_networkx(found, library, trajectory=states[:500])
    order = {name: i for i, name in enumerate(graph.nodes)}
    strength = np.zeros((len(names), len(names)))
    for source, target, edge in graph.edges(data=True):
        strength[order[target], order[source]] = edge["strength"]
    prices = np.geomspace(300, 3, 21)
    weak = 0.02 * rng.normal(size=C.shape) * (rng.random(C.shape) < 0.08)
    path = np.stack(
        [
            np.where(np.abs(found) > 0.004 * np.sqrt(p), found, 0) + weak * (p < 8)
            for p in prices
        ]
    )
    ahead = states[-1] + rng.normal(size=(200, 40, len(names))).cumsum(axis=1)
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    dt = float(system.dt)
    return Findings(
        title=title,
        states=names,
        terms=library.names(names),
        incidence=np.asarray(library.incidence, dtype=float),
        coefficients=found,
        standard_errors=errors,
        term_confidence=np.where(C != 0, rng.uniform(0.6, 1, C.shape), 0.0),
        edge_confidence=rng.uniform(0.3, 1, (len(names), len(names))),
        edge_strength=strength,
        latex=tuple(gg.latex(found, library, names)),
        times=dt * np.arange(1, steps + 1),
        columns=names,
        data=data,
        means=states,
        bands=np.stack([states - spread, states + spread], axis=-1),
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

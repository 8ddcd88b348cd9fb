"""How often the checks after a fit call a right fit doubtful.

`python benchmarks/doubts.py` fits series of known systems and prints, for fits with the
right terms, the number that is `doubtful`, with the upper end of the 95 % interval of
their share, and the smallest p-value of each test. `--realisations N` sets the number
of series of each system (default 40), `--first N` the first seed, `--rows NAME ...`
selects systems by the start of their names. Checks were developed on seeds from 10000.
"""

import argparse
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from scipy.linalg import expm
from scipy.stats import beta

import graphgrad as gg
from graphgrad.diagnostics.changes import change_of_size
from graphgrad.diagnostics.doubts import memory
from graphgrad.diagnostics.innovations import standardised
from graphgrad.diagnostics.normality import shape_of
from graphgrad.diagnostics.skill import one_step_errors, one_step_skill

Case = tuple[np.ndarray, dict[str, Any], np.ndarray]


def known(
    system: Any, steps: int, *, euler: bool = False, degree: int = 2
) -> Callable[[int], Case]:
    """Series of a known system, as a flow or by Euler steps as a map."""
    dynamics = "map" if euler else "flow"
    settings: dict[str, Any] = {"dynamics": "map"} if euler else {"dt": system.dt}
    settings["degree"] = degree

    def draw(seed: int) -> Case:
        key, scheme = jax.random.key(seed), "euler" if euler else "flow"
        ys = system.simulate(key, steps, scheme=scheme, bounded=True).observations
        truth = np.asarray(system.coefficients(dynamics=dynamics)) != 0
        return np.asarray(ys), settings, truth

    return draw


def linear(n: int, rows: int, *, flow: bool) -> Callable[[int], Case]:
    """A random stable linear system, observed with noise."""

    def draw(seed: int) -> Case:
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.5)
        np.fill_diagonal(A, rng.uniform(0.3, 1, n))
        if flow:
            A = 2 * A - (max(0, 2 * np.linalg.eigvals(A).real.max()) + 0.3) * np.eye(n)
            settings = {"degree": 1, "dt": 0.4}
            step, noise, substeps = expm(0.02 * A), 0.5 * np.sqrt(0.02), 20
        else:
            A *= 0.9 / np.abs(np.linalg.eigvals(A)).max()
            settings = {"degree": 1, "dynamics": "map"}
            step, noise, substeps = A, 1.0, 1
        x, states = np.zeros(n), []
        for t in range(1, substeps * (rows + 50) + 1):
            x = step @ x + noise * rng.normal(size=n)
            if t % substeps == 0:
                states.append(x)
        ys = np.array(states[50:]) + 0.3 * rng.normal(size=(rows, n))
        return ys, settings, np.concatenate([np.zeros((n, 1)), A], axis=1) != 0

    return draw


def with_gaps(complete: Callable[[int], Case]) -> Callable[[int], Case]:
    """The series without 15 % of its values; the first row is kept."""

    def draw(seed: int) -> Case:
        ys, settings, truth = complete(seed)
        missing = np.random.default_rng(seed).random(ys.shape) < 0.15
        missing[0] = False
        return np.where(missing, np.nan, ys), settings, truth

    return draw


def unseen_velocity(rows: int) -> Callable[[int], Case]:
    """A pendulum that is pushed at random, whose velocity is not seen."""
    dt, small = 0.2, 0.01
    A = np.array([[0.0, 1.0], [-1.0, -0.3]])
    step, push = expm(small * A), 0.4 * np.sqrt(small)

    def draw(seed: int) -> Case:
        rng, x, seen = np.random.default_rng(seed), np.zeros(2), []
        for t in range(1, 20 * (rows + 100) + 1):
            x = step @ x + push * np.array([0.0, rng.normal()])
            if t % 20 == 0:
                seen.append(x[0])
        ys = np.array(seen[100:])[:, None] + 0.05 * rng.normal(size=(rows, 1))
        settings = {"degree": 1, "dt": dt, "states": ["x"]}
        settings["constraints"] = [gg.velocity("x", "v")]
        return ys, settings, np.concatenate([np.zeros((2, 1)), A], axis=1) != 0

    return draw


ROWS = {
    "Lotka-Volterra, flow, T=100": known(gg.systems.lotka_volterra(), 100),
    "Lorenz 63, flow, T=100": known(gg.systems.lorenz63(dt=0.02), 100),
    "Lorenz 63, map, T=100": known(gg.systems.lorenz63(dt=0.02), 100, euler=True),
    "Lorenz 96, 6 states, flow, T=150": known(
        gg.systems.lorenz96(dt=0.05, n_states=6), 150
    ),
    "linear, 2 states, map, T=60": linear(2, 60, flow=False),
    "linear, 3 states, map, T=150": linear(3, 150, flow=False),
    "linear, 3 states, flow, T=200": linear(3, 200, flow=True),
    "linear, 2 states, map, T=500": linear(2, 500, flow=False),
    "gaps, linear, 3 states, map, T=150": with_gaps(linear(3, 150, flow=False)),
    "gaps, Lotka-Volterra, flow, T=100": with_gaps(
        known(gg.systems.lotka_volterra(), 100)
    ),
    "FitzHugh-Nagumo, flow, T=200": known(gg.systems.fitzhugh_nagumo(), 200, degree=3),
    "unseen velocity, flow, T=200": unseen_velocity(200),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--realisations", type=int, default=40)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rows", nargs="*", default=[""])
    options = parser.parse_args()
    tests = "memory | persistence | AR | normality | variance"
    print(f"| system | right fits | doubtful | {tests} |")
    print(f"|{'---|' * 8}")
    seeds = range(options.first, options.first + options.realisations)
    everything = []
    for name, draw in ROWS.items():
        if not name.startswith(tuple(options.rows)):
            continue
        found = [one for s in seeds if (one := check(*draw(s)))]
        everything += found
        print(f"| {name} | {len(found)} | {shown(found)}", flush=True)
    print(f"| all | {len(everything)} | {shown(everything)}")


def check(ys: np.ndarray, settings: dict[str, Any], truth: np.ndarray) -> Any:
    """Whether a right fit is doubtful, and its p-values; None for a wrong one."""
    model = gg.GraphGrad(**settings).fit(ys)
    if ((model.coef_ != 0) != truth).any():
        return None
    fit = model._fit
    errors, n = one_step_errors(fit) or [], len(fit.columns)
    skills = one_step_skill(fit)
    residuals, shapes, changes = standardised(fit, errors) or [], [], []
    pairs = zip(fit.panel.series, errors, strict=True)
    ahead = [series.values - part for series, part in pairs]
    for j in range(n):
        parts, levels = ([part[:, j] for part in each] for each in (residuals, ahead))
        whole = np.concatenate(parts)
        shapes.append(shape_of(whole[np.isfinite(whole)]).p_harmful)
        changes.append(change_of_size(parts, levels).p_value)
    return (
        model.outcome_ == "doubtful",
        n * min(memory([part[:, j] for part in errors]).p_value for j in range(n)),
        n * min(each.p_persistence for each in skills),
        n * min(each.p_autoregression for each in skills),
        n * min(shapes),
        n * min(changes),
    )


def shown(found: list[Any]) -> str:
    """Cells of the table."""
    if not found:
        return f"{'| ' * 5}|"
    doubtful, *tests = (np.array(part) for part in zip(*found, strict=True))
    least = " | ".join(f"{min(1, part.min()):.2g}" for part in tests)
    return f"{doubtful.sum()} ({highest(doubtful):.1%}) | {least} |"


def highest(doubtful: np.ndarray) -> float:
    """Upper end of the one-sided exact 95 % interval of a share (Clopper, Pearson)."""
    n, k = len(doubtful), int(doubtful.sum())
    return 1.0 if k == n else float(beta.ppf(0.95, k + 1, n - k))


if __name__ == "__main__":
    main()

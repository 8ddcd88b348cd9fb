"""Recovery by the adaptive solver from irregular and incomplete data.

`python benchmarks/general_models.py` prints a Markdown table: mean F1 of the support,
with its interval, for data with gaps, irregular steps, several series, outliers or
noise that is not Gaussian, or with constraints. `--rows NAME ...` selects rows by the
start of their names, `--realisations N` sets their number (default 20).
"""

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import graphgrad as gg
from adaptive_recovery import draw, interval
from graphgrad.compiling import compiled
from graphgrad.metrics import support_scores

LORENZ = gg.systems.lorenz63(dt=0.02)
STEPS = 200


class Case(NamedTuple):
    """A model and a series per realisation, and the true coefficients."""

    models: list[gg.StateSpaceModel]
    series: list[np.ndarray]
    truth: np.ndarray
    options: dict[str, Any]
    rates: tuple[tuple[int, int], ...] = ()  # whose intervals are counted


def lorenz(**changes) -> gg.StateSpaceModel:
    """The model of the Lorenz system, with unknown equations."""
    options = {
        "state_noise": LORENZ.dt * LORENZ.state_noise,
        "observation_noise": LORENZ.observation_noise,
        "initial_mean": LORENZ.x0,
        "initial_noise": LORENZ.initial_noise,
    }
    return gg.state_space_model(LORENZ.library(), **{**options, **changes})


def true(model: gg.StateSpaceModel) -> gg.StateSpaceModel:
    return model.with_coefficients(jnp.asarray(LORENZ.coefficients(dynamics="map")))


def simulated(model: gg.StateSpaceModel, steps: int, key) -> np.ndarray:
    """A bounded series; others are redrawn."""
    for again in range(1000):
        drawn = gg.simulate(jax.random.fold_in(key, again), model, steps=steps)
        if bool(jnp.all(jnp.abs(drawn.states) < LORENZ.bound)):
            return np.asarray(drawn.observations)
    raise RuntimeError("no draw stays bounded")


def gaps(hide: Callable[[np.random.Generator, np.ndarray], np.ndarray], **options):
    """The Lorenz system with entries hidden."""

    def case(number: int) -> Case:
        _, ys, _ = draw(LORENZ, STEPS, number)
        series = [hide(np.random.default_rng(i), y) for i, y in enumerate(ys)]
        return Case(
            [lorenz()] * number, series, LORENZ.coefficients(dynamics="map"), options
        )

    return case


def nothing(_: np.random.Generator, ys: np.ndarray) -> np.ndarray:
    return ys


def at_random(rng: np.random.Generator, ys: np.ndarray) -> np.ndarray:
    """30 % of the entries, and a gap of 20 steps."""
    ys = np.where(rng.uniform(size=ys.shape) < 0.3, np.nan, ys)
    first = rng.integers(20, len(ys) - 40)
    ys[first : first + 20] = np.nan
    return ys


def seldom(_: np.random.Generator, ys: np.ndarray) -> np.ndarray:
    """x2 is observed only at every third step."""
    ys = ys.copy()
    ys[np.arange(len(ys)) % 3 != 0, 1] = np.nan
    return ys


def irregular(number: int) -> Case:
    """Steps between 0.01 and 0.03."""
    models, series = [], []
    for i in range(number):
        times = np.cumsum(np.random.default_rng(i).uniform(0.01, 0.03, STEPS))
        model = gg.arrange(
            lorenz(), np.zeros((STEPS, 3)), times=times, dt=LORENZ.dt, max_step=0.03
        ).model
        models.append(model)
        series.append(simulated(true(model), STEPS, jax.random.key(i)))
    return Case(models, series, LORENZ.coefficients(dynamics="map"), {})


LENGTHS = np.random.default_rng(0).integers(10, 61, 20)


def panel(number: int) -> Case:
    """20 series of 10 to 60 points that begin anywhere, in unknown states."""
    models, series = [], []
    model = true(lorenz())
    for i in range(number):
        rng = np.random.default_rng(i)
        long = gg.simulate(jax.random.key(i), model, steps=4000).states
        parts = []
        for length in LENGTHS:
            start = jax.random.key(1000 * i + len(parts))
            first = long[rng.integers(100, 4000)]
            simulation = gg.simulate(start, model, steps=int(length), initial=first)
            parts.append(np.asarray(simulation.observations))
        arranged = gg.arrange(
            lorenz(initial_noise=9.0), parts, initial_means=[part[0] for part in parts]
        )
        models.append(arranged.model)
        series.append(arranged.ys)
    return Case(models, series, LORENZ.coefficients(dynamics="map"), {})


def one_series(number: int) -> Case:
    """One series with the same number of points."""
    _, ys, _ = draw(LORENZ, int(LENGTHS.sum()), number)
    return Case([lorenz()] * number, list(ys), LORENZ.coefficients(dynamics="map"), {})


def outliers(noise: Any, **options):
    """5 % of the entries with an error of size 20."""

    def case(number: int) -> Case:
        _, ys, _ = draw(LORENZ, STEPS, number)
        series = []
        for i, y in enumerate(ys):
            rng = np.random.default_rng(i)
            wrong = rng.uniform(size=y.shape) < 0.05
            series.append(np.where(wrong, y + 20 * rng.normal(size=y.shape), y))
        model = lorenz(observation_noise=noise)
        return Case(
            [model] * number, series, LORENZ.coefficients(dynamics="map"), options
        )

    return case


def jumps(fitted: Any):
    """Process noise with heavy tails, the scales estimated."""

    def case(number: int) -> Case:
        heavy = true(
            lorenz(state_noise=gg.StudentT(0.2, df=1.2), observation_noise=0.1)
        )
        series = [simulated(heavy, 60, jax.random.key(i)) for i in range(number)]
        model = lorenz(state_noise=fitted, observation_noise=0.1)
        options = {"learn": ("state_noise",)}
        return Case(
            [model] * number, series, LORENZ.coefficients(dynamics="map"), options
        )

    return case


def growing(fitted: Any):
    """Process noise that grows with the state, the scales estimated."""

    def case(number: int) -> Case:
        noise = gg.MultiplicativeNoise(0.09, least=0.1)
        grows = true(lorenz(state_noise=noise, observation_noise=0.01))
        series = [simulated(grows, 60, jax.random.key(i)) for i in range(number)]
        model = lorenz(state_noise=fitted, observation_noise=0.01)
        options = {"learn": ("state_noise",)}
        return Case(
            [model] * number, series, LORENZ.coefficients(dynamics="map"), options
        )

    return case


def lotka_volterra(number: int) -> Case:
    """A known coefficient, and no term of the predator without prey."""
    system = gg.systems.lotka_volterra()
    _, ys, _ = draw(system, STEPS, number)
    C, library = system.coefficients(dynamics="map"), system.library()
    own = library.index("x1")
    constraints = [gg.known("x1", "x1", C[0, own]), gg.forbid("x2", "x1^2")]
    models = [system.model(dynamics="map")] * number
    return Case(models, list(ys), C, {"constraints": constraints})


def pendulum(number: int) -> Case:
    """A damped, driven pendulum: x1' = x2 is known, and sin(x1) has to be found."""
    dt, steps = 0.1, STEPS
    library = gg.Polynomial(2, 2) + gg.trigonometric_terms(2)
    names = library.names()
    C = np.zeros((2, library.n_terms))
    C[0, names.index("x1")], C[0, names.index("x2")] = 1, dt
    C[1, names.index("x2")], C[1, names.index("sin(x1)")] = 1 - 0.05 * dt, -2 * dt
    model = gg.state_space_model(
        library,
        C,
        state_noise=1e-4,
        observation_noise=0.01,
        initial_mean=[2.0, 0.0],
        initial_noise=0.01,
    )
    series = [
        np.asarray(gg.simulate(jax.random.key(i), model, steps=steps).observations)
        for i in range(number)
    ]
    first = [gg.known("x1", name, C[0, j]) for j, name in enumerate(names)]
    constraints = [*first, gg.forbid("x2", "cos(x2)"), gg.forbid("x2", "sin(x2)")]
    return Case([model] * number, series, C, {"constraints": constraints})


def hidden_recovery(number: int) -> Case:
    """FitzHugh-Nagumo with only v observed, and the terms of its equation known.

    The coefficient of w there and the constant determine scale and origin of w. All
    noises are estimated. Steps of 0.4, ten cycles.
    """
    system = gg.systems.fitzhugh_nagumo(dt=0.4, noise=0.02, observation_std=0.05)
    library = gg.Polynomial(2, 3)
    C = system.coefficients(3, dynamics="map")
    model = gg.state_space_model(
        library,
        state_noise=system.dt * system.state_noise,
        observation_noise=0.0025,
        initial_mean=[-1.0, 0.0],
        initial_noise=[0.1, 1.0],
        observation=["x1"],
    )
    names = library.names()
    constraints = [gg.forbid("x1", names[j]) for j in np.flatnonzero(C[0] == 0)]
    for term in ("x2", "1"):
        constraints.append(gg.known("x1", term, C[0, names.index(term)]))
    _, ys, _ = draw(system, 1000, number)
    options = {
        "constraints": constraints,
        "learn": ("state_noise", "observation_noise"),
    }
    return Case([model] * number, [y[:, :1] for y in ys], C, options)


def counted(x):
    """Counts of cases: one in five of ten thousand people."""
    return 2000 * jnp.maximum(x[1:2], 1e-4)


def epidemic(number: int) -> Case:
    """SIR with Poisson counts of a share of the infected only.

    Constraints: nobody is born or dies, who may infect whom, and infections are not
    undone; the two rates are unknown.
    """
    library, infection, recovery = gg.Polynomial(3, 2), 0.5, 0.2
    names, C = library.names(), np.zeros((3, library.n_terms))
    met, ill = names.index("x1 x2"), names.index("x2")
    for i in range(3):
        C[i, names.index(f"x{i + 1}")] = 1
    C[[0, 1], met] = -infection, infection
    C[[1, 2], ill] += -recovery, recovery
    model = gg.state_space_model(
        library,
        C,
        state_noise=1e-8,
        observation=counted,
        observation_noise=gg.Poisson(),
        initial_mean=[0.99, 0.01, 0.0],
        initial_noise=[1e-6, 1e-6, 1e-8],
    )
    moving = {(0, met), (1, met), (1, ill), (2, ill)}
    constraints: list[Any] = [
        gg.known(f"x{i + 1}", name, C[i, j])
        for i in range(3)
        for j, name in enumerate(names)
        if (i, j) not in moving
    ]
    constraints += [
        gg.conserve("x1", "x2", "x3"),
        gg.sign("x2", "x1 x2", "+"),
        gg.sign("x3", "x2", "+"),
    ]
    series = [
        np.asarray(gg.simulate(jax.random.key(i), model, steps=80).observations)
        for i in range(number)
    ]
    options = {"constraints": constraints}
    return Case([model] * number, series, C, options, ((1, met), (2, ill)))


def never_seen(number: int) -> Case:
    """Lorenz 63 with x3 never observed.

    A known coefficient determines its scale, a forbidden term its origin.
    """
    model = lorenz(
        observation=["x1", "x2"], observation_noise=1.0, initial_noise=[1.0, 1.0, 100.0]
    )
    constraints = [gg.known("x2", "x1 x3", -LORENZ.dt), gg.forbid("x3", "1")]
    _, ys, _ = draw(LORENZ, 1000, number)
    series = [y[:, :2] for y in ys]
    options = {"constraints": constraints}
    return Case([model] * number, series, LORENZ.coefficients(dynamics="map"), options)


ROWS: dict[str, Callable[[int], Case]] = {
    "complete": gaps(nothing),
    "30 % missing and a gap of 20": gaps(at_random),
    "30 % missing and a gap of 20, noise learnt": gaps(
        at_random, learn=("state_noise",)
    ),
    "x2 at every third step": gaps(seldom),
    "irregular steps": irregular,
    "panel of 20 series": panel,
    "one series as long": one_series,
    "outliers, Student-t": outliers(gg.StudentT(1.0, df=4)),
    "outliers, Gaussian": outliers(1.0, learn=("observation_noise",)),
    "jumps, Student-t": jumps(gg.StudentT(0.2, df=1.2)),
    "jumps, Gaussian": jumps(0.2),
    "growing noise, multiplicative": growing(gg.MultiplicativeNoise(0.09, least=0.1)),
    "growing noise, Gaussian": growing(1.0),
    "Lotka-Volterra, partly known": lotka_volterra,
    "pendulum, partly known": pendulum,
    "FitzHugh-Nagumo, w hidden": hidden_recovery,
    "x3 never seen": never_seen,
    "SIR, counts of infected": epidemic,
}


def run(case: Case) -> str:
    number = len(case.series)
    # Static fields are shared by all in one model.
    arrays = [eqx.partition(model, eqx.is_array)[0] for model in case.models]
    static = eqx.partition(case.models[0], eqx.is_array)[1]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays)

    def fit(key, ys, arrays):
        model = eqx.combine(arrays, static)
        found = gg.adaptive(key, ys, model, **case.options)
        return found.coefficients, found.standard_errors, found.code

    begin = time.perf_counter()
    keys = jax.random.split(jax.random.key(7), number)
    C, errors, codes = jax.tree.map(
        np.asarray, compiled(jax.vmap(fit))(keys, np.stack(case.series), stacked)
    )
    seconds = time.perf_counter() - begin
    truth = np.broadcast_to(case.truth, C.shape)
    scores = np.asarray(support_scores(C, truth).f1)
    right = ((C != 0) == (truth != 0)).all(axis=2)
    # Of the estimated coefficients, where their equation is right.
    there = (errors > 0) & right[:, :, None]
    covered = np.mean(np.abs(C - truth)[there] < 1.645 * errors[there])
    near = np.abs(C - truth) < 1.645 * errors
    counts = " and ".join(str(near[:, i, j].sum()) for i, j in case.rates)
    wrong = ~right.all(axis=1)
    overconfident = np.mean(wrong & (codes == gg.Outcome.converged))
    rows = " / ".join(f"{share:.0%}" for share in right.mean(axis=0))
    counts = f" ({counts} of {number})" if counts else ""
    return (
        f"{interval(scores, 4)} | {right.all(axis=1).mean():.0%} | {rows} | "
        f"{covered:.0%}{counts} | {overconfident:.0%} | {seconds:.0f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="*", default=[""])
    parser.add_argument("--realisations", type=int, default=20)
    arguments = parser.parse_args()
    print(
        "| data | F1 | exact | equations right | in 90 % intervals | "
        "wrong but converged | time |"
    )
    print("|---|---|---|---|---|---|---|")
    with jax.enable_x64(True):
        for name, case in ROWS.items():
            if any(name.startswith(start) for start in arguments.rows):
                cells = run(case(arguments.realisations))
                print(f"| {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()

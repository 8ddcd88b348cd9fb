"""Checks of flows that are not part of the scoreboards.

python benchmarks/flow_checks.py time        a flow fit and a map fit, compiled
python benchmarks/flow_checks.py intervals   coverage, with and without process noise
python benchmarks/flow_checks.py velocity    a pendulum and coupled Duffing oscillators
python benchmarks/flow_checks.py stiff       Robertson, Oregonator, van der Pol
"""

import sys
import time

import jax
import numpy as np
from scipy.integrate import solve_ivp

import graphgrad as gg


def integrate(rate, start, times):
    found = solve_ivp(
        rate,
        (times[0], times[-1]),
        start,
        t_eval=times,
        rtol=1e-9,
        atol=1e-11,
        method="LSODA",
    )
    return found.y.T


def timing() -> None:
    """Lorenz, 500 rows, everything estimated: the second fit of each kind."""
    system = gg.systems.lorenz63(dt=0.01, noise=0.3)
    for steps in (100, 500):
        taken = {}
        for kind, scheme in (("flow", "flow"), ("map", "euler")):
            draws = [
                system.simulate(jax.random.key(i), steps=steps, scheme=scheme)
                for i in range(4)
            ]
            model = gg.GraphGrad(dt=0.01, dynamics=kind)
            model.fit(np.asarray(draws[0].observations))
            begin = time.perf_counter()
            for draw in draws[1:]:
                model.fit(np.asarray(draw.observations))
            taken[kind] = (time.perf_counter() - begin) / 3
            if kind == "flow":
                print(f"  substeps {model.substeps_}")
        ratio = taken["flow"] / taken["map"]
        print(f"{steps} rows: {taken}, ratio {ratio:.1f}")


def intervals() -> None:
    """Coverage of 90 % intervals of rates, for fits with the right terms."""
    for noise in (0.0, 0.3):
        system = gg.systems.lotka_volterra(dt=0.1, noise=noise, observation_std=0.3)
        truth = system.coefficients()
        held, right, none = [], 0, 0
        for seed in range(100, 200):
            draw = system.simulate(jax.random.key(seed), steps=150)
            model = gg.GraphGrad(dt=0.1).fit(np.asarray(draw.observations))
            if ((model.coef_ != 0) != (truth != 0)).any():
                continue
            right += 1
            none += (model.state_noise_ == 0).all()
            on = truth != 0
            held.append(
                np.abs(model.coef_ - truth)[on] < 1.645 * model.standard_errors_[on]
            )
        print(
            f"process noise {noise}: {right} of 100 right, {none} estimated without; "
            f"coverage {np.mean(held):.3f}"
        )


def pendulum(rng: np.random.Generator) -> tuple[np.ndarray, float]:
    dt = 2 * np.pi * 1.2 / 50
    start = [2.2 + 0.3 * rng.normal(), 0.3 * rng.normal()]
    x = integrate(
        lambda _, z: [z[1], -np.sin(z[0]) - 0.05 * z[1]], start, dt * np.arange(500)
    )[:, :1]
    return x + 0.05 * x.std() * rng.normal(size=x.shape), dt


def duffing(rng: np.random.Generator) -> tuple[np.ndarray, float]:
    dt = 2 * np.pi / 1.3 / 50

    def rate(_, z):
        x, y, v, w = z
        pull = 0.3 * (y - x)
        return v, w, -x - 0.5 * x**3 + pull, -1.5 * y - 0.3 * y**3 - pull

    start = [1.5, -0.8, 0.0, 0.0] + 0.2 * rng.normal(size=4)
    x = integrate(rate, start, dt * np.arange(500))[:, :2]
    return x + 0.05 * x.std(axis=0) * rng.normal(size=x.shape), dt


def velocity() -> None:
    """Positions with 5 % measurement noise, 500 rows, 50 per period."""
    library = gg.Polynomial(2, 2) + gg.trigonometric_terms(2)
    two = [gg.velocity("x", "v"), gg.velocity("y", "w")]
    cases = (
        (pendulum, {"library": library, "states": ["x"]}, two[:1], [{"v", "sin(x)"}]),
        (
            duffing,
            {"degree": 3, "states": ["x", "y"]},
            two,
            [{"x", "y", "x^3"}, {"x", "y", "y^3"}],
        ),
    )
    for draw, options, constraints, expected in cases:
        right = 0
        for seed in range(20):
            y, dt = draw(np.random.default_rng(seed))
            model = gg.GraphGrad(dt=dt, constraints=constraints, **options).fit(y)
            rows = model.coef_[len(expected) :]
            found = [{model.terms_[j] for j in np.flatnonzero(row)} for row in rows]
            right += found == expected
            print(f"  {draw.__name__} {seed}: {found == expected}, {model.outcome_}")
        print(f"{draw.__name__}: {right} of 20 right")


def stiff() -> None:
    """Rates that differ by many orders of magnitude."""
    rng = np.random.default_rng(0)

    def robertson(_, z):
        a, b, c = z
        return -0.04 * a + 1e4 * b * c, 0.04 * a - 1e4 * b * c - 3e7 * b**2, 3e7 * b**2

    times = np.linspace(0, 40, 200)
    x = integrate(robertson, [1.0, 0.0, 0.0], times)
    y = x + 0.01 * x.std(axis=0) * rng.normal(size=x.shape)
    known = [gg.conserve("x1", "x2", "x3")]
    for constraints in ([], known):
        model = gg.GraphGrad(dt=times[1], constraints=constraints).fit(y)
        print("Robertson", len(constraints), model.outcome_, model.equations())
        print(" ", *model.doubts_)
    bz = {"epsilon": 0.04, "delta": 4e-4, "q": 8e-4, "noise": 0.0}
    mu = 20.0
    cases = {
        "Oregonator": (
            np.asarray(
                gg.systems.oregonator(**bz)
                .simulate(jax.random.key(0), steps=300)
                .states
            )[-300:],
            0.03,
            2,
        ),
        "van der Pol": (
            integrate(
                lambda _, z: [z[1], mu * (1 - z[0] ** 2) * z[1] - z[0]],
                [2.0, 0.0],
                np.linspace(0, 100, 1000),
            ),
            100 / 999,
            3,
        ),
    }
    for name, (x, dt, degree) in cases.items():
        y = x + 0.01 * x.std(axis=0) * rng.normal(size=x.shape)
        model = gg.GraphGrad(degree=degree, dt=dt).fit(y)
        print(name, model.outcome_, model.substeps_, model.equations())
        print(" ", *model.doubts_)


if __name__ == "__main__":
    chosen = {
        "time": timing,
        "intervals": intervals,
        "velocity": velocity,
        "stiff": stiff,
    }
    for name in sys.argv[1:] or chosen:
        chosen[name]()

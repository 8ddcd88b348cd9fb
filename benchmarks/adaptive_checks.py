"""Further checks of the adaptive solver: `python benchmarks/adaptive_checks.py NAME`.

`keys`: one series, 100 keys. `zoo`: every polynomial system, compared with a lasso on
the observations. `long`: error by length up to 10 000, and the smoothers there.
`kuramoto`: filtered states of a system that is not polynomial. `engines`: particle and
Gaussian engines on the same data. `time`: time per stage of a fit. `certificate`: how
often branch and bound ends, and what it costs, by the number of correlated terms.
`many`: Lorenz 96 with 20 states, beside a search that starts at the truth.
"""

import argparse
import time
from collections import Counter

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
from jax.scipy.optimize import minimize

import graphgrad as gg
from adaptive_recovery import draw, in_chunks, interval
from graphgrad.library import AbstractLibrary
from graphgrad.metrics import nrmse, rmse, support_scores
from graphgrad.solvers.adaptive.certificate import supports_below

KEY = jax.random.key(7)
# Checks with more arguments.
TAKES_MORE = ("zoo", "kuramoto", "many")
# Not a polynomial; and systems covered by adaptive_recovery.
NOT_IN_THE_ZOO = ("kuramoto", "lorenz96")


def keys() -> None:
    system = gg.systems.lorenz63(dt=0.02)
    ys = system.simulate(jax.random.key(3), steps=100, scheme="euler").observations
    engine = gg.ParticleSmoother(num_particles=100, smoothing="backward")
    for name, kind, number in (("gaussian", "auto", 100), ("particle", engine, 10)):
        supports = Counter(
            gg.adaptive(
                jax.random.key(k), ys, system.model(dynamics="map"), engine=kind
            )
            .support()
            .tobytes()
            for k in range(number)
        )
        most = supports.most_common(1)[0][1]
        print(f"{name}: the same support for {most} of {number} keys", flush=True)


def lasso_on_data(ys: np.ndarray, library: AbstractLibrary) -> np.ndarray:
    """Lasso of y_t on the terms of y_{t-1}, its penalty by BIC, refitted."""
    terms = np.asarray(library(jnp.asarray(ys[:-1])))
    unit = np.sqrt(np.mean(terms**2, axis=0))
    design, steps = terms / unit, len(terms)
    found = np.zeros((ys.shape[1], terms.shape[1]))
    for i, target in enumerate(ys[1:].T):
        best, gram = np.inf, design.T @ design / steps
        c, pull = np.zeros(len(unit)), design.T @ target / steps
        for weight in np.abs(pull).max() * np.geomspace(1, 1e-5, 60):
            for _ in range(200):
                before = c.copy()
                for j in range(len(c)):
                    rest = pull[j] - gram[j] @ c + gram[j, j] * c[j]
                    c[j] = np.sign(rest) * max(abs(rest) - weight, 0) / gram[j, j]
                if np.abs(c - before).max() < 1e-6 * (1e-12 + np.abs(c).max()):
                    break
            on = c != 0
            if not on.any():
                continue
            refit = np.linalg.lstsq(design[:, on], target, rcond=None)[0]
            miss = target - design[:, on] @ refit
            value = steps * np.log(np.mean(miss**2)) + on.sum() * np.log(steps)
            if value < best:
                best, found[i] = value, 0
                found[i, on] = refit / unit[on]
    return found


def zoo(names: list[str], realisations: int = 20, steps: int = 200) -> None:
    print(
        "| system | adaptive | states given | lasso | wrong and converged | "
        "right and converged | truth among |"
    )
    print("|---|---|---|---|---|---|---|")
    every = [name for name in gg.systems.SYSTEMS if name not in NOT_IN_THE_ZOO]
    for name in names or every:
        system = gg.systems.get(name, key=jax.random.key(5))
        states, ys, _ = draw(system, steps, realisations)
        initial = states[0, 0] if system.spin_up else system.x0
        model = system.model(initial=initial, dynamics="map")
        given = gg.state_space_model(
            model.library,
            state_noise=system.dt * system.state_noise,
            observation_noise=1e-6 * system.observation_noise,
            initial_mean=initial,
            initial_noise=1e-6,
        )
        truth = np.asarray(model.coefficients)
        fits = [gg.adaptive(KEY, y, model) for y in ys]
        best = [gg.adaptive(KEY, path[1:], given).coefficients for path in states]
        scores = [
            np.asarray(support_scores(np.stack(c), np.stack(len(c) * [truth])).f1)
            for c in (
                [fit.coefficients for fit in fits],
                best,
                [lasso_on_data(y, model.library) for y in ys],
            )
        ]
        right = scores[0] == 1
        sure = np.array([fit.outcome is gg.Outcome.converged for fit in fits])
        others = [np.asarray(fit.alternative_coefficients) != 0 for fit in fits]
        among = [(each == (truth != 0)).all(axis=(1, 2)).any() for each in others]
        cells = [f"{np.mean(x):.2f}" for x in (sure & ~right, sure & right)]
        cells.append(f"{np.mean(right | among):.2f}")
        f1 = [interval(each, 3) for each in scores]
        print(f"| {name} | " + " | ".join([*f1, *cells]) + " |", flush=True)


def long(realisations: int = 4) -> None:
    system = gg.systems.lorenz63(dt=0.01)
    model, truth = system.model(dynamics="map"), system.coefficients(dynamics="map")
    lengths, errors = (100, 300, 1000, 3000, 10_000), []
    for steps in lengths:
        _, ys, _ = draw(system, steps, realisations)
        begin = time.perf_counter()
        fits = [gg.adaptive(KEY, y, model) for y in ys]
        jax.block_until_ready(fits)
        seconds = time.perf_counter() - begin
        begin = time.perf_counter()
        jax.block_until_ready(gg.adaptive(KEY, ys[0], model).coefficients)
        warm = time.perf_counter() - begin
        found = np.stack([np.asarray(fit.coefficients) for fit in fits])
        each = np.asarray(rmse(found, np.broadcast_to(truth, found.shape)))
        f1 = np.mean(support_scores(found, np.broadcast_to(truth, found.shape)).f1)
        errors.append(each.mean())
        print(
            f"T = {steps}: F1 {f1:.3f}, RMSE {1e3 * each.mean():.3f}e-3, {warm:.1f} s "
            f"per fit, compiled ({seconds:.0f} s for {realisations} with compilation)",
            flush=True,
        )
    slope = np.polyfit(np.log(lengths), np.log(errors), 1)[0]
    print(f"slope of log RMSE in log T: {slope:.2f}")
    states, ys, _ = draw(system, 10_000, 1)
    for smoothing in ("genealogy", "fixed lag", "backward", "ancestor"):
        engine = gg.ParticleSmoother(num_particles=100, smoothing=smoothing)
        sweep = jax.jit(engine.sweep)(KEY, model, jnp.asarray(ys[0]))
        miss = float(rmse(sweep.means(), states[0]))
        spread = np.sqrt(np.mean(np.diagonal(sweep.covariances()[:5000], 0, 1, 2)))
        print(f"{smoothing}: RMSE of the states {miss:.3f}, spread {spread:.3f}")
    sweep = jax.jit(gg.GaussianSmoother().sweep)(KEY, model, jnp.asarray(ys[0]))
    print(f"gaussian: RMSE of the states {float(rmse(sweep.means(), states[0])):.3f}")


def kuramoto(
    names: list[str],
    realisations: int = 20,
    cases=((2, 50), (2, 100), (2, 200), (3, 100)),
) -> None:
    """Error of the filtered means relative to the true model's, by the same filter."""
    gaussian, particles = gg.GaussianSmoother(), gg.ParticleFilter(100)
    systems = [gg.systems.kuramoto(jax.random.key(i)) for i in range(realisations)]
    first = systems[0]
    unravel = jax.flatten_util.ravel_pytree(jax.tree.map(jnp.asarray, first.rate))[1]
    rates = [
        np.concatenate([np.ravel(a) for a in jax.tree.leaves(s.rate)]) for s in systems
    ]

    def errors(model, start, rate, ys, states):
        model = eqx.tree_at(lambda m: m.initial_mean, model, start)

        def true(rate):
            return model.with_mean(gg.systems.EulerMean(unravel(rate), first.dt))

        def loss(z):
            return -gaussian.sweep(KEY, true(rate + z), ys).log_likelihood

        def means(model):
            return gaussian.sweep(KEY, model, ys).filtered

        def drawn(model):
            return particles(KEY, model, ys).means

        found = gg.adaptive(KEY, ys, model)
        fitted = model.with_coefficients(found.coefficients)
        best = means(true(rate))
        most_likely = minimize(
            loss, jnp.zeros_like(rate), method="BFGS", options={"maxiter": 40}
        )
        likeliest = means(true(rate + most_likely.x))
        return (
            nrmse(found.filtered, best, states),
            nrmse(likeliest, best, states),
            nrmse(drawn(fitted), drawn(true(rate)), states),
        )

    print("| degree | T | nRMSE, Gaussian | of TrueMLE | nRMSE, 100 particles | time |")
    print("|---|---|---|---|---|---|")
    for degree, steps in cases:
        if names and f"{degree},{steps}" not in names:
            continue
        begin = time.perf_counter()
        with jax.default_device(jax.devices("cpu")[0]):
            drawn = [
                system.simulate(jax.random.key(100 + i), steps=steps, scheme="euler")
                for i, system in enumerate(systems)
            ]
            states, ys = (
                np.stack([np.asarray(getattr(one, name)) for one in drawn])
                for name in ("states", "observations")
            )
        model = gg.state_space_model(
            gg.Polynomial(first.n_states, degree),
            state_noise=first.dt * first.state_noise,
            observation_noise=first.observation_noise,
            initial_noise=first.initial_noise,
        )
        ratios = in_chunks(
            errors,
            realisations,
            model,
            states[:, 0],
            np.stack(rates),
            ys,
            states[:, 1:],
        )
        cells = " | ".join(interval(column, 3) for column in ratios)
        seconds = time.perf_counter() - begin
        print(f"| {degree} | {steps} | {cells} | {seconds:.0f} s |", flush=True)


def engines() -> None:
    system = gg.systems.lorenz63(dt=0.02)
    ys = system.simulate(jax.random.key(3), steps=100, scheme="euler").observations
    model = system.model(dynamics="map")
    exact = gg.adaptive(KEY, ys, model)
    print("engine | log-likelihood | same support | largest difference in std errors")
    for name, engine in (
        ("gaussian", gg.GaussianSmoother()),
        ("unscented", gg.GaussianSmoother("unscented")),
        ("genealogy", gg.ParticleSmoother(400)),
        ("backward", gg.ParticleSmoother(400, smoothing="backward", paths=50)),
        ("ensemble", gg.EnsembleSmoother()),
    ):
        found = gg.adaptive(KEY, ys, model, engine=engine)
        on = exact.support()
        away = np.asarray(found.coefficients - exact.coefficients)[on]
        away = np.abs(away / np.asarray(exact.standard_errors)[on]).max()
        same = (found.support() == on).all()
        print(f"{name} | {float(found.log_likelihood):.2f} | {same} | {away:.3f}")


def seconds() -> None:
    large = gg.systems.lorenz96(n_states=10, dt=0.025)
    for system in (gg.systems.lorenz63(dt=0.02), large):
        ys = system.simulate(jax.random.key(3), steps=100, scheme="euler").observations
        model = system.model(dynamics="map")
        print(f"{system.name}, {system.n_states} states")
        for name in ("cold", "warm", "warm"):
            _stages(name, ys, model)


def _stages(name: str, ys: jax.Array, model: gg.StateSpaceModel) -> None:
    """Time a fit and its parts."""
    begin = time.perf_counter()
    stages = []

    def record(progress):
        stages.append((progress.stage, time.perf_counter()))

    jax.block_until_ready(gg.adaptive(KEY, ys, model, callback=record).coefficients)
    end, last = time.perf_counter(), begin
    spent = {"anneal": 0.0, "refine": 0.0}
    for stage, moment in stages:
        spent[stage] += moment - last
        last = moment
    print(
        f"{name}: {end - begin:.2f} s; annealing {spent['anneal']:.2f}, refining "
        f"{spent['refine']:.2f}, the rest {end - last:.2f}",
        flush=True,
    )


def certificate(problems: int = 20, rows: int = 150) -> None:
    """Supports better than three true terms, at a penalty of 12 for each."""
    print("terms | searches that end | mean, greatest milliseconds of a processor")
    for k in (10, 20, 35, 60):
        ended, spent = [], []
        for seed in range(problems):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(rows, k)) @ (np.eye(k) + 0.3 * rng.normal(size=(k, k)))
            y = X[:, :3] @ rng.normal(size=3) + rng.normal(size=rows)
            I, b = X.T @ X, X.T @ y  # noqa: E741
            limit = 36 - float(b[:3] @ np.linalg.solve(I[:3, :3], b[:3]))
            begin = time.process_time()
            penalty, usable = np.full(k, 12.0), np.ones(k, bool)
            ended.append(supports_below(I, b, penalty, usable, limit).complete)
            spent.append(1e3 * (time.process_time() - begin))
        print(f"{k} | {np.mean(ended):.0%} | {np.mean(spent):.1f}, {np.max(spent):.1f}")


def many(which: list[str], steps: int = 100) -> None:
    """Fits of draws by their numbers, and from the truth."""
    system = gg.systems.lorenz96()
    model = system.model(2, dynamics="map")
    truth = model.coefficients
    print("draw | F1, criterion | F1, criterion from the truth | seconds | outcome")
    for i in map(int, which or range(10)):
        key = jax.random.fold_in(jax.random.key(777), i)
        ys = system.simulate(
            key, steps=steps, bounded=True, max_redraws=100_000, scheme="euler"
        ).observations
        begin = time.process_time()
        found = gg.adaptive(KEY, ys, model)
        seconds = time.process_time() - begin
        start = eqx.tree_at(lambda s: s.coefficients, found, truth)
        best = gg.adaptive(KEY, ys, model, start=start)
        cells = [
            f"{float(support_scores(each.coefficients, truth).f1):.3f}, "
            f"{float(each.criterion):.1f}"
            for each in (found, best)
        ]
        ending = f"{seconds:.1f} | {found.outcome.name}"
        print(f"{i} | {cells[0]} | {cells[1]} | {ending}", flush=True)


def main() -> None:
    checks = {
        "keys": keys,
        "zoo": zoo,
        "long": long,
        "kuramoto": kuramoto,
        "engines": engines,
        "time": seconds,
        "certificate": certificate,
        "many": many,
    }
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=list(checks))
    parser.add_argument(
        "which",
        nargs="*",
        help="systems of the zoo, DEGREE,T of kuramoto, or numbers of draws",
    )
    arguments = parser.parse_args()
    options = [arguments.which] if arguments.name in TAKES_MORE else []
    with jax.enable_x64(True):
        checks[arguments.name](*options)


if __name__ == "__main__":
    main()

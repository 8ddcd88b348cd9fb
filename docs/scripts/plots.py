"""Draw the pictures of docs/reference/plots.md: `python docs/scripts/plots.py`."""

from pathlib import Path

import jax
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import graphgrad as gg

FOLDER = Path(__file__).parents[1] / "images" / "plots"
SPIN_UP = 500
"""Steps after which the state is on the attractor."""


def save(name: str) -> None:
    """Write the current figure and close it."""
    plt.savefig(FOLDER / f"{name}.png", dpi=90)
    plt.close()


def lorenz63() -> None:
    """All pictures of one fit of noisy Lorenz 63 data."""
    system = gg.systems.lorenz63(dt=0.02)
    library, names = system.library(), system.states
    trace = []
    with jax.enable_x64(True):
        simulation = system.simulate(jax.random.key(0), steps=SPIN_UP + 250)
        true = np.asarray(simulation.states)[SPIN_UP:]
        ys = np.array(simulation.observations)[SPIN_UP:]
        ys[60:75] = np.nan
        found = gg.adaptive(
            jax.random.key(1),
            ys[:200],
            system.model(initial=true[0]),
            learn=("state_noise",),
            callback=trace.append,
        )
    C = np.asarray(found.coefficients)
    means = np.asarray(found.states)
    variances = np.diagonal(found.state_covariances, axis1=1, axis2=2)
    times = 0.02 * np.arange(len(means))
    print("\n".join(gg.equations(C, library, names, dynamics="flow")))

    graph = gg.to_networkx(
        C, library, names, trajectory=means, edge_confidence=np.full((3, 3), 0.97)
    )
    gg.plots.plot_graph(graph)
    save("graph")
    gg.plots.plot_coefficients(C, library, names)
    save("coefficients")
    gg.plots.plot_states(
        means,
        times=times,
        deviations=np.sqrt(variances),
        data=ys[:200],
        truth=true[:201],
        states=names,
    )
    save("states")
    price = float(np.log(ys[:200].size) + 2 * np.log(C.size))
    gg.plots.plot_path(found.path, found.prices, library, names, chosen=price)
    save("path")

    rate = gg.numpy_function(C, library, names, dynamics="flow")
    step = gg.numpy_function(
        C, library, names, dynamics="flow", step=system.dt, substeps=4
    )
    noise = np.sqrt(system.dt * np.asarray(found.state_noise))
    # Residuals of a step, over the spread that noise and smoothing leave them.
    ahead = ys[1:200] - step(means[1:200])
    spread = np.sqrt(noise**2 + variances[1:200] + np.asarray(found.observation_noise))
    gg.plots.plot_residuals(ahead / spread, times=times[2:], states=names)
    save("residuals")

    rng = np.random.default_rng(0)
    x = means[-1] + np.sqrt(variances[-1]) * rng.normal(size=(300, 3))
    draws = []
    for _ in range(50):
        x = step(x) + noise * rng.normal(size=x.shape)
        draws.append(x)
    gg.plots.plot_forecast(
        np.stack(draws, axis=1),
        times=times[-1] + 0.02 * np.arange(1, 51),
        history=means[-60:],
        history_times=times[-60:],
        truth=true[201:],
        states=names,
    )
    save("forecast")

    x, simulated = means[0], []
    for _ in range(1200):
        simulated.append(x)
        x = step(x)
    gg.plots.plot_phase(
        means,
        data=ys,
        simulated=simulated,
        rate=lambda x: rate(0.0, x),
        pair=("x1", "x3"),
        states=names,
    )
    save("phase")
    stages = [progress.stage for progress in trace]
    sweeps = np.array([progress.sweeps for progress in trace])
    # Every round starts at 0.
    restarted = np.diff(sweeps, prepend=0) < 0
    done = sweeps + np.cumsum(np.where(restarted, np.roll(sweeps, 1), 0))
    gg.plots.plot_convergence(
        [progress.log_likelihood for progress in trace],
        [progress.n_nonzero for progress in trace],
        sweeps=done,
        stages=stages,
    )
    save("convergence")


def lorenz96() -> None:
    """The comparison of the paper's Fig. 5, with a few faults put in."""
    system = gg.systems.lorenz96()
    truth, library = system.coefficients(dynamics="map"), system.library()
    found = truth.copy()
    for i in (2, 9, 15):
        found[i, library.index(f"x{i + 1}")] = 0
        found[i, library.index(f"x{i + 1}^2")] = 0.1
    found[5, library.index("x12")] = 0.05
    found[12, library.index("x12 x14")] = 0
    gg.plots.plot_graph(
        gg.to_networkx(found, library),
        comparison=gg.compare_graphs(found, truth, library),
    )
    save("comparison")


if __name__ == "__main__":
    mpl.use("Agg")
    FOLDER.mkdir(exist_ok=True)
    lorenz96()
    lorenz63()

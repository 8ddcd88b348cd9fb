"""Many fits as one batch, on the device that JAX uses: an accelerator, or the CPU.

python -m benchmarks.speed.batch lorenz63 150 200
python -m benchmarks.speed.batch lorenz96 150 200 75    # in calls of 75: less memory
"""

import sys
import time

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

import graphgrad as gg

LEARN = ("state_noise", "observation_noise")


def measure(name: str, fits: int, rows: int, size: int) -> dict[str, float]:
    """Seconds of the first run and of a second one, and the share of right terms.

    Args:
        name: Of the system.
        fits: Number of fits.
        rows: Of a series.
        size: Fits of one call.
    """
    system = getattr(gg.systems, name)(dt=0.02 if name == "lorenz63" else 0.025)
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        keys = jax.random.split(jax.random.key(0), fits)
        draws = [_drawn(system, key, rows) for key in keys]
    ys = np.stack(draws)
    model = system.model(dynamics="map")

    def fit(key, ys):
        found = gg.adaptive(key, ys, model, learn=LEARN)
        return found.coefficients, found.code

    batch = jax.jit(jax.vmap(fit))

    def timed() -> tuple[np.ndarray, float]:
        start = time.perf_counter()
        parts = [slice(i, i + size) for i in range(0, fits, size)]
        found = [np.asarray(batch(keys[part], ys[part])[0]) for part in parts]
        return np.concatenate(found), time.perf_counter() - start

    _, first = timed()
    coefficients, again = timed()
    truth = np.asarray(system.coefficients(dynamics="map")) != 0
    right = np.all((coefficients != 0) == truth, axis=(1, 2))
    return {"first": first, "again": again, "right": float(right.mean())}


def _drawn(system: gg.systems.System, key: PRNGKeyArray, rows: int) -> np.ndarray:
    """A series that does not diverge, as nearly all of Lorenz 96 do by Euler steps."""
    drawn = system.simulate(
        key, steps=rows, scheme="euler", bounded=True, max_redraws=100_000
    )
    return np.asarray(drawn.observations)


def main() -> None:
    """Measure what the command line names."""
    name, fits, rows, size = sys.argv[1], *map(int, (sys.argv[2:] + sys.argv[2:3])[:3])
    with jax.enable_x64(True):
        found = measure(name, fits, rows, size)
    print(f"{name}, {fits} fits of {rows} rows on {jax.devices()[0].device_kind}:")
    print("  " + ", ".join(f"{key} {value:.3g}" for key, value in found.items()))


if __name__ == "__main__":
    main()

"""Number of Runge-Kutta steps per interval: step doubling on a pilot trajectory.

E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, II.4:
the difference between k and 2 k steps over an interval estimates the error of k. The
pilot trajectory has no noise and is always in double precision, so that the number of
substeps of a system depends neither on the precision of JAX nor on the noise.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .schemes import integrate

PILOT = 500
MOST = 4096


def needed_substeps(
    rate: Callable,
    x0: np.ndarray,
    *,
    dt: float,
    bound: float,
    tolerance: Callable[[np.ndarray], np.ndarray],
    most: int = MOST,
) -> tuple[int, float]:
    """The smallest power of two of substeps whose error is within the tolerance.

    Args:
        rate: dx/dt.
        x0: Initial state of the pilot trajectory.
        dt: Length of an interval.
        bound: Size from which on a state counts as diverged, not as an error.
        tolerance: Maps the largest size of each state to its allowed error.
        most: Maximum number of substeps.

    Returns:
        Their number, and the largest error of an interval as a multiple of the
        tolerance; above 1 if `most` substeps do not suffice.
    """
    count = 1
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        while True:
            coarse, fine = map(
                np.asarray,
                _pilot(rate, jnp.asarray(x0, float), jnp.asarray(dt), _array(count)),
            )
            excess = _excess(coarse, fine, bound, tolerance)
            if excess <= 1 or count >= most:
                return count, excess
            count *= 2


def _array(count: int) -> Int[Array, ""]:
    return jnp.asarray(count, jnp.int32)


def _excess(
    coarse: np.ndarray,
    fine: np.ndarray,
    bound: float,
    tolerance: Callable[[np.ndarray], np.ndarray],
) -> float:
    """The largest error of an interval, as a multiple of the tolerance.

    A divergent trajectory is followed to a tenth of the bound: if it goes to infinity
    within an interval, no number of substeps suffices.
    """
    with np.errstate(invalid="ignore"):
        inside = np.all(np.abs(fine) < bound, axis=1)
        if not inside.all():
            inside = np.all(np.abs(fine) < bound / 10, axis=1)
    until = len(inside) if inside.all() else int(inside.argmin())
    if until == 0:
        return np.inf
    coarse, fine = coarse[:until], fine[:until]
    sizes = np.abs(fine).max(axis=0)
    # A state that stays at zero takes the size of the others.
    sizes = np.where(sizes > 0, sizes, sizes.max())
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        errors = np.abs(coarse - fine) / tolerance(sizes)
    return float(
        np.max(np.where(coarse == fine, 0.0, np.nan_to_num(errors, nan=np.inf)))
    )


@eqx.filter_jit
def _pilot(
    rate: Callable,
    x0: Float[Array, "Nx"],
    dt: Float[Array, ""],
    count: Int[Array, ""],
) -> tuple[Float[Array, "T Nx"], Float[Array, "T Nx"]]:
    """Ends of the intervals, by `count` substeps and by twice as many."""

    def interval(x: Array, _: None) -> tuple[Array, tuple[Array, Array]]:
        # A loop over both, which compiles the rate once.
        coarse, fine = jax.lax.map(
            lambda count: integrate(rate, x, dt, count), jnp.stack([count, 2 * count])
        )
        return fine, (coarse, fine)

    return jax.lax.scan(interval, x0, None, length=PILOT)[1]

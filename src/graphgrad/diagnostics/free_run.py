"""The equations of a fit on their own: run freely in NumPy, and their signs."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from ..equations import numpy_function
from ..fits.record import Fit

FAR = 10.0
"""Distance from the data, in units of their range, that equations should not reach."""

MOST_EVALUATIONS = 20_000
"""Most evaluations of the equations that a free run takes."""

ONE_SIGN = 0.9
"""Share of the rows in which an effect with a sign has this sign."""


def run_freely(
    fit: Fit,
    number: int,
    starts: Float[np.ndarray, "runs Nx"],
    rows: Int[np.ndarray, "runs"],
    steps: int | None = None,
) -> Float[np.ndarray, "steps runs Nx"] | None:
    """States from each start on, without noise.

    NaN after a run leaves the range of the smoothed states by `FAR`. The inputs are
    those of the series, from its beginning after its end, and in the middle of a step
    if they are interpolated. None for terms of the user, which NumPy does not have.

    Args:
        fit: The fit.
        number: Index of the series.
        starts: Initial states.
        rows: The row of each.
        steps: Number of steps; as many as the series has if None.
    """
    states = fit.smoothed[number].mean
    steps = len(states) if steps is None else steps
    steps = min(steps, MOST_EVALUATIONS // (4 * fit.substeps))
    step = _equations(fit, step=fit.dt if fit.dynamics == "flow" else None)
    if step is None or not np.isfinite(states).all():
        return None
    inputs = fit.task.acting
    acting = None if inputs is None else inputs.series[number].values
    if acting is not None and fit.task.settings["inputs_between"] == "linear":
        acting = (acting + np.concatenate([acting[:1], acting[:-1]])) / 2
    low, high = states.min(axis=0), states.max(axis=0)
    reach = FAR * np.maximum(high - low, 1e-6 * (1 + np.abs(high)))
    x, found = starts, np.full((steps, *starts.shape), np.nan)
    with np.errstate(all="ignore"):
        for t in range(steps):
            # The inputs of a row act in the step that ends there.
            row = () if acting is None else (acting[(rows + t + 1) % len(acting)],)
            x = step(x, *row)
            inside = (np.abs(x - (low + high) / 2) <= reach).all(axis=-1)
            x = np.where(inside[:, None], x, np.nan)
            found[t] = x
            if not inside.any():
                break
    return found


def edge_signs(fit: Fit) -> Float[np.ndarray, "N nodes"]:
    """Sign of the effect of each node on each equation, over the smoothed states.

    1 or -1 if the derivative has this sign in 90 % of the rows, 0 if it changes or is
    not the same for all delays, NaN without an effect, or for terms of the user.
    """
    signs, layout = _signs(fit)[: fit.n_present], fit.layout
    if not layout.delays:
        return signs
    sources = {delay.name: delay.source for delay in layout.delays}
    owners = np.array([sources.get(name, name) for name in layout.variables])
    out = np.full((len(signs), len(layout.nodes)), np.nan)
    for j, name in enumerate(layout.nodes):
        own = signs[:, owners == name]
        some = ~np.isnan(own).all(axis=1)
        total = np.nansum(own, axis=1) / np.maximum((~np.isnan(own)).sum(axis=1), 1)
        out[some, j] = np.trunc(total[some])
    return out


def _signs(fit: Fit) -> Float[np.ndarray, "Nx Nv"]:
    """The same of each variable, also of delayed ones."""
    found = slopes(fit)
    if found is None:
        return np.full((len(fit.layout.states), len(fit.layout.variables)), np.nan)
    found = np.where(np.isfinite(found), found, 0)
    some = (found != 0).any(axis=0)
    up, down = (found > 0).mean(axis=0), (found < 0).mean(axis=0)
    sign = (up >= ONE_SIGN).astype(float) - (down >= ONE_SIGN)
    return np.where(some, sign, np.nan)


def slopes(fit: Fit) -> Float[np.ndarray, "rows Nx Nv"] | None:
    """Derivative of the equations in each variable, at the smoothed states.

    By differences. None for terms of the user, which NumPy does not have.
    """
    inputs = fit.task.acting
    x = np.concatenate([estimate.mean for estimate in fit.smoothed])
    if inputs is not None:
        acting = np.concatenate([series.values for series in inputs.series])
        x = np.concatenate([x, acting], axis=1)
    return slopes_at(fit, x)


def slopes_at(
    fit: Fit, x: Float[np.ndarray, "rows Nv"]
) -> Float[np.ndarray, "rows Nx Nv"] | None:
    """The same at other states, followed by the inputs if there are any."""
    n_states, n_variables = len(fit.layout.states), len(fit.layout.variables)
    function, inputs = _equations(fit), fit.task.acting
    if function is None or not np.isfinite(x).all():
        return None
    flows = (0.0,) if fit.dynamics == "flow" else ()

    def change(at: np.ndarray) -> np.ndarray:
        u = (at[:, n_states:],) if inputs is not None else ()
        return function(*flows, at[:, :n_states], *u)

    found = []
    for j in range(n_variables):
        # Of the range, so that no rounding decides.
        size = 1e-3 * float(np.ptp(x[:, j])) or 1e-3
        move = size * (np.arange(n_variables) == j)
        with np.errstate(all="ignore"):
            found.append((change(x + move) - change(x - move)) / (2 * size))
    return np.stack(found, axis=-1)


def _equations(fit: Fit, step: float | None = None) -> Callable[..., np.ndarray] | None:
    """The equations in NumPy, or None for terms of the user."""
    try:
        return numpy_function(
            fit.coefficients,
            fit.layout.library,
            fit.layout.variables,
            dynamics=fit.dynamics,
            step=step,
            substeps=1 if step is None else fit.substeps,
        )
    except ValueError:
        return None

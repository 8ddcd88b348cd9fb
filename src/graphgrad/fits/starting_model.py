"""The initial model of a solver: noise variances and initial states from the data."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..checks import check_choice, check_finite
from ..data.layout import Layout
from ..data.scales import Scales, first_speeds, initial_scales
from ..data.series import Panel, row_times
from ..model import (
    AbstractNoise,
    Arranged,
    StateSpaceModel,
    check_dynamics,
    state_space_model,
)
from ..model.constraints import Velocity
from ..registries import SOLVERS, default_dynamics
from ..solution import PaperSolution, Solution
from ..solvers.adaptive.starts import LEAST_NOISE
from ..solvers.adaptive.unknowns import fitted
from .rows import check_even, first_means, lay_rows

LEARN = "learn"


class Prepared(NamedTuple):
    """Inputs of a solver.

    Attributes:
        data: The model with its schedule, the rows, and the rows of each series.
        learn: Names of what is learnt in addition to the coefficients.
        dt: Length of a step.
    """

    data: Arranged
    learn: tuple[str, ...]
    dt: float


def starting_model(
    panel: Panel,
    inputs: Panel | None,
    layout: Layout,
    *,
    dt: float,
    dynamics: str,
    inputs_between: str,
    state_noise: Any,
    observation_noise: Any,
    initial: Any,
    velocities: Sequence[Velocity] = (),
) -> Prepared:
    """Create the initial model; what is learnt starts at scales of the data."""
    _check_rows(panel)
    scales = initial_scales([series.values for series in panel.series])
    learn = tuple(
        name
        for name, value in (
            ("state_noise", state_noise),
            ("observation_noise", observation_noise),
            ("initial", initial),
        )
        if _is_learnt(name, value)
    )
    if "initial" in learn and panel.several:
        raise ValueError(
            "`initial` must not be 'learn' for several series, which have different "
            "initial states. Leave it out, or give mean and covariance."
        )
    means, covariance = _initial(initial, layout, scales, panel)
    steps = LEAST_NOISE * (scales.motion + 2 * scales.noise)
    spread = scales.spread
    if layout.matrix is not None and layout.copies[0]:
        spread, steps = (
            _of_states(layout.matrix, each, float(np.mean(each)))
            for each in (spread, steps)
        )
    covariance = _with_copies("initial", covariance, layout, spread)
    if initial is None or isinstance(initial, str):
        means, covariance = _with_speeds(
            means, covariance, velocities, layout, panel, scales, dt
        )
    if "observation_noise" in learn:
        observation_noise = scales.noise
    if "state_noise" in learn:
        H = layout.matrix
        if H is None:
            H = jax.jacfwd(layout.function)(jnp.asarray(means[0]))  # pyright: ignore
        motion = scales.motion / _steps_per_row(panel, dt)
        if dynamics == "flow":
            motion = motion / dt
        state_noise = _of_states(np.asarray(H), motion, float(np.mean(motion)))
    state_noise = _with_copies("state_noise", state_noise, layout, steps)
    model = state_space_model(
        layout.library,
        dynamics=dynamics,
        dt=dt,
        state_noise=state_noise,
        observation_noise=observation_noise,
        initial_mean=means[0],
        initial_noise=covariance,
        observation=layout.observation,
        n_inputs=len(layout.inputs),
    )
    # Distributions created by the user may be in single precision, or of integers.
    model = jax.tree.map(
        lambda leaf: (
            jnp.asarray(np.asarray(leaf), float) if eqx.is_inexact_array(leaf) else leaf
        ),
        model,
    )
    data = lay_rows(model, panel, inputs, dt, means, inputs_between)
    return Prepared(check_even(layout, data), learn, dt)


def _with_copies(
    name: str, variances: Any, layout: Layout, of_copies: np.ndarray
) -> Any:
    """Variances or a covariance of all states, with those of delayed ones."""
    copies, sources = layout.copies
    if not copies:
        return variances
    if isinstance(variances, AbstractNoise):
        raise ValueError(
            f"`{name}` must be variances or a covariance for a model with `lags` of "
            f"states, got {type(variances).__name__}. Leave the lags out."
        )
    n, given = len(layout.present), np.asarray(variances, float)
    if not {*given.shape} <= {1, n, len(layout.states)}:
        return variances  # an error of `state_space_model`
    if given.ndim == 2:
        whole = np.diag(np.concatenate([np.ones(n), of_copies[sources]]))
        whole[:n, :n] = given[:n, :n]
        return whole
    return np.concatenate([np.ones(n) * given.reshape(-1)[:n], of_copies[sources]])


def choose_dynamics(
    dynamics: Any, panel: Panel, dt: Any, solver: str, *, delayed: bool = False
) -> str:
    """The requested dynamics; for `"auto"`, the flow if times or dt are given.

    Args:
        dynamics: What is requested.
        panel: The data.
        dt: Interval between rows, if given.
        solver: The solver.
        delayed: Whether states are delayed, which makes a map of `"auto"`.
    """
    check_dynamics(dynamics, auto=True)
    if delayed and dynamics == "flow":
        raise ValueError(
            "`lags` must be of inputs only for `dynamics='flow'`, got some of states. "
            "Use `dynamics='map'`, or name the inputs: `lags={'u': 3}`."
        )
    if delayed and solver in SOLVERS:
        raise ValueError(
            f"`lags` must be left out for the paper's solver, got {solver!r}. Use "
            "`solver='adaptive'`."
        )
    if delayed and dynamics == "auto":
        return "map"
    timed = dt is not None or all(s.times is not None for s in panel.series)
    if dynamics == "auto":
        return default_dynamics(timed=timed, solver=solver)
    if dynamics == "flow" and not timed:
        raise ValueError(
            "`dt` or times must be given for `dynamics='flow'`, got neither. Give "
            "`dt`, a column `t` or `time`, or `times`; `dt=1` counts time in rows."
        )
    if solver in SOLVERS and dynamics != "map":
        raise ValueError(
            f"`dynamics` must be 'map' for the paper's solver, got {dynamics!r}. Use "
            "`solver='adaptive'`."
        )
    return dynamics


def found_model(
    model: StateSpaceModel, solution: Solution | PaperSolution, learn: tuple[str, ...]
) -> StateSpaceModel:
    """The model with the estimates of a solver."""
    if isinstance(solution, PaperSolution):
        return model.with_coefficients(jnp.asarray(solution.coefficients))
    return fitted(model, solution, learn)


def _is_learnt(name: str, value: Any) -> bool:
    """Whether this argument is to be learnt."""
    if isinstance(value, str) and value != LEARN:
        raise ValueError(
            f"`{name}` must be 'learn' or a value, got {value!r}. "
            "Write 'learn' to learn it from the data."
        )
    return isinstance(value, str)


def _initial(
    initial: Any, layout: Layout, scales: Scales, panel: Panel
) -> tuple[np.ndarray, Any]:
    """Means of the initial states, and their covariance."""
    means = first_means(initial, layout, panel)
    if not (initial is None or isinstance(initial, str)):
        return means, initial[1]
    # The initial state is one step of dt before the first observation.
    near = scales.noise + scales.motion
    assert layout.matrix is not None
    return means, _of_states(layout.matrix, near, float(np.mean(scales.spread)))


def _with_speeds(
    means: np.ndarray,
    covariance: np.ndarray,
    velocities: Sequence[Velocity],
    layout: Layout,
    panel: Panel,
    scales: Scales,
    dt: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Initial velocities that are not observed, from the observed positions."""
    means, covariance = np.array(means), np.array(covariance)
    H = layout.matrix
    for constraint in velocities:
        check_choice("velocity", constraint.position, layout.states)
        at, speed = (layout.states.index(name) for name in constraint)
        if H is None or np.any(H[:, speed]) or not np.any(H[:, at]):
            continue
        column = int(np.argmax(np.abs(H[:, at])))
        parts = [row_times(series, dt) for series in panel.series]
        values = [series.values[:, column] / H[column, at] for series in panel.series]
        noise = scales.noise[column] / H[column, at] ** 2
        means[:, speed], covariance[speed] = first_speeds(parts, values, float(noise))
    return means, covariance


def _of_states(
    H: np.ndarray, variances: np.ndarray, otherwise: float
) -> Float[np.ndarray, "Nx"]:
    """Variances of states from those of their observations."""
    back = np.linalg.pinv(H)
    observed = np.diag(back @ H) > 0.5
    return np.where(observed, back**2 @ variances, otherwise)


def _steps_per_row(panel: Panel, dt: float) -> float:
    """Mean number of steps between rows."""
    intervals = [np.diff(s.times) for s in panel.series if s.times is not None]
    intervals = [part for part in intervals if len(part)]
    return float(np.mean(np.concatenate(intervals))) / dt if intervals else 1.0


def _check_rows(panel: Panel) -> None:
    rows = sum(len(series.values) for series in panel.series)
    if rows < 3:
        raise ValueError(
            f"`y` must have at least 3 rows, got {rows} "
            f"(n_samples={rows}). Equations need a longer series; 50 rows are few."
        )
    whole = np.concatenate([series.values for series in panel.series])
    observed = np.where(np.isnan(whole), 0, whole)
    check_finite("y", observed, "NaN means not observed.")
    empty = np.flatnonzero(np.isnan(whole).all(axis=0))
    if len(empty):
        at = int(empty[0])
        name = f"number {at}" if panel.names is None else repr(panel.names[at])
        raise ValueError(
            f"`y` must have an observation in every column, got none in column {name}. "
            "Drop it and name it in `states`: a state may be hidden."
        )

"""Simulate the fitted equations from one or many states, until they diverge."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..checks import check_at_least, check_finite, check_shape
from ..compiling import compiled
from ..data.frames import read_values
from ..diagnostics.noise_uncertainty import NoiseDraws, with_variances
from ..fits.record import Fit
from ..model import AbstractNoise, Schedule, StateSpaceModel, UserDensity
from ..solvers.adaptive.padding import rounded_length

FAR = 100.0
"""Distance from the data, in units of their range, beyond which a state diverged."""


class Bounds(NamedTuple):
    """Bounds outside which a state has diverged."""

    centre: Float[np.ndarray, "Nx"]
    reach: Float[np.ndarray, "Nx"]

    @classmethod
    def of(cls, bands: Float[np.ndarray, "rows Nx 2"]) -> "Bounds":
        """Bounds from lower and upper ends of the states at some times."""
        low, high = bands[..., 0].min(axis=0), bands[..., 1].max(axis=0)
        size = np.maximum(high - low, 1e-6 * np.abs(high))
        return cls((low + high) / 2, FAR * np.where(size > 0, size, 1.0))


def state_bounds(fit: Fit, x: Float[np.ndarray, "Nx"]) -> Bounds:
    """Bounds around the smoothed states of a fit and an initial state."""
    bands = [estimate.band() for estimate in fit.smoothed]
    return Bounds.of(np.concatenate([*bands, np.stack([x, x], axis=-1)[None]]))


def simulate(
    key: PRNGKeyArray,
    fit: Fit,
    x0: Any,
    steps: int = 100,
    *,
    noise: bool = False,
    inputs: Any = None,
) -> Float[np.ndarray, "steps_plus_1 Nx"]:
    """Simulate a trajectory x_0..x_T, NaN after it diverges.

    Args:
        key: Random key.
        fit: The fit.
        x0: Initial state, one number per state.
        steps: Number of steps of dt.
        noise: Whether to add process noise.
        inputs: Inputs, one row per step.
    """
    steps = check_at_least("steps", steps, 1, "It is the length of the trajectory.")
    acting = _inputs(fit, inputs, fit.dt * np.arange(1, steps + 1))
    states = run_from(
        key, fit, _initial_state(fit, x0), steps, noise=bool(noise), acting=acting
    )
    gone = np.isnan(states).any(axis=1)
    if gone.any():
        warnings.warn(
            f"The trajectory diverged at step {int(np.argmax(gone))} and is NaN "
            "afterwards. Start closer to the data, or take fewer steps.",
            stacklevel=4,
        )
    return states


def run_from(
    key: PRNGKeyArray,
    fit: Fit,
    x: Float[np.ndarray, "Nx"],
    steps: int,
    *,
    noise: bool = False,
    acting: Float[np.ndarray, "steps_plus_1 Nu"] | None = None,
) -> Float[np.ndarray, "steps_plus_1 N"]:
    """The states that are not delayed, from a state and on, NaN once they diverge.

    Args:
        key: Random key.
        fit: The fit.
        x: The state, with delayed ones.
        steps: Number of steps of dt.
        noise: Whether to add process noise.
        acting: All inputs: at the state, and one row per step.
    """
    (states,), _ = roll(
        key,
        fit.model,
        fit.coefficients[None],
        x[None],
        state_bounds(fit, x),
        steps=steps,
        noise=noise,
        inputs=acting,
        inputs_between=fit.task.settings["inputs_between"],
    )
    return np.concatenate([x[None], states])[:, : fit.n_present]


def _initial_state(fit: Fit, x0: Any) -> Float[np.ndarray, "Nx"]:
    """An initial state; where states are delayed, from rows that end with it."""
    names, delays = list(fit.layout.present), fit.layout.delays
    steps = [delay for delay in delays if delay.name in fit.layout.states]
    most = max((delay.steps for delay in steps), default=0)
    remedy = f"Give one number for each of {names}."
    shape = (len(names),)
    if most:
        remedy = f"Give {most + 1} rows in the order of time, of {names}."
        shape = (most + 1, len(names))
    x0 = check_finite("x0", x0, remedy)
    check_shape("x0", x0.shape, shape, remedy)
    rows = np.atleast_2d(x0)
    before = [rows[-1 - d.steps, names.index(d.source)] for d in steps]
    return np.concatenate([rows[-1], before])


def _inputs(
    fit: Fit, inputs: Any, times: Float[np.ndarray, "steps"]
) -> Float[np.ndarray, "steps_plus_1 N"] | None:
    """All inputs of a simulation, which begins at time 0 with the first of them."""
    given = read_values(inputs)
    first = None if given is None else given[:1]
    return fit.task.drivers.ahead(first, given, times[:1] - fit.dt, times)


def rate_of(fit: Fit) -> Callable[[np.ndarray], np.ndarray]:
    """dx/dt of a flow as a function of states `(..., Nx)`, with mean inputs."""
    driving = fit.task.acting
    acting = np.zeros(0)
    if driving is not None:
        acting = np.mean(np.concatenate([s.values for s in driving.series]), axis=0)

    def rate(x: np.ndarray) -> np.ndarray:
        u = np.broadcast_to(acting, (*x.shape[:-1], len(acting)))
        with jax.enable_x64(True):
            variables = jnp.asarray(np.concatenate([x, u], axis=-1))
            there = np.asarray(fit.layout.library.defined(variables))
            found = np.asarray(fit.layout.library(variables)) @ fit.coefficients.T
        return np.where(there[..., None], found, np.nan)

    return rate


def roll(
    key: PRNGKeyArray,
    model: StateSpaceModel,
    coefficients: Float[np.ndarray, "members Nx M"],
    x: Float[np.ndarray, "members Nx"],
    bounds: Bounds,
    variances: NoiseDraws | None = None,
    *,
    steps: int,
    noise: bool,
    inputs: Float[np.ndarray, "steps_plus_1 Nu"] | None = None,
    inputs_between: str = "held",
    paces: Float[np.ndarray, "steps"] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Simulate states and observations of every member, NaN after it diverges.

    Args:
        key: Random key.
        model: The model of one step.
        coefficients: Coefficients of each member.
        x: Initial state of each member.
        bounds: Bounds outside which a state has diverged.
        variances: Noise variances of each member; those of the model if None.
        steps: Number of steps.
        noise: Whether to add process and measurement noise.
        inputs: Inputs: those at the initial state, and one row per step.
        inputs_between: As for `arrange`.
        paces: Lengths of the steps in units of dt; ones if None.
    """
    n_inputs = model.library.n_states - model.n_states
    if n_inputs and inputs is None:
        raise ValueError(
            f"`future_inputs` must be given for a model with {n_inputs} inputs, got "
            "None. Give one row for each step."
        )
    acting = later = None
    if inputs is not None:
        remedy = "Give one row for each step, one column for each input."
        acting = inputs[1:]
        check_shape("future_inputs", acting.shape, (steps, n_inputs), remedy)
        if inputs_between == "linear":
            acting, later = inputs[:-1], acting
    # Other numbers of steps need no other compiled program.
    longest = rounded_length(steps)

    def longer(values: np.ndarray | None) -> Array | None:
        if values is None:
            return None
        return jax.device_put(values[np.minimum(np.arange(longest), steps - 1)])

    drawn = _roll(
        key,
        model,
        jax.device_put(coefficients),
        jax.device_put(x),
        jax.device_put(bounds),
        None if variances is None else jax.device_put(variances[:2]),
        () if variances is None else variances.learnt,
        longer(acting),
        longer(later),
        longer(paces),
        longest,
        noise,
    )
    states, observed = (
        np.swapaxes(np.asarray(part), 0, 1)[:, :steps] for part in drawn
    )
    return states, observed


def divergence(
    members: Float[np.ndarray, "members steps N"], level: float
) -> tuple[Float[np.ndarray, "steps"], str]:
    """Share of the members that diverged by each step, and a message if any did.

    Args:
        members: The members; NaN after they diverged.
        level: Probability of the bands, which can be used while no more members have
            diverged than may lie on one side of them.
    """
    gone = np.isnan(members).any(axis=2)
    share = gone.mean(axis=0)
    if not gone.any():
        return share, ""
    first = int(np.argmax(gone.any(axis=0))) + 1
    usable = int(np.sum(share <= (1 - level) / 2))
    until = f"up to step {usable}, and are NaN after it" if usable else "at no step"
    if usable == len(share):
        until = "at all steps, with these members outside of them"
    few = "Less than 1%" if share[-1] < 0.005 else f"{share[-1]:.0%}"
    return share, (
        f"{few} of the members diverged, the first at step {first}: the "
        f"fitted equations leave the range of the data. The bands of {level:.0%} can "
        f"be used {until}. Forecast fewer steps, or fit a longer series."
    )


@compiled
def _roll(
    key: PRNGKeyArray,
    model: StateSpaceModel,
    coefficients: Array,
    x: Array,
    bounds: Bounds,
    variances: tuple[Array, Array] | None,
    learnt: tuple[str, ...],
    inputs: Array | None,
    later: Array | None,
    paces: Array | None,
    steps: int,
    noise: bool,
) -> tuple[Array, Array]:
    centre, reach = (jnp.asarray(part, x.dtype) for part in bounds)

    def step(x: Array, now: tuple) -> tuple[Array, tuple[Array, Array]]:
        (move, see), *driven = now
        return jax.vmap(one, in_axes=(0, 0, 0, 0, 0, None))(
            coefficients, variances, x, move, see, driven
        )

    def one(C: Array, variances: Any, x: Array, move: Array, see: Array, driven: Any):
        inputs, later, pace = driven
        moment = None
        if inputs is not None or pace is not None:
            pace = jnp.ones((), x.dtype) if pace is None else pace
            moment = Schedule(pace, jnp.array(False), centre, inputs, later)
        here = model.with_coefficients(C)
        if variances is not None:
            state, measured = variances
            here = with_variances(here, state, measured, learnt)
        transition = here.at(moment).transition
        mean, alive = transition.mean(x), transition.mean.defined(x)
        alive &= _within(mean, centre, reach)
        # Diverged members are replaced by finite values until the end of the step.
        following = mean = jnp.where(alive, mean, centre)
        observed = model.observation.mean(mean)
        if noise:
            following = _drawn(transition.noise_at(x), move, mean)
            alive &= _within(following, centre, reach)
            following = jnp.where(alive, following, centre)
            observed = model.observation.mean(following)
            observed = _drawn(here.observation.noise, see, observed)
        following = jnp.where(alive, following, jnp.nan)
        observed = jnp.where(alive, observed, jnp.nan)
        return following, (following, observed)

    keys = jax.random.split(key, (2, steps, len(x)))
    _, results = jax.lax.scan(step, x, ((keys[0], keys[1]), inputs, later, paces))
    return results


def _within(x: Array, centre: Array, reach: Array) -> Bool[Array, ""]:
    return jnp.all(jnp.abs(x - centre) <= reach)


def _drawn(noise: AbstractNoise, key: PRNGKeyArray, mean: Array) -> Array:
    """A draw, or the mean for a `UserDensity`, which cannot be sampled."""
    return mean if isinstance(noise, UserDensity) else noise.sample(key, mean)

"""Trajectories of the equations found, for one state or many, until they diverge."""

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
from ..fits.record import Fit
from ..model import AbstractNoise, Schedule, StateSpaceModel, UserDensity

FAR = 100.0
"""A state that is this many times the data's range away from them has diverged."""


class Bounds(NamedTuple):
    """Where states are as long as they have not diverged."""

    centre: Float[np.ndarray, "Nx"]
    reach: Float[np.ndarray, "Nx"]

    @classmethod
    def of(cls, bands: Float[np.ndarray, "rows Nx 2"]) -> "Bounds":
        """Far outside of where states were, by lower and upper ends at some times."""
        low, high = bands[..., 0].min(axis=0), bands[..., 1].max(axis=0)
        size = np.maximum(high - low, 1e-6 * (1 + np.abs(high)))
        return cls((low + high) / 2, FAR * size)


def state_bounds(fit: Fit, x: Float[np.ndarray, "Nx"]) -> Bounds:
    """Where states are that have not diverged, about the data of a fit and this one."""
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
    """A trajectory of the equations found, x_0..x_T, NaN from where it diverges.

    Args:
        key: Random key.
        fit: The fit.
        x0: Where it begins, one number a state.
        steps: How many steps of dt.
        noise: Whether the states move with the noise that was found.
        inputs: Inputs during each step, one row each.
    """
    steps = check_at_least("steps", steps, 1, "It is the length of the path.")
    names = list(fit.layout.states)
    remedy = f"Give one number for each of {names}."
    x0 = check_finite("x0", x0, remedy)
    check_shape("x0", x0.shape, (len(names),), remedy)
    (path,), _ = roll(
        key,
        fit.model,
        fit.coefficients[None],
        x0[None],
        state_bounds(fit, x0),
        steps=steps,
        noise=bool(noise),
        inputs=read_values(inputs),
    )
    gone = np.isnan(path).any(axis=1)
    if gone.any():
        warnings.warn(
            f"The path diverged at step {int(np.argmax(gone)) + 1}: it is NaN from "
            "there on. Begin nearer to the data, or take fewer steps.",
            stacklevel=4,
        )
    return np.concatenate([x0[None], path])


def rate_of(fit: Fit) -> Callable[[np.ndarray], np.ndarray]:
    """dx/dt of a flow, a function of states `(..., Nx)`, with inputs at their means."""
    driving = fit.task.inputs
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
    *,
    steps: int,
    noise: bool,
    inputs: Float[np.ndarray, "steps Nu"] | None = None,
    paces: Float[np.ndarray, "steps"] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """States and observations of every member, NaN from where it diverged.

    Args:
        key: Random key.
        model: The model of one step.
        coefficients: C of each member.
        x: Where each member begins.
        bounds: Beyond which a state counts as diverged.
        steps: How many steps to take.
        noise: Whether states move, and are observed, with noise.
        inputs: Inputs that act during each step.
        paces: Lengths of the steps, in units of the usual one; ones if None.
    """
    n_inputs = model.library.n_states - model.n_states
    if n_inputs and inputs is None:
        raise ValueError(
            f"`future_inputs` must be given for a model with {n_inputs} inputs, got "
            "None. Give one row for each step."
        )
    acting = None
    if inputs is not None:
        remedy = "Give one row for each step, one column for each input."
        check_shape("future_inputs", inputs.shape, (steps, n_inputs), remedy)
        acting = jnp.asarray(inputs)
    states, seen = _roll(
        key,
        model,
        jnp.asarray(coefficients),
        jnp.asarray(x),
        bounds,
        acting,
        None if paces is None else jnp.asarray(paces),
        steps,
        noise,
    )
    return np.swapaxes(np.asarray(states), 0, 1), np.swapaxes(np.asarray(seen), 0, 1)


def divergence(
    members: Float[np.ndarray, "members steps N"],
) -> tuple[Float[np.ndarray, "steps"], str]:
    """Share of the members that diverged by each step, and a message if any did."""
    gone = np.isnan(members).any(axis=2)
    share = gone.mean(axis=0)
    if not gone.any():
        return share, ""
    first = int(np.argmax(gone.any(axis=0))) + 1
    return share, (
        f"{share[-1]:.0%} of the members diverged, the first at step {first}: the "
        "equations found run away from where the data were. They are NaN from there "
        "on, and not in means and bands. Forecast fewer steps, or fit a longer series."
    )


@compiled
def _roll(
    key: PRNGKeyArray,
    model: StateSpaceModel,
    coefficients: Array,
    x: Array,
    bounds: Bounds,
    inputs: Array | None,
    paces: Array | None,
    steps: int,
    noise: bool,
) -> tuple[Array, Array]:
    centre, reach = (jnp.asarray(part, x.dtype) for part in bounds)

    def step(x: Array, now: tuple) -> tuple[Array, tuple[Array, Array]]:
        (move, see), inputs, pace = now
        return jax.vmap(one, in_axes=(0, 0, 0, 0, None, None))(
            coefficients, x, move, see, inputs, pace
        )

    def one(C: Array, x: Array, move: Array, see: Array, inputs, pace):
        moment = None
        if inputs is not None or pace is not None:
            pace = jnp.ones((), x.dtype) if pace is None else pace
            moment = Schedule(pace, jnp.array(False), centre, inputs)
        transition = model.with_coefficients(C).at(moment).transition
        mean, alive = transition.mean(x), transition.mean.defined(x)
        alive &= _within(mean, centre, reach)
        # Draws are about something finite even where nobody will look.
        following = mean = jnp.where(alive, mean, centre)
        observed = model.observation.mean(mean)
        if noise:
            following = _drawn(transition.noise_at(x), move, mean)
            alive &= _within(following, centre, reach)
            following = jnp.where(alive, following, centre)
            observed = model.observation.mean(following)
            observed = _drawn(model.observation.noise, see, observed)
        following = jnp.where(alive, following, jnp.nan)
        observed = jnp.where(alive, observed, jnp.nan)
        return following, (following, observed)

    keys = jax.random.split(key, (2, steps, len(x)))
    _, results = jax.lax.scan(step, x, ((keys[0], keys[1]), inputs, paces))
    return results


def _within(x: Array, centre: Array, reach: Array) -> Bool[Array, ""]:
    return jnp.all(jnp.abs(x - centre) <= reach)


def _drawn(noise: AbstractNoise, key: PRNGKeyArray, mean: Array) -> Array:
    """A draw; the mean for a density of the user's, which cannot be drawn from."""
    return mean if isinstance(noise, UserDensity) else noise.sample(key, mean)

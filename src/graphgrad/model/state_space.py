"""The general state-space model, Eq. (1), and simulation of it."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..checks import check_at_least, check_shape
from .map import DifferenceMean, MapMean
from .mean import AbstractLibraryMean, AbstractMean, Schedule, check_dynamics
from .noise import AbstractNoise, AbstractScaleNoise, GaussianNoise
from .observation import AbstractObservation, LinearGaussian
from .transition import Transition


class StateSpaceModel(eqx.Module):
    """x_0 ~ p(x_0), x_t ~ p(x_t | x_{t-1}), y_t ~ p(y_t | x_t). Eq. (1).

    Attributes:
        initial_mean: Mean of x_0.
        initial_noise: Distribution of x_0 about that mean.
        transition: Distribution of the next state.
        observation: Distribution of an observation.
        schedule: What varies between steps, or None.
    """

    initial_mean: Float[Array, "Nx"]
    initial_noise: AbstractNoise
    transition: Transition
    observation: AbstractObservation
    schedule: Schedule | None = None

    @property
    def n_states(self) -> int:
        """Number of states, Nx."""
        return self.initial_mean.shape[0]

    @property
    def coefficients(self) -> Float[Array, "Nx M"]:
        """Coefficients of a model whose mean is a library of terms."""
        return self.mean.coefficients

    @property
    def library(self):
        """Terms of a model whose mean is a library of terms."""
        return self.mean.library

    @property
    def dynamics(self) -> str:
        """Kind of dynamics: one of `DYNAMICS`."""
        return self.mean.dynamics

    def with_mean(self, mean: AbstractMean) -> "StateSpaceModel":
        """The same model with another mean map."""
        return eqx.tree_at(lambda model: model.transition.mean, self, mean)

    def with_coefficients(
        self, coefficients: Float[Array, "Nx M"]
    ) -> "StateSpaceModel":
        """The same model with other coefficients."""
        return self.with_mean(self.mean.with_coefficients(coefficients))

    def at(self, moment: Schedule | None) -> "StateSpaceModel":
        """The model during one step of its schedule."""
        if moment is None:
            return self
        noise, initial = self.transition.noise, self.initial_noise
        assert isinstance(initial, GaussianNoise)
        transition = Transition(self.mean.at(moment), noise, initial)
        observation = self.observation
        if moment.uncertainty is not None:
            assert isinstance(observation.noise, AbstractScaleNoise)
            larger = observation.noise.times(moment.uncertainty)
            observation = eqx.tree_at(lambda o: o.noise, observation, larger)
        return StateSpaceModel(
            self.initial_mean, self.initial_noise, transition, observation
        )

    def with_schedule(self, schedule: Schedule | None) -> "StateSpaceModel":
        """The same model with another schedule, or without one."""
        return eqx.tree_at(
            lambda model: model.schedule,
            self,
            schedule,
            is_leaf=lambda leaf: leaf is None,
        )

    @property
    def sees_all_states(self) -> bool:
        """Whether an observation is the state itself, with Gaussian noise."""
        seen = self.observation
        return isinstance(seen, LinearGaussian) and seen.matrix is None

    def moves(self, steps: int) -> Float[Array, ""]:
        """Number of steps that are transitions, not the start of a series."""
        return jnp.sum(self.moving(steps))

    def moving(self, steps: int) -> Float[Array, "T"]:
        """One for each step that is a transition, zero for the start of a series."""
        dtype = self.initial_mean.dtype
        if self.schedule is None:
            return jnp.ones(steps, dtype)
        return (~self.schedule.fresh).astype(dtype)

    @property
    def mean(self) -> AbstractLibraryMean:
        """The mean of a model whose mean is a library of terms."""
        mean = self.transition.mean
        if not isinstance(mean, AbstractLibraryMean):
            raise ValueError(
                "`model` must have a library of terms for its mean, got "
                f"{type(mean).__name__}. Build it with `state_space_model`."
            )
        return mean


def in_dynamics(model: StateSpaceModel, dynamics: str) -> StateSpaceModel:
    """Convert a model between map and difference; unchanged if already so.

    Args:
        model: The model; coefficients of another kind of dynamics become zeros.
        dynamics: `"auto"` for that of the model.
    """
    check_dynamics(dynamics, auto=True)
    if dynamics in ("auto", model.dynamics):
        return model
    if "flow" in (dynamics, model.dynamics):
        raise ValueError(
            f"`dynamics` must be that of the model, {model.dynamics!r}, got "
            f"{dynamics!r}. Build the model with `state_space_model(..., "
            f"dynamics={dynamics!r})`."
        )
    kind = {"map": MapMean, "difference": DifferenceMean}[dynamics]
    return model.with_mean(kind(model.library, jnp.zeros_like(model.coefficients)))


class Simulation(NamedTuple):
    """States x_0..x_T, observations y_1..y_T, and whether all terms were defined."""

    states: Float[Array, "T_plus_1 Nx"]
    observations: Float[Array, "T Ny"]
    defined: Bool[Array, ""]


def simulate(
    key: PRNGKeyArray,
    model: StateSpaceModel,
    *,
    steps: int,
    initial: Float[Array, "Nx"] | None = None,
) -> Simulation:
    """Draw a trajectory and its observations.

    A trajectory that diverges is returned with infinities or NaN, not as an error;
    `graphgrad.systems` detects and reports this.

    Args:
        key: Random key.
        model: The model.
        steps: Number of observations, T.
        initial: x_0; drawn from its distribution if not given.

    Examples:
        >>> import graphgrad as gg, jax
        >>> library = gg.Polynomial(n_states=1, degree=1)
        >>> model = gg.state_space_model(library, [[0.0, 0.9]], state_noise=0.1,
        ...                              observation_noise=0.1, initial_mean=[0.0])
        >>> states, observations, _ = gg.simulate(jax.random.key(0), model, steps=5)
        >>> states.shape, observations.shape
        ((6, 1), (5, 1))
    """
    steps = check_at_least("steps", steps, 1, "It is the number of observations.")
    if model.schedule is not None:
        remedy = "It is the length of the model's schedule."
        check_shape("steps", (steps,), model.schedule.pace.shape, remedy)
    start_key, move_key, observe_key = jax.random.split(key, 3)
    if initial is None:
        initial = model.initial_noise.sample(start_key, model.initial_mean)

    def step(x: Array, inputs: tuple) -> tuple[Array, tuple[Array, Array]]:
        key, moment = inputs
        transition = model.at(moment).transition
        x_next = transition.sample(key, x)
        return x_next, (x_next, transition.mean.defined(x))

    def observe(
        key: PRNGKeyArray, states: Float[Array, "T Nx"]
    ) -> Float[Array, "T Ny"]:
        if model.schedule is None or model.schedule.uncertainty is None:
            return model.observation.sample(key, states)
        keys = jax.random.split(key, steps)
        return jax.vmap(lambda key, x, now: model.at(now).observation.sample(key, x))(
            keys, states, model.schedule
        )

    _, (states, defined) = jax.lax.scan(
        step, initial, (jax.random.split(move_key, steps), model.schedule)
    )
    return Simulation(
        states=jnp.concatenate([initial[None], states]),
        observations=observe(observe_key, states),
        defined=jnp.all(defined),
    )

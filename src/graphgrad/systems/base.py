"""A system with known equations and noise; simulations report divergence."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..checks import (
    check_at_least,
    check_choice,
    check_covariance,
    check_finite,
    check_positive,
    check_shape,
)
from ..library import Polynomial
from ..model import (
    DYNAMICS,
    GaussianNoise,
    LinearGaussian,
    StateSpaceModel,
    Transition,
    state_space_model,
)
from ..resources import check_draws
from .rates import PolynomialRate
from .schemes import AbstractMove, EulerMean, EulerMove, FlowMove, RungeKuttaMean
from .substeps import MOST, needed_substeps
from .trajectories import SystemSimulation, draw

SCHEMES = ("flow", "euler")
# Error per interval of a simulated flow, relative to the size of a state.
ACCURACY = 1e-8
MOST_OF_MODELS = 64


class System(eqx.Module):
    """Known equations dx/dt = rate(x), with process noise and measurement noise.

    Parameters are kept in double precision; simulations and models use the precision
    that JAX is set to.

    Attributes:
        name: Name in the registry.
        states: Names of the states.
        rate: dx/dt, vectorised over leading axes.
        degree: Degree of the rate; None if it is not a polynomial.
        dt: Time between two observations.
        state_noise: Variances of the process noise per unit of *time*; over a step of
            the Euler map they are dt times as large.
        observation_noise: Variances of the measurement noise.
        x0: Initial state of simulations.
        initial_noise: Prior variances of the initial state of a filter.
        adjacency: `(Nx, Nx)` booleans; `[a, b]` is true where b acts on the next a
            (Sec. III-B), as each state does on itself.
        bound: A trajectory is considered divergent when a state reaches this size.
        spin_up: Number of intervals from `x0` to the first state that is kept.

    Examples:
        >>> import jax
        >>> from graphgrad import systems
        >>> system = systems.lorenz63(dt=0.02)
        >>> drawn = system.simulate(jax.random.key(0), steps=200)
        >>> drawn.states.shape, drawn.observations.shape, drawn.diverged_at
        ((201, 3), (200, 3), None)
        >>> system.coefficients()[0, :4].tolist()
        [0.0, -10.0, 10.0, 0.0]
        >>> system.coefficients(dynamics="map")[0, :4].tolist()
        [0.0, 0.8, 0.2, 0.0]
    """

    name: str = eqx.field(static=True)
    states: tuple[str, ...] = eqx.field(static=True)
    rate: Callable
    degree: int | None = eqx.field(static=True)
    dt: float = eqx.field(static=True)
    state_noise: np.ndarray
    observation_noise: np.ndarray
    x0: np.ndarray
    initial_noise: np.ndarray
    adjacency: np.ndarray
    bound: float = eqx.field(static=True)
    spin_up: int = eqx.field(static=True)

    def __init__(
        self,
        name: str,
        states: tuple[str, ...],
        rate: Callable,
        *,
        dt: float,
        x0: Any,
        state_noise: Any,
        observation_noise: Any,
        initial_noise: Any,
        bound: float,
        spin_up: int = 0,
        adjacency: np.ndarray | None = None,
    ):
        """Check and store; a polynomial rate determines degree and adjacency."""
        n = len(states)
        self.name, self.states, self.rate = name, tuple(states), rate
        self.dt = check_positive("dt", dt, "It is the time between two observations.")
        self.x0 = check_finite("x0", x0, "Give one number per state.")
        check_shape("x0", self.x0.shape, (n,), f"{name} has {n} states.")
        self.state_noise = _variances("state_noise", state_noise, n)
        self.observation_noise = _variances("observation_noise", observation_noise, n)
        self.initial_noise = _variances("initial_noise", initial_noise, n)
        self.bound, self.spin_up = float(bound), spin_up
        if isinstance(rate, PolynomialRate):
            self.degree = rate.library.degree
            coefficients = _coefficients(rate, rate.library, self.dt, "map")
            adjacency = np.abs(coefficients) @ rate.library.degrees.T != 0
        else:
            self.degree = None
        if adjacency is None:
            raise ValueError(
                "`adjacency` must be given if the rate is not a polynomial, got None."
            )
        self.adjacency = adjacency

    @property
    def n_states(self) -> int:
        """Number of states, Nx."""
        return len(self.states)

    def library(self, degree: int | None = None) -> Polynomial:
        """The monomials up to a degree; by default the degree of the system."""
        if self.degree is None:
            raise ValueError(
                f"`degree` must belong to a polynomial system, and {self.name} is not "
                "polynomial: no C represents it. Use `model()`, which has its own mean."
            )
        degree = check_at_least(
            "degree",
            self.degree if degree is None else degree,
            self.degree,
            f"The equations of {self.name} have degree {self.degree}.",
        )
        return Polynomial(self.n_states, degree)

    def degrees(self, degree: int | None = None) -> np.ndarray:
        """The paper's D, of shape `(Nx, M)`."""
        return self.library(degree).degrees

    def coefficients(
        self, degree: int | None = None, *, dynamics: str = "flow"
    ) -> np.ndarray:
        """The true coefficients, of shape `(Nx, M)`.

        Args:
            degree: Degree of the library.
            dynamics: `"flow"` for R of dx/dt = R phi(x); `"map"` for C of the Euler map
                x + dt rate(x) = C phi(x), Eq. (7); `"difference"` for dt R, the change
                of a state in a step of that map.
        """
        check_choice("dynamics", dynamics, DYNAMICS)
        library = self.library(degree)
        assert isinstance(self.rate, PolynomialRate)
        return _coefficients(self.rate, library, self.dt, dynamics)

    def model(
        self, degree: int | None = None, *, dynamics: str = "flow", initial: Any = None
    ) -> StateSpaceModel:
        """The state-space model of the simulated data.

        Args:
            degree: Degree of the library; not for systems that are not polynomial,
                whose model has its own mean.
            dynamics: `"flow"` for data from `simulate`, with enough substeps to keep
                its error below a hundredth of the noise; `"map"` or `"difference"` for
                data of the scheme `"euler"`.
            initial: Mean of x_0, by default `x0`; required for a system with a spin-up,
                usually `simulation.states[0]`.
        """
        check_choice("dynamics", dynamics, DYNAMICS)
        if initial is None:
            if self.spin_up:
                raise ValueError(
                    f"`initial` must be given for {self.name}, which is first observed "
                    f"{self.spin_up} steps after `x0`, got None. Pass "
                    "`initial=simulation.states[0]`."
                )
            initial = self.x0
        initial = check_finite("initial", initial, "Give one number per state.")
        check_shape("initial", initial.shape, self.x0.shape, "One number per state.")
        flow = dynamics == "flow"
        if self.degree is None and degree is None:
            return self._model_of_rate(self._model_substeps() if flow else 0, initial)
        return state_space_model(
            self.library(degree),
            self.coefficients(degree, dynamics=dynamics),
            dynamics=dynamics,
            dt=self.dt if flow else None,
            substeps=self._model_substeps() if flow else 1,
            state_noise=self.state_noise if flow else self.dt * self.state_noise,
            observation_noise=self.observation_noise,
            initial_mean=initial,
            initial_noise=self.initial_noise,
        )

    def simulate(
        self,
        key: PRNGKeyArray,
        steps: int,
        *,
        scheme: str = "flow",
        bounded: bool = False,
        bound: float | None = None,
        max_redraws: int = 1000,
    ) -> SystemSimulation:
        """Simulate a trajectory from `x0` and its observations.

        Euler maps of chaotic systems can leave the attractor for good, and so can flows
        with process noise. Such a trajectory is returned as it is, with the step in
        `diverged_at` and advice in `message`, unless `bounded` requests a new draw.
        Draw number n uses the key folded with n, so a trajectory that stays within the
        bound is the same with and without `bounded`.

        Args:
            key: Random key.
            steps: Number of observations, T.
            scheme: `"flow"` integrates dx/dt by Runge-Kutta substeps, each with its
                share of the process noise; their number is chosen by step doubling, for
                an error of 1e-8 of a state's size per interval. `"euler"` is the
                paper's step, exactly `coefficients(dynamics="map")`, followed by noise
                of variance `dt * state_noise`.
            bounded: Redraw until a trajectory stays within the bound.
            bound: Overrides the system's `bound`.
            max_redraws: Maximum number of rejected trajectories.

        Raises:
            DivergenceError: If `bounded` and no draw stayed within the bound.
        """
        steps = check_at_least("steps", steps, 1, "It is the number of observations.")
        check_draws(steps, 1, len(self.states))
        max_redraws = check_at_least("max_redraws", max_redraws, 0, "Try 1000.")
        check_choice("scheme", scheme, SCHEMES)
        if bound is None:
            bound = self.bound
        else:
            bound = check_positive("bound", bound, f"It is {self.bound:g} by default.")
        return draw(
            key,
            self._move(scheme),
            jnp.asarray(self.x0),
            jnp.sqrt(jnp.asarray(self.observation_noise)),
            steps,
            spin_up=self.spin_up,
            bound=bound,
            max_redraws=max_redraws if bounded else None,
            label=f"{self.name} (dt = {self.dt:g}, {scheme})",
        )

    def _move(self, scheme: str) -> AbstractMove:
        if scheme == "euler":
            scale = jnp.sqrt(jnp.asarray(self.dt * self.state_noise))
            return EulerMove(EulerMean(self.rate, self.dt), scale)
        count, excess = self._substeps(lambda sizes: ACCURACY * sizes)
        if excess > 1:
            fault = f"have an error of {excess * ACCURACY:.1g} of a state's size"
            raise ValueError(
                f"`dt` must be shorter for the flow of {self.name}, got {self.dt:g}: "
                f"{count} Runge-Kutta steps per interval "
                f"{fault if np.isfinite(excess) else 'diverge'}. Use a smaller "
                "`dt`, or parameters that are less stiff."
            )
        return FlowMove(
            self.rate,
            jnp.sqrt(jnp.asarray(self.state_noise)),
            jnp.asarray(self.dt),
            jnp.asarray(count),
        )

    def _model_substeps(self) -> int:
        """Number of substeps whose error is negligible relative to the noise."""
        noise = np.stack([self.dt * self.state_noise, self.observation_noise])
        least = np.sqrt(np.min(np.where(noise > 0, noise, np.inf), axis=0))
        return self._substeps(
            lambda sizes: np.where(np.isinf(least), ACCURACY * sizes, 0.01 * least),
            most=MOST_OF_MODELS,
        )[0]

    def _substeps(
        self, tolerance: Callable[[np.ndarray], np.ndarray], most: int = MOST
    ) -> tuple[int, float]:
        return needed_substeps(
            self.rate,
            self.x0,
            dt=self.dt,
            bound=self.bound,
            tolerance=tolerance,
            most=most,
        )

    def _model_of_rate(self, substeps: int, initial: Any) -> StateSpaceModel:
        """A model whose mean uses the rate itself; the Euler map for 0 substeps."""

        def gaussian(name: str, variances: np.ndarray) -> GaussianNoise:
            return GaussianNoise.of(
                jnp.asarray(check_covariance(name, variances, self.n_states))
            )

        rate = jax.tree.map(jnp.asarray, self.rate)
        mean = (
            RungeKuttaMean(rate, self.dt, substeps)
            if substeps
            else EulerMean(rate, self.dt)
        )
        noise = gaussian("state_noise", self.dt * self.state_noise)
        seen = gaussian("observation_noise", self.observation_noise)
        return StateSpaceModel(
            initial_mean=jnp.asarray(initial),
            initial_noise=gaussian("initial_noise", self.initial_noise),
            transition=Transition(mean, noise),
            observation=LinearGaussian(seen),
        )


def _coefficients(
    rate: PolynomialRate, library: Polynomial, dt: float, dynamics: str
) -> np.ndarray:
    # In the order of Alg. 3, terms of lower degree come first.
    n_states, n_terms = rate.coefficients.shape
    coefficients = np.zeros((n_states, library.n_terms))
    scale = 1 if dynamics == "flow" else dt
    coefficients[:, :n_terms] = scale * rate.coefficients
    if dynamics == "map":
        coefficients[:, 1 : n_states + 1] += np.eye(n_states)
    return coefficients


def _variances(name: str, value: Any, size: int) -> np.ndarray:
    remedy = "Give one variance, or one for each state; 0 for none."
    array = check_finite(name, [value] * size if np.ndim(value) == 0 else value, remedy)
    check_shape(name, array.shape, (size,), remedy)
    if (array < 0).any():
        raise ValueError(f"`{name}` must not be negative, got {array.min()}. {remedy}")
    return array

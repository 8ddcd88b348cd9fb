"""A known truth: its equations, its noise, and draws that say when they diverge."""

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
    GaussianNoise,
    LinearGaussian,
    StateSpaceModel,
    Transition,
    state_space_model,
)
from .paths import SystemSimulation, draw
from .rates import EulerMean, PolynomialRate, RungeKuttaMean

SCHEMES = {"euler": EulerMean, "rk4": RungeKuttaMean}


class System(eqx.Module):
    """Known equations dx/dt = rate(x), discretised and observed with noise.

    Numbers are kept in double precision; draws and models are in the precision that
    JAX is set to.

    Attributes:
        name: Name in the registry.
        states: Names of the states.
        rate: dx/dt, for any number of states at once.
        degree: Degree of the rate; None if it is no polynomial.
        dt: Time step.
        state_noise: Variances of the noise of one *step*, not of one unit of time.
        observation_noise: Variances of the noise of one observation.
        x0: Where simulations start.
        initial_noise: Variances of a filter's prior about its initial mean.
        adjacency: `(Nx, Nx)` truth values; `[a, b]` where b acts on a (Sec. III-B).
        bound: A path is taken to diverge when a state reaches this size.
        spin_up: Steps from `x0` before the first state that is kept.

    Examples:
        >>> import jax
        >>> from graphgrad import systems
        >>> system = systems.lorenz63(dt=0.02)
        >>> path = system.simulate(jax.random.key(0), steps=200)
        >>> path.states.shape, path.observations.shape, path.diverged_at
        ((201, 3), (200, 3), None)
        >>> system.coefficients(degree=2)[0].tolist()
        [0.0, 0.8, 0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
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
        """Check and store; a polynomial rate gives its own degree and adjacency."""
        n = len(states)
        self.name, self.states, self.rate = name, tuple(states), rate
        self.dt = check_positive("dt", dt, "It is the time between two observations.")
        self.x0 = check_finite("x0", x0, "Give one number a state.")
        check_shape("x0", self.x0.shape, (n,), f"{name} has {n} states.")
        self.state_noise = _variances("state_noise", state_noise, n)
        self.observation_noise = _variances("observation_noise", observation_noise, n)
        self.initial_noise = _variances("initial_noise", initial_noise, n)
        self.bound, self.spin_up = float(bound), spin_up
        if isinstance(rate, PolynomialRate):
            self.degree = rate.library.degree
            coefficients = _euler_map(rate, self.dt, rate.library)
            adjacency = np.abs(coefficients) @ rate.library.degrees.T != 0
        else:
            self.degree = None
        if adjacency is None:
            raise ValueError(
                "`adjacency` must be given where the rate is no polynomial, got None."
            )
        self.adjacency = adjacency

    @property
    def n_states(self) -> int:
        """Number of states, Nx."""
        return len(self.states)

    def library(self, degree: int | None = None) -> Polynomial:
        """The monomials up to a degree; up to the system's own if none is given."""
        if self.degree is None:
            raise ValueError(
                f"`degree` must belong to a polynomial system, and {self.name} is "
                "none: no C represents it. Use `model()`, which has its own mean map."
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

    def coefficients(self, degree: int | None = None) -> np.ndarray:
        """The true C of the Euler map x + dt rate(x) = C phi(x), Eq. (7)."""
        library = self.library(degree)
        assert isinstance(self.rate, PolynomialRate)
        return _euler_map(self.rate, self.dt, library)

    def model(
        self, degree: int | None = None, *, initial: Any = None
    ) -> StateSpaceModel:
        """The state-space model that makes the data of the Euler scheme.

        Args:
            degree: Degree of the library in which C is written; not for systems that
                are no polynomials, whose model keeps their own mean map.
            initial: Mean of x_0. It is `x0` if not given; a system with a spin-up
                needs it, usually `simulation.states[0]`.
        """
        if initial is None:
            if self.spin_up:
                raise ValueError(
                    f"`initial` must be given for {self.name}, which is first observed "
                    f"{self.spin_up} steps after `x0`, got None. Pass "
                    "`initial=simulation.states[0]`."
                )
            initial = self.x0
        initial = check_finite("initial", initial, "Give one number a state.")
        check_shape("initial", initial.shape, self.x0.shape, "One number a state.")
        if self.degree is None and degree is None:
            for name in ("state_noise", "observation_noise", "initial_noise"):
                check_covariance(name, getattr(self, name), self.n_states)
            rate = jax.tree.map(jnp.asarray, self.rate)
            return self._with_mean(EulerMean(rate, self.dt), initial)
        return state_space_model(
            self.library(degree),
            self.coefficients(degree),
            state_noise=self.state_noise,
            observation_noise=self.observation_noise,
            initial_mean=initial,
            initial_noise=self.initial_noise,
        )

    def simulate(
        self,
        key: PRNGKeyArray,
        steps: int,
        *,
        scheme: str = "euler",
        bounded: bool = False,
        bound: float | None = None,
        max_redraws: int = 1000,
    ) -> SystemSimulation:
        """Draw a path from `x0` and what is seen of it.

        Euler maps of chaotic systems can leave the attractor for good. Such a path
        comes back as it is, with the step in `diverged_at` and advice in `message`,
        unless `bounded` asks for another. Draw number n uses the key folded with n,
        so a path that stays within the bound is the same with and without `bounded`.

        Args:
            key: Random key.
            steps: Number of observations, T.
            scheme: `"euler"`, the paper's, whose map is exactly `coefficients()`, or
                `"rk4"`, closer to the flow; the same noise is added after each step.
            bounded: Redraw until a path stays within the bound.
            bound: Replaces the system's own `bound`.
            max_redraws: How many paths may be thrown away.

        Raises:
            DivergenceError: If `bounded` and no draw stayed within the bound.
        """
        steps = check_at_least("steps", steps, 1, "It is the number of observations.")
        max_redraws = check_at_least("max_redraws", max_redraws, 0, "Try 1000.")
        check_choice("scheme", scheme, SCHEMES)
        if bound is None:
            bound = self.bound
        else:
            bound = check_positive("bound", bound, f"It is {self.bound:g} by default.")
        return draw(
            key,
            self._with_mean(SCHEMES[scheme](self.rate, self.dt), self.x0),
            steps,
            spin_up=self.spin_up,
            bound=bound,
            max_redraws=max_redraws if bounded else None,
            label=f"{self.name} (dt = {self.dt:g}, {scheme})",
        )

    def _with_mean(self, mean: Any, initial: Any) -> StateSpaceModel:
        # Not by `state_space_model`: noise-free systems may be simulated.
        def gaussian(variances: np.ndarray) -> GaussianNoise:
            return GaussianNoise.of(jnp.asarray(variances))

        return StateSpaceModel(
            initial_mean=jnp.asarray(initial),
            initial_noise=gaussian(self.initial_noise),
            transition=Transition(mean, gaussian(self.state_noise)),
            observation=LinearGaussian(gaussian(self.observation_noise)),
        )


def _euler_map(rate: PolynomialRate, dt: float, library: Polynomial) -> np.ndarray:
    # In the order of Alg. 3 the terms of a lower degree come first.
    n_states, n_terms = rate.coefficients.shape
    coefficients = np.zeros((n_states, library.n_terms))
    coefficients[:, :n_terms] = dt * rate.coefficients
    coefficients[:, 1 : n_states + 1] += np.eye(n_states)
    return coefficients


def _variances(name: str, value: Any, size: int) -> np.ndarray:
    remedy = "Give one variance, or one for each state; 0 for none."
    array = check_finite(name, [value] * size if np.ndim(value) == 0 else value, remedy)
    check_shape(name, array.shape, (size,), remedy)
    if (array < 0).any():
        raise ValueError(f"`{name}` must not be negative, got {array.min()}. {remedy}")
    return array

"""Draws of the equations of a flow given its states, made exact by Metropolis' rule.

Over an interval a flow is x + h A psi(x; A), and psi depends on A. With psi held at the
coefficients of a fit the equations are regressions, whose draws leave a distribution
near the right one as it is, and are reversible. Each is a proposal, accepted by the
ratio of the two densities (Christen and Fox, Markov chain Monte Carlo using an
approximation, J. Comput. Graph. Stat. 14, 2005).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from ..model import GaussianNoise, StateSpaceModel
from .spike import Limits, draw_equation


class FlowRegression(NamedTuple):
    """The equations of a flow as regressions, about the coefficients of a fit.

    Attributes:
        model: The flow; its coefficients and noise are replaced.
        trajectory: States x_0..x_T.
        terms: Its design there, with psi held.
        target: What departures from the base are to explain.
        base: Coefficients that are known.
        length: Of an interval.
    """

    model: StateSpaceModel
    trajectory: Float[Array, "T_plus_1 Nx"]
    terms: Float[Array, "T M"]
    target: Float[Array, "T Nx"]
    base: Float[Array, "Nx M"]
    length: Float[Array, ""]

    @classmethod
    def about(
        cls, model: StateSpaceModel, trajectory: Array, fitted: Array, base: Array
    ) -> "FlowRegression":
        """About the coefficients of a fit."""
        mean = model.mean.with_coefficients(fitted)
        terms, rest = mean.design(trajectory[:-1])
        target = trajectory[1:] - rest - terms @ base.T
        return cls(model, trajectory, terms, target, base, mean.noise_length())

    def log_density(
        self, away: Float[Array, "Nx M"], noise: Float[Array, "Nx"]
    ) -> Array:
        """Log-density of the trajectory."""
        transition = self.model.with_coefficients(self.base + away).transition
        moved = transition.__class__(transition.mean, GaussianNoise(jnp.sqrt(noise)))
        return jnp.sum(moved.log_prob(self.trajectory[1:], self.trajectory[:-1]))

    def approximate_log_density(
        self, away: Float[Array, "Nx M"], noise: Float[Array, "Nx"]
    ) -> Array:
        """The same with psi held, and without noise from one equation to another."""
        misses = jnp.sum((self.target - self.terms @ away.T) ** 2, axis=0)
        variances = noise * self.length
        T = len(self.target)
        return -0.5 * jnp.sum(misses / variances + T * jnp.log(variances))

    def draw_equations(
        self,
        key: PRNGKeyArray,
        support: Bool[Array, "Nx M"],
        away: Float[Array, "Nx M"],
        noise: Float[Array, "Nx"],
        limits: Limits,
        odds: Float[Array, ""],
    ) -> tuple[Array, Array]:
        """New terms and coefficients, one equation after the other."""
        gram = self.terms.T @ self.terms

        def equation(carry: tuple[Array, Array, Array], inputs: tuple):
            support, away, excess = carry
            key, i = inputs
            draw_key, accept_key = jax.random.split(key)
            q = noise[i] * self.length
            linear = self.terms.T @ self.target[:, i] / q
            here, values = draw_equation(
                draw_key, gram / q, linear, support[i], limits.slab[i], odds
            )
            moved = away.at[i].set(values)
            mine = jax.tree.map(lambda each: each[i], limits)
            gain = mine.log_weight(here, values)
            gain -= mine.log_weight(support[i], away[i])
            other = self.log_density(moved, noise) - self.approximate_log_density(
                moved, noise
            )
            uniform = jax.random.uniform(accept_key, (), other.dtype)
            accepted = jnp.log(uniform) < other - excess + gain
            return (
                jnp.where(accepted, support.at[i].set(here), support),
                jnp.where(accepted, moved, away),
                jnp.where(accepted, other, excess),
            ), None

        n = len(support)
        excess = self.log_density(away, noise) - self.approximate_log_density(
            away, noise
        )
        keys = jax.random.split(key, n)
        start = support, away, excess
        (support, away, _), _ = jax.lax.scan(equation, start, (keys, jnp.arange(n)))
        return support, away

    def accept_noise(
        self,
        key: PRNGKeyArray,
        away: Float[Array, "Nx M"],
        noise: Float[Array, "Nx"],
        proposed: Float[Array, "Nx"],
    ) -> Float[Array, "Nx"]:
        """Variances that were drawn as if psi were held, or those before."""

        def excess(noise: Array) -> Array:
            return self.log_density(away, noise) - self.approximate_log_density(
                away, noise
            )

        uniform = jax.random.uniform(key, (), noise.dtype)
        ratio = excess(proposed) - excess(noise)
        return jnp.where(jnp.log(uniform) < ratio, proposed, noise)

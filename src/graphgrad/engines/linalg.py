"""Factors of small covariances, computed sequentially.

Under vmap, two independent LAPACK calls can run at the same time on the thread pool of
XLA's CPU runtime and deadlock (seen with jaxlib 0.10 on two cores). So each step of a
loop here factors one matrix once and continues with products, and a second
factorisation depends on the first.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..model.noise import definite


def root(P: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Cholesky factor of a covariance that rounding may have made semidefinite."""
    return jnp.linalg.cholesky(definite(P))


def inverse_root(S: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """L^-1 of S = L L': S^-1 is its transpose times itself."""
    L = jnp.linalg.cholesky(symmetric(S))
    return jax.scipy.linalg.solve_triangular(
        L, jnp.eye(len(S), dtype=S.dtype), lower=True
    )


def symmetric(P: Float[Array, "*T n n"]) -> Float[Array, "*T n n"]:
    """P without the asymmetry of rounding."""
    return (P + P.mT) / 2


def cubature(m: Float[Array, "Nx"]) -> Float[Array, "P Nx"]:
    """Points of equal weight with the moments of N(0, I) up to the third."""
    n = len(m)
    points = math.sqrt(n) * jnp.eye(n, dtype=m.dtype)
    return jnp.concatenate([points, -points])

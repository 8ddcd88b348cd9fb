"""Overlapping group lasso, one group of coefficients per edge of the graph."""

from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import check_at_least, check_finite, check_shape
from .base import AbstractPenalty, as_weight
from .overlap import Layout, OverlapProx, overlap_prox, project


class GroupByEdge(AbstractPenalty):
    """R(C) = sum over edges b -> a of |C[a, S_b]|: sparse in whole edges.

    S_b are the terms that depend on state b. A term of two states lies in two groups,
    so that it is nonzero only if both edges are; a term without states lies in none
    and is not penalised. `duality_gap` certifies a result of `prox`.

    Attributes:
        weight: Regularisation strength lambda, zero or positive.
        group_weights: `(Nx, Nx)` factors of the weight, entry `[a, b]` for the edge
            b -> a; `None` for 1 everywhere, independently of the number of terms.
        groups: S_b for every state b.
        n_terms: Number of terms, M.
        max_iterations: Maximum number of steps of the prox.

    Examples:
        The large product x1 x2 is dropped together with the weak edge from x2:

        >>> import graphgrad as gg, jax.numpy as jnp
        >>> gg.Polynomial(n_states=2, degree=2).names()
        ('1', 'x1', 'x2', 'x1^2', 'x1 x2', 'x2^2')
        >>> penalty = GroupByEdge(1.0, gg.degree_matrix(n_states=2, degree=2))
        >>> C = jnp.array([[0.3, 5.0, 0.1, 0.0, 0.9, 0.0], [0.0] * 6])
        >>> (penalty.prox(C, step=1.0) != 0)[0].tolist()
        [True, True, False, False, False, False]
    """

    weight: Float[Array, ""]
    group_weights: Float[Array, "Nx Nx"] | None
    groups: tuple[tuple[int, ...], ...] = eqx.field(static=True)
    n_terms: int = eqx.field(static=True)
    max_iterations: int = eqx.field(static=True)

    def __init__(
        self,
        weight: Any,
        incidence: Any,
        *,
        group_weights: Any = None,
        max_iterations: int = 2000,
    ):
        """Build the groups from a library's `incidence`."""
        remedy = "Give the `incidence` of the library: one row per state, one column "
        remedy += "per term."
        if incidence is None:
            raise ValueError(f"`incidence` must be given to group by edge. {remedy}")
        incidence = check_finite("incidence", incidence, remedy)
        if incidence.ndim != 2 or incidence.size == 0:
            raise ValueError(
                f"`incidence` must be a (Nx, M) array, got shape {incidence.shape}. "
                f"{remedy}"
            )
        self.weight = as_weight(weight)
        self.groups = tuple(tuple(np.flatnonzero(row).tolist()) for row in incidence)
        self.n_terms = incidence.shape[1]
        self.group_weights = None
        if group_weights is not None:
            self.group_weights = _checked(group_weights, len(incidence))
        self.max_iterations = check_at_least(
            "max_iterations", max_iterations, 1, "Leave it out for 2000."
        )

    @classmethod
    def of(cls, weight: Any, incidence: Any) -> "GroupByEdge":
        return cls(weight, incidence)

    def value(self, C: Float[Array, "Nx M"]) -> Float[Array, ""]:
        norms = jnp.linalg.norm(self._parts(C), axis=-1)
        return jnp.sum(self._radii(C, 1.0) * norms)

    def prox(
        self, C: Float[Array, "Nx M"], step: float | Float[Array, ""]
    ) -> Float[Array, "Nx M"]:
        return self._solve(C, self._radii(C, step)).point

    def dual(
        self, C: Float[Array, "Nx M"], step: float | Float[Array, ""]
    ) -> Float[Array, "Nx Nx M"]:
        """The dual vectors of `prox`: `[a, b]` is the one of the edge b -> a.

        It is zero outside S_b, and C minus the sum over b is `prox` up to rounding. A
        vector shorter than its radius means that the edge is zero.
        """
        duals = self._solve(C, self._radii(C, step)).dual
        out = jnp.zeros((len(C), len(self.groups), self.n_terms), C.dtype)
        b = jnp.arange(len(self.groups))[:, None]
        return out.at[:, b, self._layout.entries].set(duals, mode="drop")

    def duality_gap(
        self,
        C: Float[Array, "Nx M"],
        Z: Float[Array, "Nx M"],
        dual: Float[Array, "Nx Nx M"],
        step: float | Float[Array, ""],
    ) -> Float[Array, ""]:
        """Upper bound on the prox objective at Z minus its minimum.

        This holds for any Z and any dual: entries of the dual outside a group are
        ignored, and vectors that are too long are projected. |Z - prox|^2 is at most
        twice the gap.

        Args:
            C: The argument of the prox.
            Z: The candidate for the prox.
            dual: Dual vectors, for instance from `dual`.
            step: The step of the prox.
        """
        radii, layout = self._radii(C, step), self._layout
        b = jnp.arange(len(self.groups))[:, None]
        y = dual.at[:, b, layout.entries].get(mode="fill", fill_value=0)
        y = jax.vmap(project)(y, radii)
        rest = C - jax.vmap(layout.total)(y)
        parts = self._parts(Z)
        # The difference of the two objectives, rearranged into terms that are all
        # zero or positive, so that a small gap is not the difference of large numbers.
        slack = radii * jnp.linalg.norm(parts, axis=-1) - jnp.sum(y * parts, axis=-1)
        return jnp.sum((Z - rest) ** 2) / 2 + jnp.sum(slack)

    @property
    def _layout(self) -> Layout:
        return Layout.of(self.groups, self.n_terms)

    def _parts(self, C: Array) -> Array:
        self._check(C)
        return jax.vmap(self._layout.take)(C)

    def _radii(self, C: Array, step: float | Array) -> Array:
        """Radius of each edge: step lambda times its group weight."""
        self._check(C)
        weights = 1 if self.group_weights is None else self.group_weights
        shape = (len(C), len(self.groups))
        return jnp.broadcast_to(self.scale(C, step) * weights, shape).astype(C.dtype)

    @eqx.filter_jit
    def _solve(self, C: Array, radii: Array) -> OverlapProx:
        # Groups do not cross equations: each row is a separate problem.
        solve = partial(
            overlap_prox, layout=self._layout, max_iterations=self.max_iterations
        )
        return jax.vmap(solve)(C, radii)

    def _check(self, C: Array) -> None:
        check_shape(
            "C",
            C.shape,
            (len(self.groups), self.n_terms),
            "Build the penalty with the incidence of the library that C belongs to.",
        )


def _checked(group_weights: Any, n_states: int) -> Float[Array, "Nx Nx"]:
    remedy = "Give one factor for every edge; entry [a, b] is for b -> a."
    array = check_finite("group_weights", group_weights, remedy)
    check_shape("group_weights", array.shape, (n_states, n_states), remedy)
    if (array < 0).any():
        raise ValueError(
            f"`group_weights` must not be negative, got {array.min()}. {remedy}"
        )
    return jnp.asarray(array, dtype=float)

"""What a term costs: the criteria by which terms are chosen.

A criterion is -2 log-likelihood plus a penalty for each term that enters; the lower,
the better. A new one is a final class here, or in a file of its own, and a line in
`CRITERIA` of `registries`.
"""

from abc import abstractmethod
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from .. import registries
from ..checks import check_choice, check_positive
from ..library import AbstractLibrary


class AbstractCriterion(eqx.Module):
    """The penalty of each term."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in `CRITERIA`."""

    @abstractmethod
    def flat(self, n: Float[Array, ""], p: Int[Array, ""] | int) -> Float[Array, ""]:
        """Penalty of a term whatever its degree: the unit of regularisation paths.

        Args:
            n: Number of observed values.
            p: Number of parameters that might be nonzero.
        """

    @abstractmethod
    def penalties(
        self,
        n: Float[Array, ""],
        free: Bool[Array, "R K"],
        degrees: Int[Array | np.ndarray, "R K"],
        highest: int,
    ) -> Float[Array, "R K"]:
        """Penalty of each parameter.

        Args:
            n: Number of observed values.
            free: Which parameters might be nonzero.
            degrees: Degree of the term of each.
            highest: Highest of the degrees.
        """


class AbstractFlatCriterion(AbstractCriterion):
    """A criterion with one penalty for terms of all degrees."""

    def penalties(
        self,
        n: Float[Array, ""],
        free: Bool[Array, "R K"],
        degrees: Int[Array | np.ndarray, "R K"],  # noqa: ARG002
        highest: int,  # noqa: ARG002
    ) -> Float[Array, "R K"]:
        return jnp.broadcast_to(self.flat(n, jnp.sum(free)), free.shape)


class ExtendedBIC(AbstractFlatCriterion):
    """log n + 2 log p (Chen and Chen, Biometrika 95, 2008).

    Attributes:
        strength: Multiple of 2 log p: Chen and Chen's gamma.

    Examples:
        >>> ExtendedBIC().flat(jnp.asarray(100.0), 12).round(3).item()
        9.57...
    """

    strength: Float[Array, ""] | float = 1.0

    @property
    def name(self) -> str:
        return "ebic"

    def flat(self, n: Float[Array, ""], p: Int[Array, ""] | int) -> Float[Array, ""]:
        p = jnp.maximum(jnp.asarray(p, n.dtype), 1)  # none if all are given
        return jnp.log(n) + 2 * self.strength * jnp.log(p)


class ExtendedBICByDegree(AbstractCriterion):
    """log n + 2 log p_k + 4 k log 2 for each of the p_k terms of degree k.

    The prior behind it falls to a quarter with every degree and is flat within one: the
    few terms of low degree have a lower penalty than the many of a high one.

    Attributes:
        fall: Multiple of k log 2; 4 for a quarter.
    """

    fall: float = 4.0

    @property
    def name(self) -> str:
        return "ebic-by-degree"

    def flat(self, n: Float[Array, ""], p: Int[Array, ""] | int) -> Float[Array, ""]:
        return ExtendedBIC().flat(n, p)

    def penalties(
        self,
        n: Float[Array, ""],
        free: Bool[Array, "R K"],
        degrees: Int[Array | np.ndarray, "R K"],
        highest: int,
    ) -> Float[Array, "R K"]:
        found = jnp.zeros(degrees.shape, n.dtype)
        for k in range(highest + 1):
            of_degree = degrees == k
            p = jnp.sum(free & of_degree)
            found = jnp.where(
                of_degree, self.flat(n, p) + self.fall * k * np.log(2), found
            )
        return found


class StatedPrior(AbstractCriterion):
    """A criterion in which some terms have stated probabilities of entering.

    A term that enters an equation with probability p has the penalty
    log n + 2 log((1 - p) / p), at least zero.

    Attributes:
        criterion: The criterion of all other terms.
        chances: Probability of each term; NaN where none is stated.
    """

    criterion: AbstractCriterion
    chances: Float[Array, "M"]

    @property
    def name(self) -> str:
        return self.criterion.name

    def flat(self, n: Float[Array, ""], p: Int[Array, ""] | int) -> Float[Array, ""]:
        return self.criterion.flat(n, p)

    def penalties(
        self,
        n: Float[Array, ""],
        free: Bool[Array, "R K"],
        degrees: Int[Array | np.ndarray, "R K"],
        highest: int,
    ) -> Float[Array, "R K"]:
        others = self.criterion.penalties(n, free, degrees, highest)
        stated = jnp.log(n) + 2 * jnp.log((1 - self.chances) / self.chances)
        return jnp.where(jnp.isnan(stated), others, jnp.maximum(stated, 0))


class BIC(AbstractFlatCriterion):
    """log n (Schwarz, Ann. Stat. 6, 1978); of a large library too many terms enter."""

    @property
    def name(self) -> str:
        return "bic"

    def flat(self, n: Float[Array, ""], p: Int[Array, ""] | int) -> Float[Array, ""]:  # noqa: ARG002
        return jnp.log(n)


class AIC(AbstractFlatCriterion):
    """2 (Akaike, 1974): for predictions, where terms too many do little harm."""

    @property
    def name(self) -> str:
        return "aic"

    def flat(self, n: Float[Array, ""], p: Int[Array, ""] | int) -> Float[Array, ""]:  # noqa: ARG002
        return jnp.full_like(n, 2)


CRITERIA: MutableMapping[str, type[AbstractCriterion]] = registries.CRITERIA
"""Criteria by name. Each can be made without arguments."""


def choose_criterion(name: str) -> AbstractCriterion:
    """The criterion of a name.

    Args:
        name: One of `CRITERIA`; or `"auto"`, the extended BIC by degree.
    """
    if name == "auto":
        return ExtendedBICByDegree()
    return CRITERIA[check_choice("criterion", name, CRITERIA)]()


def with_prior(
    criterion: AbstractCriterion,
    prior: Any,
    library: AbstractLibrary,
    states: Sequence[str] | None,
) -> AbstractCriterion:
    """A criterion with the probabilities that the user states.

    Args:
        criterion: The criterion.
        prior: Probability, of entering an equation, of terms by name, or of each term
            of a degree by `"degree 3"`; what a name states goes first.
        library: The terms.
        states: Names of the variables in them.

    Examples:
        >>> from graphgrad import Polynomial
        >>> stated = {"degree 2": 0.1, "x1 x2": 0.5}
        >>> with_prior(BIC(), stated, Polynomial(2, 2), None).chances.round(3).tolist()
        [nan, nan, nan, 0.1..., 0.5, 0.1...]
    """
    if not prior:
        return criterion
    remedy = "Give the probability of a term, such as {'x1^3': 0.01, 'degree 2': 0.1}."
    if not isinstance(prior, Mapping):
        raise ValueError(f"`prior` must be a mapping, got {prior!r:.60}. {remedy}")
    names, degrees = library.names(states), term_degrees(library)
    of_degree = {f"degree {k}": degrees == k for k in np.unique(degrees).tolist()}
    chances = np.full(len(names), np.nan)
    # Degrees first, so that terms override them.
    for name in sorted(prior, key=lambda name: name not in of_degree):
        check_choice("prior", name, (*of_degree, *names))
        chance = check_positive("prior", prior[name], remedy)
        if chance >= 1:
            raise ValueError(
                f"`prior` must be probabilities below 1, got {chance:g} for {name!r}. "
                "Use `known` in `constraints` for a coefficient that is given."
            )
        chances[of_degree.get(name, np.array(names) == name)] = chance
    return StatedPrior(criterion, jnp.asarray(chances))


def observed_values(ys: Float[Array, "T Ny"]) -> Float[Array, ""]:
    """n: how many entries of the data were observed."""
    return jnp.sum(~jnp.isnan(ys)).astype(ys.dtype)


def term_degrees(library: AbstractLibrary) -> Int[np.ndarray, "M"]:
    """Degree of each term; a function of states counts as the states in it do."""
    return np.ceil(np.abs(np.asarray(library.incidence)).sum(axis=0)).astype(int)

"""What a term costs: the criteria by which terms are chosen.

A criterion is -2 log-likelihood plus a penalty for each term that enters; the lower,
the better. A new one is a final class here, or in a file of its own, and a line in
`CRITERIA` of `registries`.
"""

from abc import abstractmethod
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Num

from .. import registries
from ..checks import check_choice, check_positive
from ..library import AbstractLibrary
from ..model.constraint_resolution import identity


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
        self, n: Float[Array, ""], terms: "Terms", support: Bool[Array, "R K"]
    ) -> Float[Array, "R K"]:
        """Penalty of each parameter, beside those of a support.

        Args:
            n: Number of observed values.
            terms: The parameters.
            support: Those that are not zero.
        """

    @abstractmethod
    def row_totals(
        self, n: Float[Array, ""], terms: "Terms", support: Bool[Array, "R K"]
    ) -> Float[Array, "R"]:
        """Penalty of a support, of which each row has its share; arguments as above."""


class Terms(NamedTuple):
    """The parameters of a fit, each of which is that of a term.

    Attributes:
        free: Which parameters might be nonzero.
        own: Which parameters are those of a state in its own equation, and of degree 1.
        kinds: For each degree, which parameters are of terms of that degree.
    """

    free: Bool[Array, "R K"]
    own: Bool[Array, "R K"]
    kinds: Bool[Array, "D R K"]

    @classmethod
    def of(
        cls,
        free: Bool[Array, "R K"],
        degrees: Int[Array | np.ndarray, "R K"],
        most: int,
        own: Bool[Array | np.ndarray, "R K"] | None = None,
    ) -> "Terms":
        """The parameters with their degrees, the highest of which is `most`."""
        own = jnp.zeros(free.shape, bool) if own is None else jnp.asarray(own)
        return cls(free, own, jnp.arange(most + 1)[:, None, None] == degrees)

    def numbers(self) -> Int[Array, "D"]:
        """How many parameters of each degree but own states might be nonzero."""
        return jnp.sum(self.free & self.kinds & ~self.own, axis=(1, 2))

    def by_degree(
        self, n: Float[Array, ""], each: Float[Array, "D"]
    ) -> Float[Array, "R K"]:
        """Penalties by degree; log n for own states, which enter as likely as not."""
        others = jnp.sum(each[:, None, None] * self.kinds, axis=0)
        return jnp.where(self.own, jnp.log(n), others)


class AbstractAdditiveCriterion(AbstractCriterion):
    """A criterion whose penalty of a term is the same beside all others."""

    def row_totals(
        self, n: Float[Array, ""], terms: Terms, support: Bool[Array, "R K"]
    ) -> Float[Array, "R"]:
        return jnp.sum(jnp.where(support, self.penalties(n, terms, support), 0), axis=1)


class AbstractFlatCriterion(AbstractAdditiveCriterion):
    """A criterion with one penalty for terms of all degrees."""

    def penalties(
        self,
        n: Float[Array, ""],
        terms: Terms,
        support: Bool[Array, "R K"],  # noqa: ARG002
    ) -> Float[Array, "R K"]:
        free = terms.free
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


class ExtendedBICByDegree(AbstractAdditiveCriterion):
    """log n + 2 log p_k + 4 k log 2 for each of the p_k terms of degree k.

    The prior behind it falls to a quarter with every degree and is flat within one: the
    few terms of low degree have a lower penalty than the many of a high one. A state
    enters its own equation as likely as not: it has the penalty log n there, and is
    none of the p_k.
    """

    @property
    def name(self) -> str:
        return "ebic-by-degree"

    def flat(self, n: Float[Array, ""], p: Int[Array, ""] | int) -> Float[Array, ""]:
        return ExtendedBIC().flat(n, p)

    def penalties(
        self,
        n: Float[Array, ""],
        terms: Terms,
        support: Bool[Array, "R K"],  # noqa: ARG002
    ) -> Float[Array, "R K"]:
        each = jnp.log(n) + 2 * jnp.log(_chances_against(n, terms))
        return terms.by_degree(n, each)


class BetaBinomialBIC(AbstractCriterion):
    """BIC with a beta-binomial prior of the terms of each degree.

    Terms of a degree enter with an unknown probability, the same for all p_k of them in
    all equations, of distribution Beta(1, p_k (4^k - 1) + 1). Integrated out (Scott and
    Berger, Ann. Stat. 38, 2010), the term after m others of its degree has the penalty
    log n + 2 log((4^k p_k - m) / (m + 1)), at least log n: that of the extended BIC by
    degree for the first one, and less the more there are of its kind. A state has the
    penalty log n in its own equation, as in the extended BIC by degree, and is no
    other term of its degree.
    """

    @property
    def name(self) -> str:
        return "beta-binomial"

    def flat(self, n: Float[Array, ""], p: Int[Array, ""] | int) -> Float[Array, ""]:
        return ExtendedBIC().flat(n, p)

    def penalties(
        self, n: Float[Array, ""], terms: Terms, support: Bool[Array, "R K"]
    ) -> Float[Array, "R K"]:
        """Half way between those of one term more and of the last one."""
        number = jnp.sum(support & terms.kinds & ~terms.own, axis=(1, 2))
        return terms.by_degree(n, self._after(n, terms, jnp.maximum(number - 0.5, 0)))

    def row_totals(
        self, n: Float[Array, ""], terms: Terms, support: Bool[Array, "R K"]
    ) -> Float[Array, "R"]:
        others = support & terms.kinds & ~terms.own
        mine = others.reshape(len(terms.kinds), -1)
        before = jnp.cumsum(mine, axis=1) - mine
        each = jnp.where(mine, self._after(n, terms, before.T).T, 0)
        # Rows share alike what all terms of a degree cost: their order means nothing.
        numbers = jnp.sum(mine, axis=1)
        mean = jnp.sum(each, axis=1) / jnp.maximum(numbers, 1)
        own = jnp.sum(support & terms.own, axis=1)
        return jnp.sum(others, axis=2).T @ mean + jnp.log(n) * own

    def _after(
        self, n: Float[Array, ""], terms: Terms, before: Num[Array, "*L D"]
    ) -> Float[Array, "*L D"]:
        """Penalty of a term of each degree after others of it."""
        # The constant of one equation tells nothing of that of another.
        before = before * (jnp.arange(len(terms.kinds)) > 0)
        against = (_chances_against(n, terms) - before) / (before + 1)
        return jnp.log(n) + 2 * jnp.log(jnp.maximum(against, 1))


def _chances_against(n: Float[Array, ""], terms: Terms) -> Float[Array, "D"]:
    """4^k p_k: of a prior that is flat within a degree and falls from each to the next.

    To a quarter with every degree.
    """
    p = jnp.maximum(terms.numbers().astype(n.dtype), 1)  # none if all are given
    return p * 4.0 ** jnp.arange(len(p), dtype=n.dtype)


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
        self, n: Float[Array, ""], terms: Terms, support: Bool[Array, "R K"]
    ) -> Float[Array, "R K"]:
        others = self.criterion.penalties(n, terms, support)
        return jnp.where(self._is_stated, self._stated(n), others)

    def row_totals(
        self, n: Float[Array, ""], terms: Terms, support: Bool[Array, "R K"]
    ) -> Float[Array, "R"]:
        others = self.criterion.row_totals(n, terms, support & ~self._is_stated)
        stated = jnp.where(support & self._is_stated, self._stated(n), 0)
        return others + jnp.sum(stated, axis=1)

    @property
    def _is_stated(self) -> Bool[Array, "M"]:
        return ~jnp.isnan(self.chances)

    def _stated(self, n: Float[Array, ""]) -> Float[Array, "M"]:
        against = (1 - self.chances) / self.chances
        return jnp.maximum(jnp.log(n) + 2 * jnp.log(against), 0)


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


def choose_criterion(name: str, dynamics: str = "map") -> AbstractCriterion:
    """The criterion of a name.

    Args:
        name: One of `CRITERIA`; or `"auto"`, the BIC with a beta-binomial prior for
            flows, and the extended BIC by degree for other dynamics.
        dynamics: Of the model.
    """
    if name == "auto":
        return BetaBinomialBIC() if dynamics == "flow" else ExtendedBICByDegree()
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


def own_states(library: AbstractLibrary, n: int) -> Bool[np.ndarray, "n M"]:
    """Where each of the first n states is in its own equation, as a term of degree 1.

    Examples:
        >>> from graphgrad import Polynomial
        >>> own_states(Polynomial(2, 1), 2).astype(int).tolist()
        [[0, 1, 0], [0, 0, 1]]
    """
    return identity(library)[:n] != 0

"""How the terms of a fit were found, and whether the search is certified."""

from enum import IntEnum
from typing import NamedTuple


class Stage(IntEnum):
    """A part of the search for terms.

    Examples:
        >>> Stage.recombination.words
        'recombined starts'
    """

    unknown = 0
    annealing = 1
    exchange = 2
    recombination = 3
    random_start = 4
    known_noise = 5
    less_noise = 6
    alternative = 7
    earlier_fit = 8
    regression = 9

    @property
    def words(self) -> str:
        """Where terms came from."""
        return _STAGES[self]


_STAGES = {
    Stage.unknown: "a stage that is not known",
    Stage.annealing: "annealing",
    Stage.exchange: "exchange of terms after annealing",
    Stage.recombination: "recombined starts",
    Stage.random_start: "a random start",
    Stage.known_noise: "exchange of terms with the process noise known",
    Stage.less_noise: "exchange of terms with less process noise",
    Stage.alternative: "an alternative that was better",
    Stage.earlier_fit: "the fit from which the search went on",
    Stage.regression: "beam search on smoothed states",
}


class SearchRecord(NamedTuple):
    """How the best choice of terms was found, and whether the search is certified.

    Attributes:
        stage: The first stage that came to it.
        start: The number, from zero, of the start that did.
        certified: For each equation, or all of them if coefficients are tied, whether
            it is certain that no other choice of its terms has a lower criterion on the
            quadratic model of the likelihood at its maximum, where all other equations
            adapt.
    """

    stage: Stage
    start: int
    certified: tuple[bool, ...]

    @property
    def words(self) -> str:
        """The record as a sentence.

        Examples:
            >>> SearchRecord(Stage.annealing, 0, (False, False)).words
            'Terms found by annealing; not certified.'
        """
        number, proven = len(self.certified), sum(self.certified)
        certificate = "not certified"
        if proven == number:
            certificate = (
                "certified: no other choice of terms of one equation has a lower "
                "criterion on the quadratic model of the likelihood"
            )
        elif proven:
            certificate = f"certified for {proven} of {number} equations"
        return f"Terms found by {self.stage.words}; {certificate}."

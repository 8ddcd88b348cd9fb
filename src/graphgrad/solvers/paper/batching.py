"""Which stretches of the series are learnt from, one after the other: Sec. III-F."""

from abc import abstractmethod
from math import ceil

import equinox as eqx

from ...checks import check_at_least


class AbstractBatching(eqx.Module):
    """A rule that gives the lengths of telescoping batches y_1:n."""

    @abstractmethod
    def lengths(self, n_steps: int) -> tuple[int, ...]:
        """Increasing lengths, the last of which is `n_steps`."""


class Telescoping(AbstractBatching):
    """B = ceil(T / increment) batches of lengths ceil(b T / B): Alg. 5, line 6.

    The cost grows with the square of T.

    Examples:
        >>> Telescoping(increment=10).lengths(25)
        (9, 17, 25)
    """

    increment: int = eqx.field(static=True)

    def __init__(self, increment: int = 10):
        self.increment = check_at_least("increment", increment, 1, "The paper's is 10.")

    def lengths(self, n_steps: int) -> tuple[int, ...]:
        return FixedNumber(ceil(n_steps / self.increment)).lengths(n_steps)


class FixedNumber(AbstractBatching):
    """A fixed number of telescoping batches: the cost is linear in T.

    Examples:
        >>> FixedNumber(4).lengths(200)
        (50, 100, 150, 200)
    """

    number: int = eqx.field(static=True)

    def __init__(self, number: int):
        self.number = check_at_least("number", number, 1, "1 is the whole series.")

    def lengths(self, n_steps: int) -> tuple[int, ...]:
        number = min(self.number, n_steps)
        return tuple(ceil(b * n_steps / number) for b in range(1, number + 1))


class FirstThenAll(AbstractBatching):
    """A first short batch, then the whole series (Sec. III-F, on Lorenz 63).

    Examples:
        >>> FirstThenAll(10).lengths(1000)
        (10, 1000)
    """

    first: int = eqx.field(static=True)

    def __init__(self, first: int = 10):
        self.first = check_at_least("first", first, 1, "The paper's is 10.")

    def lengths(self, n_steps: int) -> tuple[int, ...]:
        return (self.first, n_steps) if self.first < n_steps else (n_steps,)


def padded_lengths(lengths: tuple[int, ...], most: int = 5) -> tuple[int, ...]:
    """Round lengths up to at most a few, each of which costs one compilation.

    Examples:
        >>> padded_lengths((10, 20, 30, 40, 50, 60, 70, 80, 90, 100))
        (20, 20, 40, 40, 60, 60, 80, 80, 100, 100)
    """
    if len(set(lengths)) <= most:
        return lengths
    whole = lengths[-1]
    rungs = [ceil(i * whole / most) for i in range(1, most + 1)]
    return tuple(min(rung for rung in rungs if rung >= n) for n in lengths)

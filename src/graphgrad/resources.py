"""Memory and numbers of terms, counted before anything is allocated."""

import os
from functools import cache
from math import comb, lgamma, log
from pathlib import Path

MOST_TERMS = 100_000
"""Most candidate terms of an equation: beyond, no fit ends."""

HUGE = 10**18
"""A number of states or a degree that is not distinguished from larger ones."""

GROUP_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Files in which Linux has the limit of a container."""

BASE = 600_000_000
"""Bytes of a process that fits something small."""

PER_COVARIANCE = 230
"""Bytes of a fit per row and squared number of states, as measured."""

PER_DRAW = 24.0
"""Bytes of a forecast per step, member and state: its states and observations."""

PER_PAIR = 32
"""Bytes of a fit per pair of terms: their products, and what solves for them."""


def count_monomials(n_states: int, degree: int) -> int:
    """Number of monomials up to a degree, or an error if they are too many.

    Examples:
        >>> count_monomials(3, 2)
        10
        >>> count_monomials(3, 10**6)
        Traceback (most recent call last):
        ...
        ValueError: `degree` must give at most 100000 terms, got degree 1000000 of 3
        states and inputs: 1.7e+17 terms. Most systems are of degree 2; leave out states
        that do not matter.
    """
    # By logarithms first: the number itself may have a million digits.
    n, d = min(n_states, HUGE), min(degree, HUGE)
    size = lgamma(n + d + 1) - lgamma(n + 1) - lgamma(d + 1)
    if size > log(MOST_TERMS) + 1e-3 or comb(n + d, d) > MOST_TERMS:
        number = f"{comb(n + d, d):.2g}" if size < 600 else f"1e{size / log(10):.0f}"
        raise ValueError(
            f"`degree` must give at most {MOST_TERMS} terms, got degree {degree!s:.30} "
            f"of {n_states!s:.30} states and inputs: {number} terms. Most systems are "
            "of degree 2; leave out states that do not matter."
        )
    return comb(n + d, d)


def fit_bytes(rows: float, n_states: int, n_terms: int = 0) -> float:
    """Approximate peak memory of a fit, in bytes."""
    return BASE + PER_COVARIANCE * rows * n_states**2 + PER_PAIR * float(n_terms) ** 2


def check_fit_memory(rows: float, n_states: int, n_terms: int) -> None:
    """Raise if a fit needs more memory than there is.

    Args:
        rows: Number of rows, or of steps if intervals are divided.
        n_states: Number of states.
        n_terms: Number of candidate terms.
    """
    check_memory(
        "y",
        fit_bytes(rows, n_states, n_terms),
        f"{rows:.6g} rows or steps of {n_states} states, with {n_terms} terms each",
        "Give fewer rows or states, or a lower `degree` if it is above 1.",
    )


def check_draws(steps: object, members: object, n_states: int) -> None:
    """Raise if draws of states need more memory than there is."""
    if isinstance(steps, int) and isinstance(members, int):
        check_memory(
            "steps",
            PER_DRAW * steps * members * n_states,
            f"{steps} steps of {members} members of {n_states} states",
            "Give fewer steps or members.",
        )


def check_memory(name: str, needed: float, got: str, remedy: str) -> None:
    """Raise if something needs more memory than the machine has.

    Args:
        name: The argument whose size decides.
        needed: Bytes that are needed.
        got: The sizes, in words.
        remedy: What to do.
    """
    limit = memory_limit()
    if limit is not None and needed > limit:
        raise ValueError(
            f"`{name}` must fit into memory, {limit / 1e9:.1f} GB, got {got}, which "
            f"needs about {needed / 1e9:.3g} GB. {remedy}"
        )


@cache
def memory_limit() -> int | None:
    """Bytes of memory of the machine or its container; None if that is not known."""
    found = []
    try:
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not on Windows
        return None
    for path in GROUP_LIMITS:
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):  # "max" is none
            continue
    return min(number for number in found if number > 0)

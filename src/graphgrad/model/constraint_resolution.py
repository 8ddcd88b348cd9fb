"""From constraints as users state them to arrays, checked for contradictions."""

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float

from ..checks import check_choice
from ..library import AbstractLibrary, centred, origin_of
from ..library.degrees import default_states
from .constraint_set import ConstraintSet, Matrix, Place, StatedConstraints
from .constraints import (
    Conserve,
    Constraint,
    Delayed,
    Equal,
    Symmetric,
    Velocity,
    check_constraint_list,
)
from .linear_constraints import conserved_groups, share_among_equals, tied
from .symmetry import orbits

MOST_TIED = 640
"""Most coefficients of a model in which some are tied; equal ones count as one."""


def identity(
    library: AbstractLibrary, states: Sequence[str] | None = None
) -> Float[np.ndarray, "Nx M"]:
    """C of the map that leaves states as they are, as far as the library has them."""
    states = default_states(library.n_states) if states is None else states
    names = library.names(states)
    still = np.zeros((len(states), library.n_terms))
    for i, name in enumerate(states):
        if name in names:
            still[i, names.index(name)] = 1
    return still


def resolve_constraints(
    constraints: Iterable[Constraint],
    library: AbstractLibrary,
    states: Sequence[str] | None = None,
    *,
    n_inputs: int = 0,
    dynamics: str = "map",
) -> ConstraintSet:
    """All constraints together, checked for contradictions.

    Args:
        constraints: Made by `known`, `forbid`, `sign`, `only_edges`, `bounds`,
            `conserve`, `equal`, `cyclic`, `exchangeable` and `velocity`.
        library: The terms.
        states: Names of the states and then the inputs; x1, x2, ... and u1, u2, ... if
            not given.
        n_inputs: Number of the library's variables, the last ones, that are inputs.
        dynamics: `"map"`, `"difference"` or `"flow"`: what the coefficients are of.

    Examples:
        >>> import graphgrad as gg
        >>> known = gg.known("x2", "x1", 0.5)
        >>> found = resolve_constraints([known], gg.Polynomial(2, 1))
        >>> found.base.tolist(), found.free.tolist()
        ([[0.0, 0.0, 0.0], [0.0, 0.5, 0.0]], [[True, True, True], [True, False, True]])
    """
    n = library.n_states - n_inputs
    if states is None:
        inputs = (f"u{i + 1}" for i in range(n_inputs))
        states = (*default_states(n), *inputs)
    origin = np.asarray(origin_of(library))
    library = centred(library)
    stated = StatedConstraints(library, tuple(states), n, origin)
    constraints = check_constraint_list(constraints)
    for constraint in constraints:
        if isinstance(constraint, Delayed):
            stated.delay(constraint, dynamics)
    for constraint in constraints:
        if isinstance(constraint, Velocity) and dynamics != "flow":
            raise ValueError(
                f"`velocity` must be absent for `dynamics={dynamics!r}`, got "
                f"{constraint.velocity!r}. Use `dynamics='flow'`, with `dt` or times."
            )
        if not isinstance(constraint, Conserve | Equal | Symmetric | Delayed):
            stated.take(constraint)
    groups = conserved_groups(
        [c for c in constraints if isinstance(c, Conserve)], stated
    )
    zero, still = _zero(stated, groups, dynamics)
    # The known equation of a state a step before counts as no terms.
    zero = np.where(stated.sources[:, None] >= 0, stated.values, zero)
    same = []
    for constraint in constraints:
        if isinstance(constraint, Equal):
            same.append([stated.place(*place) for place in constraint.places])
        elif isinstance(constraint, Symmetric):
            same += _symmetric_places(constraint, stated)
    share_among_equals(same, stated, zero, groups)
    untied = _untied(stated, zero, still)
    if not groups and not same:
        return untied
    different = zero.size - sum(len(places) - 1 for places in same)
    if different > MOST_TIED:
        raise ValueError(
            "`constraints` must tie no coefficients of a model with more than "
            f"{MOST_TIED} different ones, got {different}. Take a lower degree, or "
            "leave out `conserve` and `equal`."
        )
    return tied(stated, same, groups, untied)


def _symmetric_places(
    symmetry: Symmetric, stated: StatedConstraints
) -> list[list[Place]]:
    """Coefficients that a symmetry makes equal."""
    for name in (name for unit in symmetry.units for name in unit):
        check_choice(symmetry.pattern, name, stated.targets)
    found = orbits(symmetry, stated.library, stated.states, len(stated.targets))
    if found is None:
        raise ValueError(
            f"`{symmetry.pattern}` must permute terms of the library, got one without "
            "some of the permuted terms. Take a library with the same terms of all "
            "units."
        )
    found = found.copy()
    for place in symmetry.apart:
        found[stated.place(*place)] = -1
    groups: dict[int, list[Place]] = {}
    for place, number in np.ndenumerate(found):
        groups.setdefault(int(number), []).append((place[0], place[1]))
    groups.pop(-1, None)
    return [places for places in groups.values() if len(places) > 1]


def _zero(
    stated: StatedConstraints, groups: list[list[int]], dynamics: str
) -> tuple[Matrix, Matrix]:
    """Coefficients that count as zero, and those that leave states as they are."""
    n = len(stated.targets)
    if dynamics != "map":
        nothing = np.zeros((n, stated.library.n_terms))
        return nothing, nothing
    still = identity(stated.library, stated.states)[:n]
    # About another origin, states that are there stay there.
    there = np.zeros_like(still)
    there[:, ~np.any(stated.library.incidence, axis=0)] = stated.origin[:n, None]
    still = still + there
    change = np.array([any(i in g for g in groups) for i in range(n)])
    missing = np.flatnonzero(change & (still.sum(axis=1) == 0))
    if len(missing):
        raise ValueError(
            "`conserve` must be absent for a map whose library lacks the term "
            f"{stated.states[missing[0]]!r}. Add the states to the library."
        )
    return np.where(change[:, None], still, there), still


def _untied(stated: StatedConstraints, zero: Matrix, still: Matrix) -> ConstraintSet:
    """What is known, as if no coefficients were tied; contradictions are named."""
    given = ~np.isnan(stated.values)
    values = np.where(given, stated.values, zero)
    low = np.maximum(stated.low, np.where(stated.signs > 0, zero, -np.inf))
    high = np.minimum(stated.high, np.where(stated.signs < 0, zero, np.inf))
    free = stated.allowed & ~given
    must = ~stated.allowed & ~given & ((low > zero) | (high < zero))
    for what, where, remedy in (
        (
            "a known coefficient, which `only_edges` rules out,",
            (values != 0) & given & ~stated.allowed,
            "Add the edge.",
        ),
        (
            "a known coefficient and another sign",
            (values - zero) * stated.signs < 0,
            "Keep one of them.",
        ),
        (
            "a known coefficient outside its bounds",
            given & ((values < stated.low) | (values > stated.high)),
            "Keep one of them.",
        ),
        ("bounds and signs that leave nothing", low > high, "Change one of them."),
        ("bounds without zero, which `only_edges` rules out,", must, "Add the edge."),
    ):
        if where.any():
            stated.disagree(what, np.argwhere(where)[0].tolist(), remedy)
    base = np.where(free, np.clip(zero, low, high), values)
    return ConstraintSet(
        base,
        zero,
        free,
        low=np.where(free, low - base, 0),
        high=np.where(free, high - base, 0),
        identity=np.where(free, np.clip(still, low, high) - base, 0),
        linear_map=None,
        sources=stated.sources,
    )

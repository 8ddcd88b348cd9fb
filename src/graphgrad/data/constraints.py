"""Constraints from text such as `known(x2, x1, 0.5)`, and velocities among them."""

from collections.abc import Callable, Sequence
from typing import Any

from ..checks import check_choice

EXAMPLES = {
    "known": "known(x2, x1, 0.56)",
    "forbid": "forbid(x1, x3)",
    "sign": "sign(x1, x1 x2, -)",
    "bounds": "bounds(x1, x1, 0, 1)",
    "conserve": "conserve(S, I, R)",
    "only_edges": "only_edges(x1 > x2, x2 > x1)",
    "equal": "equal(x1: x2, x2: x1)",
    "cyclic": "cyclic(x1, x2, x3)",
    "exchangeable": "exchangeable(v1: w1, v2: w2)",
    "velocity": "velocity(x, v)",
}
"""Kinds of constraints, with an example of each."""


def check_constraints(_: str, texts: Any) -> list[str]:
    """Check that each text is a constraint."""
    if not (isinstance(texts, list) and all(isinstance(t, str) for t in texts)):
        raise ValueError(
            f"`constraints` must be a list of texts, got {texts!r}. For instance "
            f"{list(EXAMPLES.values())[:2]}."
        )
    read_constraints(texts)
    return texts


def read_constraints(texts: Sequence[str]) -> list[Any]:
    """Parse constraints.

    Examples:
        >>> read_constraints(["known(x2, x1 x3, -0.02)"])
        [Known(target='x2', term='x1 x3', value=-0.02)]
    """
    return [_read(text) for text in texts]


def velocities(constraints: Sequence[Any]) -> list[Any]:
    """The constraints that make one state the velocity of another.

    Examples:
        >>> velocities(read_constraints(["velocity(x, v)", "forbid(v, 1)"]))
        [Velocity(position='x', velocity='v')]
    """
    from ..model.constraints import Velocity

    return [each for each in constraints if isinstance(each, Velocity)]


def with_velocities(states: Sequence[str], constraints: Sequence[Any]) -> list[str]:
    """States with the velocities added, which are states whether observed or not.

    Examples:
        >>> with_velocities(["x"], read_constraints(["velocity(x, v)"]))
        ['x', 'v']
    """
    if not constraints:
        return list(states)
    named = [each.velocity for each in velocities(constraints)]
    return [*states, *(name for name in named if name not in states)]


def _split(text: str) -> tuple[str, list[str]]:
    """Kind and arguments."""
    kind, opened, rest = text.strip().partition("(")
    check_choice("--constraint", kind.strip(), EXAMPLES)
    if not (opened and rest.endswith(")")):
        raise ValueError(_fault(kind, text, "the parentheses do not match"))
    return kind.strip(), [part.strip() for part in rest[:-1].split(",")]


def _read(text: str) -> Any:
    from .. import model

    kind, parts = _split(text)
    make: Callable[..., Any] = getattr(model, kind)
    if kind == "only_edges":
        return make([_pair(kind, text, part, ">") for part in parts])
    if kind == "equal":
        return make(*(_pair(kind, text, part, ":") for part in parts))
    if kind in ("cyclic", "exchangeable"):
        return make(*([name.strip() for name in part.split(":")] for part in parts))
    numbers = {"known": 1, "bounds": 2}.get(kind, 0)
    names = len(parts) - numbers
    counts = {"forbid": 2, "sign": 3, "known": 2, "bounds": 2, "velocity": 2}
    wanted = counts.get(kind, names)
    if names != wanted:
        raise ValueError(_fault(kind, text, f"it has {len(parts)} parts"))
    return make(*parts[:names], *(_number(kind, text, p) for p in parts[names:]))


def _pair(kind: str, text: str, part: str, mark: str) -> tuple[str, str]:
    first, found, last = (piece.strip() for piece in part.partition(mark))
    if not (first and found and last):
        raise ValueError(_fault(kind, text, f"{part!r} has no {mark}"))
    return first, last


def _number(kind: str, text: str, part: str) -> float:
    try:
        return float(part)
    except ValueError:
        raise ValueError(_fault(kind, text, f"{part!r} is not a number")) from None


def _fault(kind: str, text: str, reason: str) -> str:
    return (
        f"`--constraint` must be like {EXAMPLES[kind.strip()]}, got {text!r}: {reason}."
    )

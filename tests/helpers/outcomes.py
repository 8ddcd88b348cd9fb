"""Outcomes of hostile calls: an answer or a clear error; anything else is a fault."""

from collections import Counter
from collections.abc import Callable

CLEAR = (ValueError, FileNotFoundError)
"""Errors that a user can act on."""

Tally = Counter[str]


def tally(found: Tally, what: str, call: Callable[[], object]) -> None:
    """Count how a call ends: `answer`, `error`, or `fault: ...` with the reason."""
    try:
        call()
    except Exception as error:
        text = str(error)
        if type(error) in CLEAR and " must " in text:
            found["error"] += 1
        else:
            found[f"fault: {what}: {type(error).__name__}: {text[:160]}"] += 1
    else:
        found["answer"] += 1


def faults(found: Tally) -> list[str]:
    """What was neither an answer nor a clear error."""
    return [what for what in found if what.startswith("fault")]

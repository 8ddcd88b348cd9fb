"""Outcomes of hostile calls: an answer or a clear error; anything else is a fault."""

from collections import Counter
from collections.abc import Callable

CLEAR = (ValueError, FileNotFoundError)
"""Errors that a user can act on."""

Tally = Counter[str]


def label(*parts: object) -> str:
    """Inputs in a few words, as far as they can be shown."""
    words = []
    for part in parts:
        try:
            words.append(" ".join(f"{part!r:.90}".split()))
        except BaseException as error:
            words.append(f"{type(part).__name__}, not shown: {type(error).__name__}")
    return "; ".join(words)


def tally(found: Tally, what: str, call: Callable[[], object]) -> None:
    """Count how a call ends: `answer`, `error`, or `fault: ...` with the reason."""
    try:
        call()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # panics of Rust are no `Exception`
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

"""Old public names, which lead to the new ones for one version and say so."""

import warnings


def renamed(old: str, new: str, *, until: str) -> None:
    """Warn that a name has another one now; Python says it once for each place.

    Args:
        old: The old name.
        new: The new one.
        until: The version that no longer has the old one.
    """
    # Three levels up: this function, what has the old name, and who called that.
    warnings.warn(
        f"`{old}` is now `{new}`. The old name is gone from graphgrad {until} on.",
        FutureWarning,
        stacklevel=3,
    )

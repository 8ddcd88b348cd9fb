"""Deprecation of public names: old names work for one version, with a warning."""

import warnings


def renamed(old: str, new: str, *, until: str) -> None:
    """Warn that a name was changed; Python shows it once per call site.

    Args:
        old: The old name.
        new: The new one.
        until: The version that removes the old name.
    """
    # Three levels up: this function, the deprecated name, and its caller.
    warnings.warn(
        f"`{old}` is now `{new}`. The old name will be removed in graphgrad {until}.",
        FutureWarning,
        stacklevel=3,
    )

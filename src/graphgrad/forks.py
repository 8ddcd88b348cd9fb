"""Processes that were forked after JAX had started threads, which they do not have.

The first computation of such a process would wait forever for one of these threads.
"""

import os
import sys

_FORKED: list[int] = []


def check_not_forked() -> None:
    """Raise in a process that was forked after JAX had started."""
    if os.getpid() in _FORKED:
        raise RuntimeError(
            "A fit must run in a process of its own start, got one that was forked "
            "after JAX had started its threads, and would wait for them forever. Use "
            "`multiprocessing.get_context('spawn')` or joblib's default backend, or "
            "fork before the first computation."
        )


def _note_fork() -> None:
    bridge = sys.modules.get("jax._src.xla_bridge")
    started = getattr(bridge, "backends_are_initialized", lambda: bridge is not None)
    if started():
        _FORKED.append(os.getpid())


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(after_in_child=_note_fork)

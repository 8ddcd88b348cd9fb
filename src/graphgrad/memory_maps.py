"""Room for compiled programs: a process may have a limited number of memory maps.

Each program that XLA compiles for the CPU takes dozens of maps, of which Linux allows
65530 by default. A loop of some 25 fits, each with other shapes, would end with "LLVM
compilation error: Cannot allocate memory". So before more are compiled than half of the
limit holds, programs are forgotten; on disk they are kept.
"""

import gc
from collections.abc import Callable
from functools import cache
from pathlib import Path

import jax

SHARE = 0.5
"""Share of the maps that a process may have up to which programs are held."""

_MAPS = Path("/proc/self/maps")
_LIMIT = Path("/proc/sys/vm/max_map_count")


def make_room(forget: Callable[[], None]) -> None:
    """Forget programs if this process has many memory maps.

    Args:
        forget: Forgets those of this package; those that JAX holds are forgotten if
            that is not enough.
    """
    most = SHARE * most_maps()
    for drop in (forget, jax.clear_caches):
        if maps_in_use() <= most:
            return
        drop()
        gc.collect()


def maps_in_use() -> int:
    """Number of memory maps of this process; 0 where that is not known."""
    try:
        return _MAPS.read_bytes().count(b"\n")
    except OSError:  # not Linux
        return 0


@cache
def most_maps() -> float:
    """Number of memory maps that a process may have; infinite if not known."""
    try:
        return float(_LIMIT.read_text())
    except (OSError, ValueError):
        return float("inf")

"""Settings for every test: reproducible examples, no deadlines under JIT."""

import os
from pathlib import Path

import jax
import pytest
from hypothesis import settings

from helpers import CACHE

settings.register_profile("graphgrad", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("graphgrad")

# Processes that tests start write nothing to the user's cache folder.
os.environ["GRAPHGRAD_CACHE"] = "off"
jax.config.update("jax_compilation_cache_dir", str(CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)

MOST_MAPS = 20_000
"""Memory maps of a process above which compiled programs are let go.

Each program holds some; Linux ends a process that wants more than 65 530.
"""


@pytest.fixture(autouse=True)
def few_maps():
    """No worker holds so many compiled programs that the next one ends it."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > MOST_MAPS:
        jax.clear_caches()


@pytest.fixture
def x64():
    """Double precision inside one test, without touching the global setting."""
    with jax.enable_x64(True):
        yield

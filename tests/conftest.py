"""Settings for every test: reproducible examples, no deadlines under JIT."""

import gc
import os
from pathlib import Path
from typing import Any

import jax
import pytest
from hypothesis import settings
from jax.experimental.compilation_cache.compilation_cache import reset_cache

from helpers import CACHE

settings.register_profile("graphgrad", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("graphgrad")

# Tracing makes many objects, of which few are garbage: look for it less often.
gc.set_threshold(100_000, 20, 20)

# Processes that tests start write nothing to the user's cache folder.
os.environ["GRAPHGRAD_CACHE"] = "off"
jax.config.update("jax_compilation_cache_dir", str(CACHE))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)

SETTINGS: Any = jax.config
TRACE = "/jax/core/compile/jaxpr_trace_duration"

MANY_MAPS, MOST_MAPS = 20_000, 40_000
"""Memory maps of a process above which compiled programs are let go: between modules,
and between tests of one, which share programs.

Each program holds some; Linux ends a process that wants more than 65 530.
"""


def _let_go(most: int) -> None:
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > most:
        jax.clear_caches()


@pytest.fixture(autouse=True, scope="module")
def few_maps_of_a_module():
    """No module begins with many programs that others have compiled."""
    yield
    _let_go(MANY_MAPS)


@pytest.fixture(autouse=True)
def few_maps():
    """No worker holds so many compiled programs that the next one ends it."""
    yield
    _let_go(MOST_MAPS)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of programs, and JAX without the cache of the other tests."""
    from graphgrad import compilation_cache

    folder = tmp_path / "programs"
    monkeypatch.setenv("GRAPHGRAD_CACHE", str(folder))
    used = SETTINGS.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    reset_cache()
    compilation_cache._programs.cache_clear()
    yield folder
    compilation_cache._programs.cache_clear()
    jax.config.update("jax_compilation_cache_dir", used)
    reset_cache()


@pytest.fixture
def traced():
    """Names of the functions that were traced."""
    names = []

    def listen(event: str, duration_secs: float, **kwargs: Any) -> None:
        if event == TRACE:
            names.append(kwargs["fun_name"])

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    jax.monitoring.unregister_event_duration_listener(listen)


@pytest.fixture
def x64():
    """Double precision inside one test, without touching the global setting."""
    with jax.enable_x64(True):
        yield

"""JIT compilation that avoids a deadlock of XLA's CPU runtime."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jaxlib.version
from jax.core import Tracer

from .compilation_cache import stored_programs
from .package_state import remember_modules
from .ready_programs import ReadyPrograms

P = ParamSpec("P")
T = TypeVar("T")


OPTIONS = {
    "xla_cpu_multi_thread_eigen": False,
    # The older emitters compile in 60 % of the time; programs run as fast.
    "xla_cpu_use_fusion_emitters": False,
}
"""Options of the outermost compilation."""


ONCE = OPTIONS | {"xla_backend_optimization_level": 0}
"""The same for programs that take longer to compile than to run."""


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Like `equinox.filter_jit`, with matrix products on one CPU thread.

    Batched matrix products and factorisations in one program can deadlock on the thread
    pool of XLA's CPU runtime (seen with jaxlib 0.10 on two cores). The option applies
    to the outermost compilation only, so inside another one it is not set. Programs are
    kept for the next process: see `compilation_cache` and `ready_programs`.
    """
    return _compiled(function, OPTIONS)


def compiled_once(function: Callable[P, T]) -> Callable[P, T]:
    """Like `compiled`, for a program that runs once a fit: compiled without effort."""
    return _compiled(function, ONCE)


@cache
def _accepted(name: str, value: Any) -> bool:
    """Whether XLA knows an option; version 0.10, with which it was tried, does."""
    if jaxlib.version.__version__.startswith("0.10."):
        return True
    try:
        jax.jit(lambda x: x + 1, compiler_options={name: value})(0.0)
    except jax.errors.JaxRuntimeError:
        return False
    return True


def _compiled(function: Callable[P, T], wanted: dict[str, Any]) -> Callable[P, T]:
    @cache
    def programs_of() -> tuple[Callable[P, T], ReadyPrograms]:
        options = {
            name: value for name, value in wanted.items() if _accepted(name, value)
        }
        outermost = eqx.filter_jit(
            function,
            compiler_options=options,  # pyright: ignore
        )
        return outermost, ReadyPrograms(function, options)

    inner = eqx.filter_jit(function)
    remember_modules()

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with stored_programs() as programs:
            # A new array is a tracer if a compilation is in progress.
            leaves = [jnp.zeros(()), *jax.tree.leaves((args, kwargs))]
            if any(isinstance(leaf, Tracer) for leaf in leaves):
                return inner(*args, **kwargs)
            outermost, ready = programs_of()
            found = None if programs is None else ready.find(programs, (args, kwargs))
            return outermost(*args, **kwargs) if found is None else found()

    return call

"""JIT compilation that avoids a deadlock of XLA's CPU runtime."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer

from .compilation_cache import stored_programs

P = ParamSpec("P")
T = TypeVar("T")


OPTIONS = {
    "xla_cpu_multi_thread_eigen": False,
    # The older emitters compile in 60 % of the time; programs run as fast.
    "xla_cpu_use_fusion_emitters": False,
}
"""Options of the outermost compilation."""


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Like `equinox.filter_jit`, with matrix products on one CPU thread.

    Batched matrix products and factorisations in one program can deadlock on the thread
    pool of XLA's CPU runtime (seen with jaxlib 0.10 on two cores). The option applies
    to the outermost compilation only, so inside another one it is not set. Programs are
    kept for the next process: see `compilation_cache`.
    """
    outermost = eqx.filter_jit(
        function,
        compiler_options=OPTIONS,  # pyright: ignore
    )
    inner = eqx.filter_jit(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with stored_programs():
            # A new array is a tracer if a compilation is in progress.
            leaves = [jnp.zeros(()), *jax.tree.leaves((args, kwargs))]
            inside = any(isinstance(leaf, Tracer) for leaf in leaves)
            return (inner if inside else outermost)(*args, **kwargs)

    return call

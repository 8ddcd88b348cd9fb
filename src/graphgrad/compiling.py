"""Compilation for functions that must not hang."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """As `equinox.filter_jit`, with matrix products on one thread of a CPU.

    Batched matrix products and factorisations in one program can wait for each other
    for ever on the thread pool of XLA's CPU runtime (seen with jaxlib 0.10 on two
    cores). The setting belongs to the outermost compilation, so inside one it is left
    to the caller.
    """
    outermost = eqx.filter_jit(
        function,
        compiler_options={"xla_cpu_multi_thread_eigen": False},  # pyright: ignore
    )
    inner = eqx.filter_jit(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        # A fresh array is a tracer where a compilation is under way.
        leaves = [jnp.zeros(()), *jax.tree.leaves((args, kwargs))]
        inside = any(isinstance(leaf, Tracer) for leaf in leaves)
        return (inner if inside else outermost)(*args, **kwargs)

    return call

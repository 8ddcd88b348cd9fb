"""Methods that compute in double precision, whatever JAX is set to."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import jax

from ..compilation_cache import stored_programs
from ..forks import check_not_forked

P = ParamSpec("P")
T = TypeVar("T")
Self = TypeVar("Self")


def in_double(
    method: Callable[Concatenate[Self, P], T],
) -> Callable[Concatenate[Self, P], T]:
    """Run a method in double precision without changing the caller's JAX setting.

    Its programs are kept for the next process, also those of single operations.
    """

    @wraps(method)
    def call(self: Self, *args: P.args, **kwargs: P.kwargs) -> T:
        check_not_forked()
        with jax.enable_x64(True), stored_programs():
            return method(self, *args, **kwargs)

    return call

"""Factorisations on one thread while a fit runs.

XLA calls the LAPACK of SciPy, whose threads wait for work by spinning. Matrices of a
fit are small: on two busy cores, a factorisation of a matrix with 180 rows took 260 ms
on two threads and 0.4 ms on one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def one_lapack_thread() -> Iterator[None]:
    """Use one thread for linear algebra inside, and restore the number after."""
    with _libraries().limit(limits=1):
        yield

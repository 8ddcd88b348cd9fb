"""What all that a fitted estimator does begins with."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import jax
import numpy as np
from jaxtyping import Float, PRNGKeyArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .record import Fit

S = TypeVar("S", bound="AbstractFitted")
P = ParamSpec("P")
T = TypeVar("T")


def in_double(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], T]:
    """In double precision; the caller's setting stays as it is."""

    @wraps(method)
    def call(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        with jax.enable_x64(True):
            return method(self, *args, **kwargs)

    return call


class AbstractFitted(BaseEstimator):
    """An estimator after its fit; `fit` itself is left to others."""

    random_state: Any
    term_confidence_: Float[np.ndarray, "Nx M"]
    edge_confidence_: Float[np.ndarray, "Nx Nv"]
    _fit: Fit

    def _checked(self) -> Fit:
        check_is_fitted(self)
        return self._fit

    def _key(self, random_state: Any = None) -> PRNGKeyArray:
        seed = self.random_state if random_state is None else random_state
        return jax.random.key(check_random_state(seed).randint(2**31 - 1))

"""Benchmark systems with known equations: simulate them, compare coefficients."""

import inspect
from collections.abc import Callable, MutableMapping
from typing import Any

from jaxtyping import PRNGKeyArray

from .. import registries
from ..checks import check_choice
from .base import System as System
from .brusselator import brusselator as brusselator
from .damped_oscillator import damped_oscillator as damped_oscillator
from .fitzhugh_nagumo import fitzhugh_nagumo as fitzhugh_nagumo
from .kuramoto import KuramotoRate as KuramotoRate
from .kuramoto import kuramoto as kuramoto
from .lorenz63 import lorenz63 as lorenz63
from .lorenz96 import lorenz96 as lorenz96
from .lotka_volterra import lotka_volterra as lotka_volterra
from .oregonator import oregonator as oregonator
from .rabinovich_fabrikant import rabinovich_fabrikant as rabinovich_fabrikant
from .random_sparse import random_sparse as random_sparse
from .rates import PolynomialRate as PolynomialRate
from .rates import polynomial_rate as polynomial_rate
from .rossler import rossler as rossler
from .schemes import EulerMean as EulerMean
from .schemes import RungeKuttaMean as RungeKuttaMean
from .seir import seir as seir
from .sir import sir as sir
from .trajectories import DivergenceError as DivergenceError
from .trajectories import SystemSimulation as SystemSimulation

SYSTEMS: MutableMapping[str, Callable[..., System]] = registries.SYSTEMS


def get(name: str, *, key: PRNGKeyArray | None = None, **options: Any) -> System:
    """A system by its name, with its options.

    Args:
        name: One of `SYSTEMS`.
        key: Random key; required by systems with random parameters, ignored by the
            others.
        **options: Arguments of the function of that name.

    Examples:
        >>> get("lorenz63", dt=0.02).dt
        0.02
    """
    function = SYSTEMS[check_choice("name", name, SYSTEMS)]
    known = inspect.signature(function).parameters
    for option in options:
        check_choice(f"option of {name}", option, [p for p in known if p != "key"])
    if "key" not in known:
        return function(**options)
    if key is None:
        raise ValueError(
            f"`key` must be given for {name}, whose parameters are random, got None. "
            "Pass `key=jax.random.key(0)`."
        )
    return function(key, **options)

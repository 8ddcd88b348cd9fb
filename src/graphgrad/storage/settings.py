"""Settings as JSON, and back: what a file may hold of them.

A setting that is an object of ours becomes its class's name and its fields. Only the
classes of `KINDS` are made when a file is read, by their constructors, which check what
they are given.
"""

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..engines import (
    Bootstrap,
    EnsembleSmoother,
    GaussianSmoother,
    Linearised,
    LocallyOptimal,
    ParticleSmoother,
    SoftResampling,
    TransportResampling,
)
from ..engines.differentiable import StopGradientResampling
from ..equations.terms import FUNCTIONS
from ..library import FunctionTerms, Polynomial, Stretched, SumLibrary
from ..model import (
    Binomial,
    GaussianNoise,
    MultiplicativeNoise,
    NegativeBinomial,
    Poisson,
    StudentT,
)
from ..model.constraints import (
    Bounds,
    Conserve,
    Equal,
    Known,
    OnlyEdges,
    Sign,
    Velocity,
)
from ..penalties import L0, L1, Nuclear, Unpenalised

KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(Polynomial, FunctionTerms, SumLibrary, Stretched),
        *(GaussianNoise, StudentT, MultiplicativeNoise),
        *(Poisson, NegativeBinomial, Binomial),
        *(GaussianSmoother, ParticleSmoother, EnsembleSmoother),
        *(Bootstrap, LocallyOptimal, Linearised),
        *(StopGradientResampling, SoftResampling, TransportResampling),
        *(L1, L0, Nuclear, Unpenalised),
        *(Known, Sign, OnlyEdges, Bounds, Conserve, Equal, Velocity),
    )
}
"""Classes that a file may name."""


def encode_setting(value: Any) -> Any:
    """A setting as JSON can hold it.

    Raises:
        TypeError: It holds something that is no text, number, array or class of ours;
            the message says what.

    Examples:
        >>> import graphgrad as gg
        >>> encode_setting(gg.Polynomial(2, 3))
        {'kind': 'Polynomial', 'n_states': 2, 'degree': 3, 'root': 1}
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float | np.bool_ | np.integer | np.floating):
        number = value.item() if isinstance(value, np.generic) else value
        if isinstance(number, float) and not math.isfinite(number):
            return {"kind": "number", "value": repr(number)}
        return number
    kind = type(value)
    if KINDS.get(kind.__name__) is kind:
        fields = {name: encode_setting(getattr(value, name)) for name in _fields(kind)}
        return {"kind": kind.__name__, **fields}
    if isinstance(value, list):
        return [encode_setting(inner) for inner in value]
    if kind is tuple:
        return {"kind": "tuple", "items": [encode_setting(inner) for inner in value]}
    if isinstance(value, np.ndarray | jax.Array) and value.dtype.kind in "biuf":
        items = encode_setting(np.asarray(value).tolist())
        return {"kind": "array", "dtype": str(value.dtype), "items": items}
    if callable(value) and value in FUNCTIONS:
        return {"kind": "function", "name": FUNCTIONS[value]}  # pyright: ignore
    raise TypeError("a function" if callable(value) else f"a {kind.__name__}")


def decode_setting(plain: Any) -> Any:
    """What `encode_setting` was given; arrays come back as NumPy's.

    Raises:
        ValueError: It is not what `encode_setting` gives.

    Examples:
        >>> decode_setting({"kind": "tuple", "items": ["held", 2]})
        ('held', 2)
    """
    if isinstance(plain, list):
        return [decode_setting(inner) for inner in plain]
    if not isinstance(plain, dict):
        return plain
    kind = plain.get("kind")
    parts = {
        key: decode_setting(inner) for key, inner in plain.items() if key != "kind"
    }
    match kind, parts:
        case "number", {"value": "inf" | "-inf" | "nan" as text}:
            return float(text)
        case "tuple", {"items": list(items)}:
            return tuple(items)
        case "array", {"items": items, "dtype": str(dtype)}:
            if np.dtype(dtype).kind in "biuf":
                return np.asarray(items, dtype)
        case "function", {"name": name}:
            for function, known in FUNCTIONS.items():
                if name == known:
                    return function
        case str(), _ if kind in KINDS and set(parts) == set(_fields(KINDS[kind])):
            return _construct(KINDS[kind], parts)
    raise ValueError(f"{plain!r:.60} is no setting")


def _fields(kind: type) -> tuple[str, ...]:
    if issubclass(kind, tuple):
        return kind._fields  # pyright: ignore
    if kind is SumLibrary:
        return ("parts",)
    return tuple(field.name for field in dataclasses.fields(kind))


def _construct(kind: type, parts: dict[str, Any]) -> Any:
    """An object by its constructor, with arrays that are the same to the last bit."""
    exact = {
        name: jnp.asarray(value)
        for name, value in parts.items()
        if isinstance(value, np.ndarray)
    }
    given = {**parts, **exact}
    given |= {name: array.item() for name, array in exact.items() if not array.ndim}
    if kind in (StudentT, MultiplicativeNoise):
        given["variance"] = given.pop("scale") ** 2
    made = kind(**given)
    for name, array in exact.items():
        made = eqx.tree_at(lambda m, name=name: getattr(m, name), made, array)
    return made

"""Arguments and results of programs as plain values: what a compilation depends on.

Trees of arrays and settings are described by lists, numbers and strings, of which a key
or a file is made. What cannot be described in full, such as a function of the user, is
refused.
"""

import dataclasses
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from importlib import import_module
from typing import Any

import equinox as eqx

OURS = "graphgrad"

PACKAGES = (OURS, "jax", "equinox", "numpy")
"""Packages whose functions and classes are known by their names."""


class Undescribed(Exception):  # noqa: N818
    """A value of which not all is known that a compilation may depend on."""


def describe(value: Any, array: Callable[[Any], Any]) -> Any:
    """A tree by values that can be written as JSON.

    Args:
        value: The tree. Its nodes are tuples, lists, dictionaries, and named tuples and
            Equinox modules of this package.
        array: Describes each array, in the order of JAX's leaves.

    Raises:
        Undescribed: If the tree has something else, or an array that is no leaf.

    Examples:
        >>> describe((2, "x", None), lambda array: None)
        ['tuple', ['int', 2], ['str', 'x'], ['NoneType', None]]
        >>> describe(lambda x: x, lambda array: None)
        Traceback (most recent call last):
        ...
        graphgrad.descriptions.Undescribed: <function <lambda> ...
    """
    kind = type(value)
    if eqx.is_array(value):
        return ["array", array(value)]
    if value is None or kind in (bool, int, str):
        return [kind.__name__, value]
    if kind is float:
        return ["float", value.hex()]
    if kind in (tuple, list):
        return [kind.__name__, *(describe(each, array) for each in value)]
    if kind is dict and all(type(key) is str for key in value):
        return ["dict", *([k, describe(value[k], array)] for k in sorted(value))]
    if isinstance(value, Enum):
        return ["member", place(kind), value.name]
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return ["named", _ours(kind), *(describe(each, array) for each in value)]
    if isinstance(value, eqx.Module):
        return ["module", _ours(kind), *_fields(value, array)]
    return ["object", place(value)]


def _fields(value: eqx.Module, array: Callable[[Any], Any]) -> list[Any]:
    """Fields of a module; those that are static may have no arrays."""
    assert dataclasses.is_dataclass(value)
    fields = dataclasses.fields(value)
    if vars(value).keys() - {field.name for field in fields}:
        raise Undescribed(repr(value))
    return [
        [name, describe(vars(value)[name], no_array if static else array)]
        for name, static in (
            (field.name, field.metadata.get("static", False)) for field in fields
        )
        if name in vars(value)
    ]


def no_array(value: Any) -> Any:
    """Refuse an array: it is part of the program."""
    raise Undescribed(repr(value))


def rebuild(description: Any, arrays: Sequence[Any]) -> Any:
    """The tree of a description.

    Args:
        description: What `describe` returned.
        arrays: The arrays, at the numbers by which they were described.

    Examples:
        >>> rebuild(["tuple", ["array", 0], ["int", 2]], ["first"])
        ('first', 2)
    """
    kind, *rest = description
    if kind == "array":
        return arrays[rest[0]]
    if kind in ("NoneType", "bool", "int", "str"):
        return rest[0]
    if kind == "float":
        return float.fromhex(rest[0])
    if kind in ("tuple", "list"):
        values = [rebuild(each, arrays) for each in rest]
        return tuple(values) if kind == "tuple" else values
    if kind == "dict":
        return {key: rebuild(each, arrays) for key, each in rest}
    found = _at(rest[0])
    if kind == "named":
        return found(*(rebuild(each, arrays) for each in rest[1:]))
    if kind == "member":
        return found[rest[1]]
    if kind == "module":  # as Equinox does it
        value = object.__new__(found)
        for name, each in rest[1:]:
            object.__setattr__(value, name, rebuild(each, arrays))
        return value
    return found


def place(value: Any) -> str:
    """Module and name by which a function or class of the packages is found.

    Examples:
        >>> import jax.numpy as jnp
        >>> place(jnp.tanh)
        'jax.numpy:tanh'
    """
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None)
    if isinstance(module, str) and isinstance(name, str) and module in sys.modules:
        where = f"{module}:{name}"
        try:
            if module.partition(".")[0] in PACKAGES and _at(where) is value:
                return where
        except AttributeError:  # defined inside a function
            pass
    raise Undescribed(repr(value))


def _ours(kind: type) -> str:
    """The place of a class of this package."""
    if kind.__module__.partition(".")[0] != OURS:
        raise Undescribed(repr(kind))
    return place(kind)


def _at(where: str) -> Any:
    module, _, name = where.partition(":")
    if module.partition(".")[0] not in PACKAGES:
        raise Undescribed(where)
    found = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found

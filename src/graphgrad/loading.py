"""Programs of JAX's cache without a trace, and what they depend on beside arguments.

JAX has no public way to load a compiled program without tracing it, so this file uses
its internals, which may be others in another version: with those that were not tried,
and after an exception from here, a program is traced as usual.
"""

import json
import platform
from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import version
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import cache_key, compilation_cache, compiler, config, core, lib, stages
from jax._src.interpreters import pxla
from jax._src.lax import linalg
from jax.extend.backend import backends

from .descriptions import Undescribed, describe, no_array
from .package_state import is_patched, source_digest

VERSIONS = ("jax", "jaxlib", "equinox", "jaxtyping", "numpy", "optax")
"""Packages that functions of this one call while they are traced."""

TRIED = (0, 10)
"""The version of JAX with which `load` was tried; with others nothing is loaded."""

Outputs = Sequence[Sequence[Any]]
"""Of each result the shape, the type, and whether that is weak."""

trace_context: Any = getattr(config, "trace_context", None)
"""Settings of this thread that traces depend on, as a tuple; None if there is none."""

_SETTINGS: Any = jax.config
_LIB: Any = lib


def environment(options: dict[str, Any]) -> list[Any]:
    """All that a program depends on beside the function and its arguments.

    Args:
        options: For the compiler.

    Raises:
        Undescribed: If something of it cannot be described.
    """
    if jax.__version_info__[:2] != TRIED:
        raise Undescribed(f"JAX {jax.__version__}")
    digest = source_digest()
    if digest is None or is_patched():
        raise Undescribed("code that is not that of the files")
    if list(backends()) != ["cpu"] or jax.device_count() != 1:
        raise Undescribed("several devices")
    context = [
        describe(each, no_array)
        for each in trace_context()
        if not isinstance(each, core.AxisEnv)  # empty outside of traces
    ]
    settings = sorted(_SETTINGS.values.items())
    return [digest, _machine(json.dumps(options)), context, settings]


@cache
def _machine(options: str) -> list[str]:
    """Versions, and JAX's key of an empty program: processor, options, flags of XLA."""
    empty: Any = jax.jit(lambda: ()).lower().compiler_ir()
    devices = np.array(jax.devices())
    key = cache_key.get(
        empty, devices, _compile_options(options), jax.devices()[0].client
    )
    versions = (f"{name} {version(name)}" for name in VERSIONS)
    return [platform.python_version(), *versions, options, key]


def _compile_options(options: str) -> Any:
    return compiler.get_compile_options(
        num_replicas=1, num_partitions=1, env_options_overrides=json.loads(options)
    )


def is_watched() -> bool:
    """Whether JAX is to look at single operations or at each result."""
    return (
        _SETTINGS.jax_disable_jit
        or _SETTINGS.jax_debug_nans
        or _SETTINGS.jax_debug_infs
    )


def has_inputs_only(compiled: Any, number: int) -> bool:
    """Whether a program gets nothing but its arguments."""
    executable = compiled._executable
    return len(executable.in_avals) == number and not executable._mut


def is_key(aval: Any) -> bool:
    """Whether arrays of a type are random keys."""
    return jnp.issubdtype(aval.dtype, jax.dtypes.prng_key)


def output_type(aval: Any) -> Sequence[Any]:
    """Shape and type of a result, as `load` needs it.

    Raises:
        Undescribed: If it is a random key.
    """
    if is_key(aval):
        raise Undescribed(str(aval))
    return list(aval.shape), aval.dtype.name, aval.weak_type


def load(
    key: str, name: str, arrays: Sequence[Any], types: Outputs, options: dict[str, Any]
) -> Callable[..., Any] | None:
    """A program of JAX's cache, ready to be called with arrays, or None.

    Args:
        key: JAX's.
        name: Of the function.
        arrays: Arguments such as it will get.
        types: Of its results.
        options: For the compiler.
    """
    linalg.initialize_lapack()  # else by the lowering of a factorisation
    device = jax.devices()[0]
    devices = _LIB.xla_client.DeviceList((device,))
    settings = _compile_options(json.dumps(options))
    found, _ = compilation_cache.get_executable_and_time(
        key, settings, device.client, devices
    )
    if found is None:
        return None
    inputs = [jax.typeof(array) for array in arrays]
    outputs = [
        core.ShapedArray(tuple(shape), np.dtype(dtype), weak_type=weak)
        for shape, dtype, weak in types
    ]
    here = jax.sharding.SingleDeviceSharding(device)
    loaded = pxla.UnloadedMeshExecutable(
        xla_executable=found,
        device_list=devices,
        backend=device.client,
        input_avals=inputs,
        input_shardings=[here] * len(inputs),
        output_avals=outputs,
        output_shardings=[here] * len(outputs),
        committed=False,
        name=name,
        unordered_effects=[],
        ordered_effects=[],
        keepalive=(),
        host_callbacks=(),
        kept_var_idx=set(range(len(inputs))),
        mut=None,
        xla_in_layouts=[None] * len(inputs),
        dispatch_in_layouts=[None] * len(inputs),
        xla_out_layouts=[None] * len(outputs),
        all_args_info=None,
        pgle_profiler=None,
    ).load()
    arguments = tuple(stages.ArgInfo(each, False) for each in inputs), {}
    return stages.Compiled(
        loaded, [], arguments, jax.tree.structure([0] * len(outputs)), no_kwargs=True
    )

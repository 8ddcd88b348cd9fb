"""Programs of earlier processes, found without tracing.

JAX finds a program in its cache only after it has traced and lowered the function,
which takes seconds. So a second key is made of what a trace depends on: the source of
this package, versions, settings of JAX, the function, and all arguments, arrays by
shape and type and anything else by value. Under it are kept JAX's key and the structure
of the result. What cannot be described in full, such as a function of the user, is
traced as usual.
"""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import equinox as eqx
import jax

from .compilation_cache import ProgramCache
from .descriptions import OURS, Undescribed, describe, rebuild
from .loading import (
    environment,
    has_inputs_only,
    is_key,
    is_watched,
    load,
    output_type,
    trace_context,
)

MOST = 256
"""Programs of a function that a process holds."""

Run = Callable[[list[Any]], Any]
"""A program: from the arrays among the arguments to the result."""


class ReadyPrograms:
    """Programs of one function, each for one kind of arguments.

    Args:
        function: A function of a module, which is called at the top level.
        options: For the compiler.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._options = options
        self._held: dict[Any, Run | None] = {}

    @property
    def _named(self) -> bool:
        """Whether the source of this package says all about the function."""
        module = getattr(self._function, "__module__", "").partition(".")[0]
        name = getattr(self._function, "__qualname__", "<")
        return module == OURS and "<" not in name

    def find(self, programs: ProgramCache, arguments: Any) -> Callable[[], Any] | None:
        """The call of a program with arguments, or None if it has to be traced.

        Args:
            programs: Where programs are kept.
            arguments: Positional and keyword arguments.
        """
        if trace_context is None or not self._named or is_watched():
            return None
        leaves, structure = jax.tree.flatten(arguments)
        arrays = [leaf for leaf in leaves if eqx.is_array(leaf)]
        kinds = (
            jax.typeof(leaf) if eqx.is_array(leaf) else (type(leaf), leaf)
            for leaf in leaves
        )
        kind = structure, *kinds, trace_context()
        try:
            held = kind in self._held
        except TypeError:  # a setting without a hash
            return None
        if not held:
            if len(self._held) >= MOST:
                self._held.clear()
            self._held[kind] = self._loaded(programs, arguments, arrays)
        run = self._held[kind]
        return None if run is None else lambda: run(arrays)

    def _loaded(
        self, programs: ProgramCache, arguments: Any, arrays: list[Any]
    ) -> Run | None:
        try:
            key = self._key(arguments, arrays)
        except Exception:  # not described, or internals of another JAX
            return None
        name, options = self._function.__name__, self._options
        entry = programs.get(key)
        if entry is not None:
            with suppress(Exception):  # damaged, or internals of another JAX
                jax_key, result, types = json.loads(entry)
                run = load(jax_key, name, arrays, types, options)
                if run is not None:
                    return _runner(run, result)
        return self._compiled(programs, key, arguments, arrays)

    def _key(self, arguments: Any, arrays: list[Any]) -> str:
        """All that the program depends on."""
        found: list[Any] = []

        def array(value: Any) -> Any:
            found.append(value)
            kind = jax.typeof(value)
            named = str(kind.dtype)
            if is_key(kind):
                named += str(jax.random.key_impl(value))
            return [list(kind.shape), named, kind.weak_type]

        described = describe(arguments, array)
        if [id(each) for each in found] != [id(each) for each in arrays]:
            raise Undescribed("arrays in another order than that of JAX")
        function = self._function.__module__, self._function.__qualname__
        return json.dumps([function, described, environment(self._options)])

    def _compiled(
        self, programs: ProgramCache, key: str, arguments: Any, arrays: list[Any]
    ) -> Run | None:
        """Compile the program and keep it; None if it does more than compute."""
        leaves, structure = jax.tree.flatten(arguments)
        results: list[Any] = []

        def flat(*arrays: Any) -> list[Any]:
            each = iter(arrays)
            filled = [next(each) if eqx.is_array(leaf) else leaf for leaf in leaves]
            args, kwargs = jax.tree.unflatten(structure, filled)
            outputs: list[Any] = []

            def output(value: Any) -> int:
                outputs.append(value)
                return len(outputs) - 1

            results[:] = [describe(self._function(*args, **kwargs), output)]
            return outputs

        flat.__name__ = flat.__qualname__ = self._function.__name__
        jitted = jax.jit(flat, compiler_options=self._options, keep_unused=True)
        try:
            traced = jitted.trace(*arrays)
            types = [output_type(aval) for aval in traced.jaxpr.out_avals]
        except Undescribed:
            return None
        if traced.jaxpr.effects:
            return None
        programs.asked.clear()
        compiled = traced.lower().compile()
        if len(programs.asked) == 1 and has_inputs_only(compiled, len(arrays)):
            entry = json.dumps([programs.asked[0], results[0], types])
            programs.put(key, entry.encode())
        return _runner(compiled, results[0])


def _runner(compiled: Callable[..., Any], result: Any) -> Run:
    def run(arrays: list[Any]) -> Any:
        outputs = compiled(*arrays)
        jax.block_until_ready(outputs[:1])  # as Equinox does it
        return rebuild(result, outputs)

    return run

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
from weakref import WeakSet

import equinox as eqx
import jax

from .compilation_cache import ProgramCache
from .descriptions import OURS, Undescribed, describe
from .loading import environment, is_key, is_watched, load, trace_context
from .memory_maps import make_room
from .programs import Program, trace

MOST = 256
"""Programs of a function that a process holds."""

_ALL: "WeakSet[ReadyPrograms]" = WeakSet()


def forget_programs() -> None:
    """Forget the programs that this process holds, not those on disk."""
    for each in tuple(_ALL):
        each.forget()


class ReadyPrograms:
    """Programs of one function, each for one kind of arguments.

    Args:
        function: A function of a module, which is called at the top level.
        options: For the compiler.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._options = options
        # None: to be traced as usual.
        self._held: dict[Any, Program | None] = {}
        _ALL.add(self)

    def find(self, programs: ProgramCache, arguments: Any) -> Callable[[], Any] | None:
        """The call of a program with arguments, or None if it has to be traced.

        Args:
            programs: Where programs are kept.
            arguments: Positional and keyword arguments.
        """
        kind, arrays = self._kind(arguments)
        if kind is None:
            return None
        if kind not in self._held:
            if len(self._held) >= MOST:
                self._held.clear()
            make_room(forget_programs)
            self._held[kind] = self._program(programs, arguments, arrays)
        program = self._held[kind]
        return None if program is None else lambda: program.run(arrays)

    def forget(self) -> None:
        """Forget all programs of this function."""
        self._held.clear()

    def _kind(self, arguments: Any) -> tuple[Any, list[Any]]:
        """What tells programs apart in this process, or None; and the arrays."""
        module = getattr(self._function, "__module__", "").partition(".")[0]
        name = getattr(self._function, "__qualname__", "<")
        if trace_context is None or module != OURS or "<" in name or is_watched():
            return None, []
        leaves, structure = jax.tree.flatten(arguments)
        arrays = [leaf for leaf in leaves if eqx.is_array(leaf)]
        kinds = (
            jax.typeof(leaf) if eqx.is_array(leaf) else (type(leaf), leaf)
            for leaf in leaves
        )
        kind = structure, *kinds, trace_context()
        try:
            hash(kind)
        except TypeError:  # a setting without a hash
            return None, []
        return kind, arrays

    def _program(
        self, programs: ProgramCache, arguments: Any, arrays: list[Any]
    ) -> Program | None:
        """A program that is loaded, or traced and compiled; None if neither can be."""
        try:
            key = self._key(arguments, arrays)
        except Exception:  # not described, or internals of another JAX
            return None
        function, options = self._function, self._options
        entry = programs.get(key)
        if entry is not None:
            with suppress(Exception):  # damaged, or internals of another JAX
                jax_key, result, types = json.loads(entry)
                run = load(jax_key, function.__name__, arrays, types, options)
                if run is not None:
                    return Program(run, result)
        traced = trace(function, options, key, arguments, arrays)
        return None if traced is None else traced.compile()

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

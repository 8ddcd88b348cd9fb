"""A function of trees as a program of arrays: traced, compiled, and called."""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax

from .compilation_cache import ProgramCache, stored_programs
from .descriptions import Undescribed, describe, rebuild
from .loading import has_inputs_only, output_type


class Program(NamedTuple):
    """A compiled program.

    Attributes:
        compiled: Called with the arrays among the arguments, it returns those of the
            result.
        result: Description of the result.
    """

    compiled: Callable[..., Any]
    result: Any

    def run(self, arrays: Sequence[Any]) -> Any:
        """The result for the arrays among the arguments."""
        outputs = self.compiled(*arrays)
        jax.block_until_ready(outputs[:1])  # as Equinox does it
        return rebuild(self.result, outputs)


class Traced(NamedTuple):
    """A program that is not compiled yet.

    Attributes:
        key: Under which it is kept.
        traced: What JAX knows of it.
        number: Of arrays among the arguments.
        result: Description of the result.
        types: Of the arrays of the result.
    """

    key: str
    traced: Any
    number: int
    result: Any
    types: Sequence[Any]

    def compile(self) -> Program:
        """Compile the program, or read it from JAX's cache, and keep it."""
        with stored_programs() as programs:
            if programs is not None:
                programs.asked.clear()
            compiled = self.traced.lower().compile()
            if programs is not None:
                self._keep(programs, compiled)
        return Program(compiled, self.result)

    def _keep(self, programs: ProgramCache, compiled: Any) -> None:
        if len(programs.asked) == 1 and has_inputs_only(compiled, self.number):
            entry = [programs.asked[0], self.result, self.types]
            programs.put(self.key, json.dumps(entry).encode())


def trace(
    function: Callable[..., Any],
    options: dict[str, Any],
    key: str,
    arguments: Any,
    arrays: Sequence[Any],
) -> Traced | None:
    """Trace a function.

    Args:
        function: The function.
        options: For the compiler.
        key: Under which the program will be kept.
        arguments: Positional and keyword arguments.
        arrays: The arrays among them.

    Returns:
        The program, or None if it does more than compute or its result cannot be
        described.
    """
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

        results[:] = [describe(function(*args, **kwargs), output)]
        return outputs

    flat.__name__ = flat.__qualname__ = function.__name__
    jitted = jax.jit(flat, compiler_options=options, keep_unused=True)
    try:
        traced = jitted.trace(*arrays)
        types = [output_type(aval) for aval in traced.jaxpr.out_avals]
    except Undescribed:
        return None
    if traced.jaxpr.effects:
        return None
    return Traced(key, traced, len(arrays), results[0], types)

"""Programs are prepared in other threads, which end with the block."""

import threading

import jax
import numpy as np
import pytest

from graphgrad import compilation_cache
from graphgrad.compiling import compiled, ready_programs
from graphgrad.preparation import preparing

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


def double(x):
    return 2 * x


def plus_one(x):
    return x + 1


double.__module__ = plus_one.__module__ = "graphgrad"


def threads():
    return [t for t in threading.enumerate() if t.name.startswith("graphgrad")]


@pytest.fixture
def functions(folder):
    jax.clear_caches()
    return compiled(double), compiled(plus_one)


def test_what_is_expected_is_there(functions, traced):
    first, second = functions

    def prepare(preparation):
        example = preparation.expect(first, X)
        assert example.shape == X.shape
        preparation.expect(second, example)

    with preparing(prepare, first, X):
        assert threads()
        assert np.array_equal(second(first(X)), 2 * X + 1)
    assert not threads()
    assert sorted(set(traced) & {"double", "plus_one"}) == ["double", "plus_one"]
    with preparing(prepare, first, X):
        assert not threads()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_threads_end_with_an_error(error, functions):
    first, second = functions
    with pytest.raises(error), preparing(lambda p: p.expect(first, X), first, X):
        raise error
    assert not threads()
    assert np.array_equal(second(first(X)), 2 * X + 1)


def test_an_error_while_preparing_does_no_harm(functions):
    first, _ = functions

    def prepare(preparation):
        raise ValueError

    with preparing(prepare, first, X):
        assert np.array_equal(first(X), 2 * X)


def test_a_program_that_is_not_compiled_any_more_is_traced(functions):
    first, _ = functions
    ready = ready_programs(first)
    programs = compilation_cache._programs()
    assert programs is not None
    with pytest.raises(RuntimeError):  # as if the block had ended meanwhile
        ready.prepare(programs, ((X,), {}), _closed)
    assert np.array_equal(first(X), 2 * X)


def _closed(_):
    raise RuntimeError


def test_settings_of_one_thread_are_not_prepared_for(functions):
    first, _ = functions
    seen = []
    with jax.enable_x64(True), preparing(seen.append, first, X):
        assert first(X.astype(float)).dtype == np.float64
    assert not seen

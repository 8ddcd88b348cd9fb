"""Programs of earlier processes are found without a trace, if they are the same."""

import os
import subprocess
import sys
import time
from functools import partial
from hashlib import sha256
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib.version
import numpy as np
import pytest

import graphgrad as gg
from graphgrad import compilation_cache, compiling
from graphgrad.compiling import OPTIONS, compiled
from graphgrad.descriptions import Undescribed, describe, no_array, rebuild
from graphgrad.library import FunctionTerms, Polynomial, polynomial
from graphgrad.loading import environment
from graphgrad.package_state import digest_of, source_digest
from graphgrad.solution import Outcome
from graphgrad.solvers.adaptive.candidate import begin_exchange
from graphgrad.solvers.adaptive.unknowns import Unknowns

SETTINGS: Any = jax.config
X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


def terms(library, x=X):
    """Values of terms, as another process would compute them."""
    jax.clear_caches()
    return compiled(type(library).__call__)(library, x)


def test_a_second_process_does_not_trace(folder, traced):
    first = terms(Polynomial(2, 2))
    assert "__call__" in traced
    traced.clear()
    second = terms(Polynomial(2, 2))
    assert "__call__" not in traced
    assert isinstance(second, jax.Array)
    assert np.asarray(first).tobytes() == np.asarray(second).tobytes()
    assert (first.aval, first.sharding) == (second.aval, second.sharding)
    assert first.committed == second.committed


@pytest.mark.parametrize(
    ("library", "x"),
    [
        (Polynomial(2, 3), X),
        (Polynomial(2, 2), X[:1]),
        (Polynomial(2, 2), X.astype(np.float16)),
    ],
)
def test_another_setting_shape_or_type_is_traced(library, x, folder, traced):
    terms(Polynomial(2, 2))
    traced.clear()
    found = terms(library, x)
    assert "__call__" in traced
    assert np.array_equal(found, library(jnp.asarray(x)))


def test_another_precision_is_traced(folder, traced):
    terms(Polynomial(2, 2))
    traced.clear()
    with jax.enable_x64(True):
        assert terms(Polynomial(2, 2), X.astype(float)).dtype == np.float64
    assert "__call__" in traced


def test_another_setting_of_jax_is_traced(folder, traced):
    terms(Polynomial(2, 2))
    traced.clear()
    with jax.default_matmul_precision("float32"):
        terms(Polynomial(2, 2))
    assert "__call__" in traced


def test_weak_types_are_told_apart(folder, traced):
    strong, weak = (compiled(begin_weak)(x) for x in (jnp.float32(1), jnp.asarray(1.0)))
    assert (strong.weak_type, weak.weak_type) == (False, True)
    jax.clear_caches()
    traced.clear()
    strong, weak = (compiled(begin_weak)(x) for x in (jnp.float32(1), jnp.asarray(1.0)))
    assert (strong.weak_type, weak.weak_type) == (False, True)
    assert "begin_weak" not in traced


def begin_weak(x):
    return x + 1


begin_weak.__module__ = "graphgrad"


def test_a_function_of_the_user_is_never_kept(folder, traced):
    for factor in (2.0, 3.0):
        library = FunctionTerms(2, (("f(*)", lambda x: factor * x),))  # noqa: B023
        traced.clear()
        assert np.array_equal(terms(library), factor * X)
        assert "__call__" in traced
    known = FunctionTerms(2, (("tanh(*)", jnp.tanh),))
    terms(known)
    traced.clear()
    terms(known)
    assert "__call__" not in traced


def test_a_class_of_the_user_is_never_kept(folder, traced):
    class Own(Polynomial):
        pass

    for _ in range(2):
        traced.clear()
        compiled(Polynomial.__call__)(Own(2, 2, root=1), jnp.asarray(X))
        assert "__call__" in traced
        jax.clear_caches()


def test_a_function_inside_another_is_never_kept(folder, traced):
    for factor in (2.0, 3.0):

        def inside(x):
            return factor * x  # noqa: B023

        inside.__module__ = "graphgrad"
        assert np.array_equal(compiled(inside)(X), factor * X)


def test_a_patched_package_is_traced(folder, traced, monkeypatch):
    terms(Polynomial(2, 2))
    traced.clear()
    monkeypatch.setattr(Polynomial, "__call__", lambda _, x: 5 * x)
    assert np.array_equal(terms(Polynomial(2, 2)), 5 * X)
    monkeypatch.undo()
    traced.clear()
    terms(Polynomial(2, 2))
    assert "__call__" not in traced
    monkeypatch.setattr(polynomial, "AbstractLibrary", object)
    terms(Polynomial(2, 2))
    assert "__call__" in traced


def test_other_source_has_another_digest(tmp_path):
    now = time.time() + 10
    (tmp_path / "a.py").write_text("x = 1")
    first = digest_of(tmp_path, now)
    (tmp_path / "a.py").write_text("x = 2")
    second = digest_of(tmp_path, now)
    (tmp_path / "b.py").write_text("")
    assert len({first, second, digest_of(tmp_path, now)}) == 3
    assert digest_of(tmp_path, now - 3600) is None
    assert environment(OPTIONS)[0] == source_digest()


def test_damaged_files_are_replaced(folder, traced):
    first = terms(Polynomial(2, 2))
    for file in folder.iterdir():
        file.write_bytes(file.read_bytes()[:50])
    assert np.array_equal(terms(Polynomial(2, 2)), first)
    traced.clear()
    assert np.array_equal(terms(Polynomial(2, 2)), first)
    assert "__call__" not in traced


@pytest.mark.parametrize("entry", [b"", b"{}", b'["key", ["int", 1], [[[9], "int8"]]]'])
def test_an_entry_that_makes_no_sense_is_replaced(entry, folder, traced):
    first = terms(Polynomial(2, 2))
    programs = compilation_cache._programs()
    assert programs is not None
    files = programs._files
    changed = 0
    for file in folder.iterdir():
        if file.read_bytes()[32:].startswith(b'["'):
            files._write(file, sha256(entry).digest() + entry)
            changed += 1
    assert changed == 1
    assert np.array_equal(terms(Polynomial(2, 2)), first)
    traced.clear()
    terms(Polynomial(2, 2))
    assert "__call__" not in traced


def test_a_lost_program_is_compiled_again(folder):
    first = terms(Polynomial(2, 2))
    for file in folder.iterdir():
        if not file.read_bytes()[32:].startswith(b'["'):
            file.unlink()
    assert np.array_equal(terms(Polynomial(2, 2)), first)


def test_nothing_is_kept_if_it_is_turned_off(folder, traced, monkeypatch):
    monkeypatch.setenv("GRAPHGRAD_CACHE", "off")
    for _ in range(2):
        traced.clear()
        terms(Polynomial(2, 2))
        assert "__call__" in traced
    assert not folder.exists()


def test_nothing_is_kept_beside_the_cache_of_the_user(folder, traced, tmp_path):
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "own"))
    for _ in range(2):
        traced.clear()
        terms(Polynomial(2, 2))
        assert "__call__" in traced
    assert not list(folder.glob("*"))


def test_no_setting_of_jax_changes(folder):
    before = dict(SETTINGS.values)
    for _ in range(2):
        terms(Polynomial(2, 2))
    assert dict(SETTINGS.values) == before
    assert compilation_cache._JAX._cache is None


def test_inside_another_compilation_the_function_is_traced(folder):
    terms(Polynomial(2, 2))
    run = compiled(Polynomial.__call__)
    found = jax.jit(lambda x: run(Polynomial(2, 2), x))(X)
    assert np.array_equal(found, Polynomial(2, 2)(jnp.asarray(X)))


def test_what_does_more_than_compute_is_traced(folder, capsys):
    def talk(x):
        jax.debug.callback(lambda: print("here"))
        return x

    talk.__module__ = talk.__qualname__ = "graphgrad"
    for _ in range(2):
        jax.clear_caches()
        compiled(talk)(X)
        jax.effects_barrier()
    assert capsys.readouterr().out == "here\nhere\n"


def test_checks_for_nan_still_work(folder):
    def invalid(x):
        return jnp.log(-x)

    invalid.__module__ = invalid.__qualname__ = "graphgrad"
    run = compiled(invalid)
    run(X)
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        run(X)


def test_random_keys_are_arguments(folder, traced):
    def draws(seed, **implementation):
        jax.clear_caches()
        key = jax.random.key(seed, **implementation)
        return compiled(draw_normal)(key, X).tolist()

    first = draws(0)
    traced.clear()
    second = draws(1)
    assert "draw_normal" not in traced
    assert first != second
    assert second == (X + jax.random.normal(jax.random.key(1), X.shape)).tolist()
    assert draws(1, impl="rbg") != second
    assert "draw_normal" in traced


def draw_normal(key, x):
    return x + jax.random.normal(key, x.shape)


draw_normal.__module__ = "graphgrad"


def test_trees_are_rebuilt():
    one = jnp.ones(2)
    unknowns = Unknowns(jnp.ones((2, 3)), one, one, one, one)
    tree = begin_exchange(unknowns, jnp.ones((4, 2))), Polynomial(2, 2), {"a": one}
    arrays = []

    def array(value):
        arrays.append(value)
        return len(arrays) - 1

    found = rebuild(describe(tree, array), arrays)
    assert jax.tree.structure(found) == jax.tree.structure(tree)
    assert all(
        a is b
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(tree), strict=True)
    )
    values = [1, 0.1, "x", None, True, jnp.tanh, Outcome.converged]
    assert rebuild(describe(values, no_array), []) == values


@pytest.mark.parametrize(
    "value",
    [
        lambda x: x,
        os.path.join,
        object(),
        {1: 2},
        {"set"},
        1j,
        FunctionTerms(1, (("f(*)", lambda x: x),)),
        Polynomial,
    ],
)
def test_what_is_not_known_in_full_is_refused(value):
    if value is Polynomial:
        assert describe(value, no_array)[0] == "object"
        value = type("Polynomial", (), {"__module__": Polynomial.__module__})
    with pytest.raises(Undescribed):
        describe(value, no_array)


def test_numbers_that_are_equal_are_told_apart():
    described = [str(describe(value, no_array)) for value in (1, 1.0, True, 0.0, -0.0)]
    assert len(set(described)) == len(described)


def test_an_array_in_a_static_field_is_refused():
    library = Polynomial(2, 2)
    object.__setattr__(library, "root", np.ones(2))
    with pytest.raises(Undescribed):
        describe(library, id)


def test_options_that_xla_does_not_know_are_left_out(monkeypatch):
    monkeypatch.setattr(jaxlib.version, "__version__", "0.11.2")
    compiling._accepted.cache_clear()
    assert compiling._accepted("xla_backend_optimization_level", 0)
    assert not compiling._accepted("xla_an_option_of_another_version", False)

    @partial(compiling._compiled, wanted={"xla_an_option_of_another_version": 1})
    def double(x):
        return 2 * x

    assert float(double(jnp.asarray(3.0))) == 6
    compiling._accepted.cache_clear()


FIT = """
import sys, threading, numpy as np, jax
import graphgrad as gg
names = []
jax.monitoring.register_event_duration_secs_listener(
    lambda event, _, **about: names.append((event, about.get("fun_name")))
)
fit = gg.GraphGrad(degree=2, dynamics="map").fit(np.load(sys.argv[1]))
print(np.asarray(fit.coef_).tobytes().hex())
for name in "begin_fit anneal_starts ascend_once exchange_terms solution_at".split():
    print(names.count(("/jax/core/compile/jaxpr_trace_duration", name)))
print(threading.active_count())
"""


@pytest.mark.slow
def test_fits_of_processes_at_once_and_after_are_the_same(tmp_path):
    system = gg.systems.lotka_volterra()
    simulation = system.simulate(jax.random.key(0), steps=40, scheme="euler")
    np.save(tmp_path / "ys.npy", np.asarray(simulation.observations))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JAX_")}

    def start(cache):
        command = [sys.executable, "-W", "error", "-c", FIT, str(tmp_path / "ys.npy")]
        env = environment | {"GRAPHGRAD_CACHE": cache}
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=env, stdout=pipe, stderr=pipe)

    folder = str(tmp_path / "programs")
    ends = [process.communicate() for process in [start(folder), start(folder)]]
    ends += [start(folder).communicate(), start("off").communicate()]
    assert not any(errors for _, errors in ends)
    first, second, loaded, off = (out.split() for out, _ in ends)
    assert first[0] == second[0] == loaded[0] == off[0]
    assert first[1:] == off[1:] == [b"1"] * 6
    assert loaded[1:] == [b"0"] * 5 + [b"1"]

"""Programs are forgotten before a process has too many memory maps."""

import gc
import sys

import jax
import jax.numpy as jnp
import pytest

from graphgrad import memory_maps, ready_programs
from graphgrad.compiling import compiled
from graphgrad.library import Polynomial
from graphgrad.memory_maps import make_room, maps_in_use, most_maps
from graphgrad.ready_programs import forget_programs

LIBRARY = Polynomial(2, 2)
PROGRAM = compiled(Polynomial.__call__)


def values_of(rows):
    """Values by a program for this number of rows."""
    return PROGRAM(LIBRARY, jnp.ones((rows, 2)))


@pytest.mark.parametrize(
    ("in_use", "dropped"),
    [([40], []), ([60, 40], ["ours"]), ([60, 60], ["ours", "all"])],
)
def test_programs_are_dropped_one_kind_after_the_other(monkeypatch, in_use, dropped):
    counts, done = iter(in_use), []
    monkeypatch.setattr(memory_maps, "maps_in_use", lambda: next(counts))
    monkeypatch.setattr(memory_maps, "most_maps", lambda: 100.0)
    monkeypatch.setattr(jax, "clear_caches", lambda: done.append("all"))
    make_room(lambda: done.append("ours"))
    assert done == dropped


@pytest.mark.skipif(sys.platform != "linux", reason="maps are known on Linux only")
def test_forgotten_programs_give_their_maps_back(folder):
    assert most_maps() > maps_in_use() > 100
    jax.clear_caches()
    gc.collect()
    before = maps_in_use()
    first = values_of(3)
    for rows in range(4, 16):
        values_of(rows)
    jax.clear_caches()
    gc.collect()
    held = maps_in_use()
    assert held >= before + 12
    forget_programs()
    gc.collect()
    assert maps_in_use() <= held - 13  # one a program at least
    assert (values_of(3) == first).all()


def test_a_new_program_makes_room(folder, monkeypatch):
    asked = []
    monkeypatch.setattr(ready_programs, "make_room", asked.append)
    values_of(21)
    assert asked == [forget_programs]
    values_of(21)
    assert asked == [forget_programs]

"""A stopped computation goes on to the same result, from its own whole state alone."""

import errno
import os
import random

import jax
import numpy as np
import pytest

from graphgrad import journal, state_folder
from graphgrad.journal import Journal, begin_stage
from graphgrad.state_folder import StateFolder
from soak.tables import damaged

FIT = {"data": "1", "settings": "2"}


class KilledError(BaseException):
    """What ends a process at once, but for tests."""


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Save at once."""
    monkeypatch.setattr(journal, "PATIENCE", 0.0)


@pytest.fixture
def writes(monkeypatch):
    """How many files may still be written before the process is killed."""
    left, write = [1000], StateFolder.write

    def limited(self, name, arrays):
        if not left[0]:
            raise KilledError
        left[0] -= 1
        write(self, name, arrays)

    monkeypatch.setattr(StateFolder, "write", limited)
    return left


def computed(kept, steps=None, seed=0):
    """Three stages of some steps, each of which depends on all steps before."""
    steps = [] if steps is None else steps
    state = {"x": np.arange(6.0).reshape(2, 3) + seed, "n": np.int32(0)}
    visited = np.zeros((0, 2), bool)
    for name in ("one", "two", "two"):
        inputs = jax.random.key(seed), name, state, abs
        stage = begin_stage(kept, name, inputs, (state, visited), most_rows=10)
        state, visited = jax.tree.map(np.asarray, stage.state)
        while not stage.over and (state["n"] + 1) % 4:
            state = {"x": np.sin(state["x"]) * 1.7, "n": np.int32(state["n"] + 1)}
            visited = np.concatenate([visited, [[True, state["n"] % 2 == 0]]])
            steps.append(name)
            stage.reached((state, visited))
        stage.ended((state, visited))
        state = {**state, "n": np.int32(0)}
    return state["x"].tobytes(), visited.tobytes()


def fit(folder, steps=None, seed=0, identity=FIT):
    with Journal(folder) as kept:
        kept.begin(identity)
        found = computed(kept, steps, seed)
        kept.remove()
    return found


def stopped(folder, writes, after):
    """A fit that is killed after a number of writes."""
    writes[0] = after
    with pytest.raises(KilledError):
        fit(folder)
    writes[0] = 1000


def test_it_goes_on_from_every_write_to_the_same_result(tmp_path, writes):
    whole = computed(None, all_steps := [])
    for first in range(10):
        for second in range(1, 3):
            folder = tmp_path / f"{first}-{second}"
            stopped(folder, writes, first)
            stopped(folder, writes, second)
            assert fit(folder, steps := []) == whole
            assert len(steps) <= len(all_steps) - min(9, first - first // 4)
            assert not folder.exists()


def test_a_fit_of_less_than_a_minute_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "PATIENCE", 60.0)
    with Journal(tmp_path / "state") as kept:
        kept.begin(FIT)
        computed(kept)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_saves_what_is_not_saved(tmp_path, monkeypatch):
    """All that was computed, also since the last minute ended."""
    monkeypatch.setattr(journal, "PATIENCE", 60.0)
    with Journal(tmp_path / "state") as kept:
        kept.begin(FIT)
        computed(kept)
        monkeypatch.setattr(journal, "PATIENCE", 0.0)
    assert fit(tmp_path / "state", steps := []) == computed(None)
    assert steps == []


@pytest.mark.parametrize(
    ("change", "what"),
    [({"data": "other"}, "other data"), ({"settings": "other"}, "other settings")],
)
def test_a_state_of_another_fit_is_refused(tmp_path, writes, change, what):
    stopped(tmp_path / "state", writes, 5)
    before = {each.name: each.read_bytes() for each in (tmp_path / "state").iterdir()}
    with pytest.raises(ValueError, match=f"it is of a fit with {what}. Remove"):
        fit(tmp_path / "state", identity=FIT | change)
    after = {each.name: each.read_bytes() for each in (tmp_path / "state").iterdir()}
    assert after == before


def test_other_inputs_of_a_stage_are_computed(tmp_path, writes):
    """The digest of a stage has all numbers that it begins with."""
    stopped(tmp_path / "state", writes, 9)
    assert fit(tmp_path / "state", steps := [], seed=1) == computed(None, seed=1)
    assert len(steps) == 9


def test_a_damaged_state_is_refused_or_not_needed(tmp_path, writes):
    chance, whole, refused = random.Random(0), computed(None), []
    for number in range(60):
        folder = tmp_path / str(number)
        stopped(folder, writes, chance.randrange(1, 12))
        path = chance.choice(sorted(folder.iterdir()))
        path.write_bytes(damaged(path.read_bytes(), chance))
        try:
            assert fit(folder) == whole
        except ValueError as error:
            refused.append(str(error).replace(str(folder), "state"))
    assert len(refused) > 30
    rule = "`checkpoint` must be the state of the same fit as it was saved, got state: "
    remedy = ". Remove this folder to fit from the start."
    assert all(each.startswith(rule) and each.endswith(remedy) for each in refused)
    assert "\n" not in "".join(refused)


def test_a_file_of_another_length_is_not_read(tmp_path, writes, monkeypatch):
    stopped(tmp_path / "state", writes, 1)
    (path,) = (tmp_path / "state").glob("*.part")
    os.truncate(path, 10**13)  # sparse: it takes no room, but would take memory
    with pytest.raises(ValueError, match=r"\.part has another length"):
        fit(tmp_path / "state")


@pytest.mark.parametrize("name", ["mine.txt", "fit.json.backup"])
def test_a_folder_of_something_else_is_refused(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(ValueError, match=r"it has no fit\.json of this version"):
        fit(tmp_path)
    with pytest.raises(ValueError, match="it is no folder"):
        fit(tmp_path / name)
    with pytest.raises(ValueError, match=r"it has no fit\.json of this version"):
        Journal(tmp_path).discard()
    assert [each.read_text() for each in tmp_path.iterdir()] == ["mine"]


def test_files_of_others_stay_in_the_folder(tmp_path, writes):
    stopped(tmp_path / "state", writes, 5)
    (tmp_path / "state" / "notes").write_text("mine")
    assert fit(tmp_path / "state") == computed(None)
    assert [each.name for each in (tmp_path / "state").iterdir()] == ["notes"]


def test_a_process_killed_before_its_first_file_leaves_no_obstacle(tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / ".fit.json.0123abcd").write_text("{")
    assert fit(tmp_path / "state") == computed(None)


def test_a_discarded_state_is_gone(tmp_path, writes):
    stopped(tmp_path / "state", writes, 5)
    Journal(tmp_path / "state").discard()
    assert not (tmp_path / "state").exists()


def test_two_processes_do_not_share_a_state(tmp_path, writes):
    stopped(tmp_path / "state", writes, 5)
    again = Journal(tmp_path / "state")
    with Journal(tmp_path / "state") as kept:
        kept.begin(FIT)
        for attempt in (lambda: again.begin(FIT), again.discard):
            with pytest.raises(ValueError, match="another process fits it now"):
                attempt()
    assert fit(tmp_path / "state") == computed(None)


def test_a_second_fit_that_began_meanwhile_is_not_saved(tmp_path):
    said, path = [], tmp_path / "state"
    with Journal(path) as one, Journal(path, warn=said.append) as two:
        one.begin(FIT)
        two.begin(FIT)
        computed(one)
        before = sorted((tmp_path / "state").iterdir())
        assert computed(two, seed=1) == computed(None, seed=1)
        two.remove()
    assert sorted((tmp_path / "state").iterdir()) == before
    assert said == [
        f"The state of the fit cannot be saved in {tmp_path / 'state'}: File exists. "
        "The fit goes on."
    ]


@pytest.mark.parametrize("files", [0, 3])
def test_a_full_disk_costs_no_fit(tmp_path, monkeypatch, files):
    put = state_folder.write_whole

    def full(path, content):
        if len(os.listdir(path.parent)) >= files:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        put(path, content)

    monkeypatch.setattr(state_folder, "write_whole", full)
    with Journal(tmp_path / "state", warn=(said := []).append) as kept:
        kept.begin(FIT)
        assert computed(kept) == computed(None)
    assert ["No space left on device" in line for line in said] == [True]
    assert (tmp_path / "state").exists() == (files > 0)
    monkeypatch.undo()
    assert fit(tmp_path / "state") == computed(None)

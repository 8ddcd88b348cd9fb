"""A fit that is killed goes on to the same result; other fits have another identity."""

import itertools

import jax
import numpy as np
import pandas as pd
import pytest

import graphgrad as gg
from graphgrad import journal
from graphgrad.data.frames import read_panel
from graphgrad.estimator.checkpoint import identity
from graphgrad.state_folder import StateFolder

DT = 0.25


@pytest.fixture(scope="module")
def rows():
    """A turn with noise, as in the tests of invariances, whose programs these share."""
    t = DT * np.arange(60)
    noise = np.random.default_rng(0).standard_normal((60, 2))
    return np.stack([np.cos(t), np.sin(t)], axis=1) + 0.05 * noise


class KilledError(BaseException):
    """What ends a process at once, but for tests."""


@pytest.mark.slow
def test_a_killed_fit_goes_on_to_the_same_result(rows, tmp_path, monkeypatch):
    """Killed before its 5th, then before its 25th file, and so on."""
    model = gg.GraphGrad(degree=1, dt=DT)
    whole = model.fit(rows)
    expected, text = jax.tree.leaves(whole.solution_), whole.summary()
    monkeypatch.setattr(journal, "PATIENCE", 0.0)
    write, written, kills, state = StateFolder.write, [], [5, 25, 45], tmp_path / "run"

    def fragile(self, name, arrays):
        if written and len(written) in kills:
            kills.remove(len(written))
            raise KilledError
        written.append(name)
        write(self, name, arrays)

    monkeypatch.setattr(StateFolder, "write", fragile)
    # As a process that is killed, it saves nothing when it ends.
    monkeypatch.setattr(
        journal.Journal, "__exit__", lambda self, *_: self._folder.release()
    )
    for _ in range(3):
        with pytest.raises(KilledError):
            model.fit(rows, checkpoint=state)
        assert state.exists()
    model.fit(rows, checkpoint=state)
    # What ended is never written again: it was not computed again.
    ended = [name for name in written if not name.endswith(".part")]
    assert len(ended) == len({*ended})
    assert not state.exists()
    for one, other in zip(expected, jax.tree.leaves(model.solution_), strict=True):
        np.testing.assert_array_equal(one, other)
    assert model.summary() == text


def test_what_cannot_be_compared_is_refused(rows, tmp_path):
    model = gg.GraphGrad(degree=1, dt=DT, observation=lambda x: x)
    with pytest.raises(ValueError, match="`checkpoint` must be left out where `observ"):
        model.fit(rows, checkpoint=tmp_path / "state")
    assert list(tmp_path.iterdir()) == []


def test_each_part_of_a_fit_is_in_its_identity(rows):
    """Nothing else is: the callback, and whether the names of columns are an index."""

    def identified(y=rows, times=None, inputs=None, seed=0, **settings):
        given = gg.GraphGrad(**settings).get_params(deep=False)
        panel = read_panel(y, times)
        acting = None if inputs is None else read_panel(inputs)
        return identity(jax.random.key(seed), given, panel, acting)

    first = identified()
    assert list(first) == ["data", "settings", "versions"]
    assert identified(callback=print, random_state=7) == first
    frame, times = pd.DataFrame(rows, columns=["a", "b"]), DT * np.arange(60)
    dates = pd.date_range("2001-01-01", periods=60)
    for what, others in {
        "data": [
            {"y": rows + 1e-15},
            {"y": [rows, rows]},
            {"y": frame},
            {"y": frame[["b", "a"]]},
            {"times": times},
            {"times": dates},
            {"inputs": rows},
        ],
        "settings": [
            {"seed": 1},
            {"degree": 3},
            {"constraints": [gg.forbid("x1", "x2")]},
            {"library": gg.Polynomial(2, 2)},
        ],
    }.items():
        found = [first, *(identified(**other) for other in others)]
        for one, other in itertools.combinations(found, 2):
            assert one[what] != other[what]
    with jax.enable_x64(not jax.config.jax_enable_x64):  # pyright: ignore
        assert identified()["versions"] != first["versions"]

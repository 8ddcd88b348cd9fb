"""Deprecated names: each calls the new one and warns once."""

import warnings

import jax
import numpy as np
import pytest

import graphgrad as gg
from graphgrad.selection import Choice, Tuning, choice


def _choose(monkeypatch):
    def new(*given, **options):
        return Choice(0, (given, options), np.zeros(1), None)  # pyright: ignore

    monkeypatch.setattr(choice, "choose_penalty", new)
    return gg.choose_weight(1, 2, 3, weights=(4,)).values


def _states(_):
    model = gg.GraphGrad()
    model.state_means_ = np.ones(2)
    return model.states_.tolist()


def _tuning(_):
    return Tuning(0.5, np.ones(1), np.ones(1)).weight


@pytest.mark.parametrize(
    ("use", "old", "new", "value"),
    [
        (
            *(_choose, "choose_weight", "choose_penalty"),
            ((1, 2, 3), {"penalties": (4,)}),
        ),
        (_states, "GraphGrad.states_", "GraphGrad.state_means_", [1, 1]),
        (_tuning, "Tuning.weight", "Tuning.penalty", 0.5),
    ],
)
def test_old_names_work_and_warn_once(use, old, new, value, monkeypatch):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        assert [use(monkeypatch) for _ in range(3)] == [value] * 3
    said = f"`{old}` is now `{new}`. The old name will be removed in graphgrad 0.3.0."
    assert [str(warning.message) for warning in found] == [said]
    assert found[0].category is FutureWarning


def test_old_names_are_removed_on_time():
    """With 0.3.0: delete what calls `renamed` until then, and its tests."""
    assert tuple(map(int, gg.__version__.split(".")[:2])) < (0, 3)


def test_weights_of_a_path_are_penalties():
    key, model = jax.random.key(0), gg.systems.damped_oscillator().model()
    with (
        pytest.warns(FutureWarning, match=r"`fit_path\(penalties=...\)`"),
        pytest.raises(ValueError, match="`ys` must"),
    ):
        gg.fit_path(key, np.zeros((1, 2)), model, weights=(1,))
    with pytest.raises(ValueError, match="`penalties` must be given, got None"):
        gg.fit_path(key, np.zeros((9, 2)), model)

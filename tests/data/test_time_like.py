"""Columns of times that are not called so are asked about, not fitted silently."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import graphgrad as gg
from graphgrad.data.files import read_table
from graphgrad.data.time_like import looks_like_times
from graphgrad.estimator import fitting
from helpers.stubs import least_squares

ROWS = np.random.default_rng(0).standard_normal((12, 2))
SECONDS = np.round(np.arange(12) / 30, 3)  # as tables print them, not quite even


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Fits by a stub."""
    monkeypatch.setattr(fitting, "adaptive", least_squares)


def _frame(name, values=SECONDS):
    return pd.DataFrame({name: values, "x": ROWS[:, 0], "y": ROWS[:, 1]})


@pytest.mark.parametrize(
    ("name", "values", "like"),
    [
        ("x", SECONDS, True),
        ("Unnamed: 0", np.arange(12), True),
        ("Time (s)", np.cumsum(np.arange(1, 13)), True),
        ("t [min]", np.cumsum(np.arange(1, 13)), True),
        ("days since sowing", np.cumsum(np.arange(1, 13)), True),
        ("T (K)", np.cumsum(np.arange(1, 13)), False),
        ("weight", np.cumsum(np.arange(1, 13)), False),
        ("Time (s)", np.arange(12) % 4, False),
        ("x", np.arange(12) + ROWS[:, 0] / 3, False),
        ("x", [0, 1, np.nan, 3, 4, 5, 6], False),
        ("x", np.arange(5), False),
    ],
)
def test_what_looks_like_times(name, values, like):
    assert bool(looks_like_times(name, np.asarray(values, float))) == like


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_column_of_times_by_another_name_is_named(make):
    frame = make(_frame("Time (s)").to_dict("list"))
    model = gg.GraphGrad(degree=1)
    words = "column 'Time (s)', which rises by 0.0333636 from row to row. If it has"
    with pytest.warns(UserWarning, match=re.escape(words)) as found:
        model.fit(frame)
    assert "give `times='Time (s)'`. If it is no state, drop it" in str(
        found[0].message
    )
    # Gone where the advice is taken; warnings are errors here.
    model.fit(frame, times="Time (s)")
    assert (model.state_names_, model.dynamics_) == (["x", "y"], "flow")
    with pytest.warns(UserWarning, match=r"column 0, .* give `times=y\[:, 0\]` with"):
        model.fit(_frame("a").to_numpy())
    with pytest.warns(UserWarning, match="row to row. If it is no state, drop it"):
        model.fit(_frame("row"), times=SECONDS)
    with pytest.warns(UserWarning, match="column 'hours'"):
        model.fit([_frame("hours"), _frame("hours", SECONDS + 3)])
    model.fit([_frame("a"), _frame("a", SECONDS[::-1])])
    model.fit(SECONDS[:, None])


def test_a_file_with_times_by_another_name_is_asked_about(tmp_path):
    path = tmp_path / "data.csv"
    _frame("Time (s)").to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"got 'Time .s.', which rises by") as caught:
        read_table(path)
    assert "give --time 'Time (s)'. If it is no state" in str(caught.value)
    assert "name the others, --columns x,y;" in str(caught.value)
    table = read_table(path, time="Time (s)")
    assert (table.clock, table.series.names) == ("Time (s)", ("x", "y"))
    assert read_table(path, columns=["x", "y"]).series.names == ("x", "y")
    assert len(read_table(path, columns=["Time (s)", "x"]).series.names or ()) == 2
    assert read_table(path, inputs=["Time (s)"]).series.names == ("x", "y")
    _frame("row").assign(t=SECONDS).to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"got 'row', which rises .* If it is no") as e:
        read_table(path)
    assert "--time" not in str(e.value)

"""Input data of the estimator, and errors for invalid data."""

import re
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd
import polars as pl
import pytest

import graphgrad as gg
from graphgrad.checks import check_choice
from graphgrad.data.copies import find_copies
from graphgrad.data.frames import filled_in, read_panel
from graphgrad.data.scales import initial_scales
from graphgrad.estimator import fitting
from graphgrad.fits.task import make_task
from helpers.stubs import least_squares

STEPS = 40


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Fits by a stub."""
    monkeypatch.setattr(fitting, "adaptive", least_squares)


@pytest.fixture
def y():
    """A damped oscillation with a value missing."""
    rng = np.random.default_rng(0)
    angle = 0.3 * np.arange(STEPS)
    y = (
        np.stack([np.cos(angle), np.sin(angle)], axis=1)
        * 0.98 ** np.arange(STEPS)[:, None]
    )
    y += 0.05 * rng.normal(size=y.shape)
    y[7, 0] = np.nan
    return y


def seen(model: Any) -> list:
    """Rows of H."""
    return np.asarray(model.model_.observation.matrix).tolist()


def frame(kind, y, **more) -> Any:
    columns = {"a": y[:, 0], "b": y[:, 1], **more}
    if kind == "polars":
        return pl.DataFrame(columns, nan_to_null=True)
    return pd.DataFrame(columns, index=pd.RangeIndex(5, 5 + len(y)))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_and_arrays_give_the_same(kind, y):
    given = frame(kind, y)
    ours = gg.GraphGrad(degree=1).fit(given)
    theirs = gg.GraphGrad(degree=1).fit(y)
    assert (ours.coef_ == theirs.coef_).all()
    assert ours.state_names_ == ["a", "b"]
    assert ours.feature_names_in_.tolist() == ["a", "b"]
    assert not hasattr(theirs, "feature_names_in_")
    assert ours.terms_ == ["1", "a", "b"]
    assert ours.equations()[0].startswith("a[t+1] = ")
    assert ours.score(given) == ours.score(y)
    # Columns are found by their names.
    swapped = given[["b", "a"]]
    assert (ours.smooth(swapped).mean == ours.smooth(given).mean).all()


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_missing_values_are_filled_in_the_same_kind_of_frame(kind, y):
    given = frame(kind, y, time=0.1 * np.arange(STEPS))
    model = gg.GraphGrad(degree=1).fit(given)
    filled = model.fill(given)
    assert type(filled) is type(given)
    assert list(filled.columns) == ["a", "b", "time"]
    values = filled[["a", "b"]].to_numpy()
    seen = ~np.isnan(y)
    assert (values[seen] == y[seen]).all()
    assert values[7, 0] == model.smooth(given).mean[7, 0]
    if kind == "pandas":
        assert (filled.index == given.index).all()
    # The fit's own data need not be given again.
    assert model.fill()[["a"]].to_numpy()[7] == model.state_means_[7, 0]
    assert model.fill([y, y])[1].shape == y.shape


def test_a_column_of_times_is_known_in_any_case(y):
    """As the command line knows it; and the step has nine digits there, too."""
    clock = 0.03 * np.arange(STEPS)
    model = gg.GraphGrad(degree=1).fit(frame("polars", y, Time=clock))
    assert (model.state_names_, model.dt_) == (["a", "b"], 0.03)


@pytest.mark.slow
def test_times_make_steps_that_differ(y):
    clock = np.cumsum(np.r_[0.0, np.full(STEPS - 2, 0.1), 0.2])
    model = gg.GraphGrad(degree=1).fit(y, times=clock)
    assert model.dt_ == pytest.approx(0.1)
    assert len(model._fit.data.ys) == STEPS  # a flow takes intervals as they are
    task = make_task(model.get_params(), model._fit.panel, dynamics="map")
    assert len(task.prepared.data.ys) == STEPS + 1  # the long interval in two steps
    assert model.state_means_.shape == y.shape
    column = gg.GraphGrad(degree=1).fit(frame("pandas", y, t=clock))
    assert (column.coef_ == model.coef_).all()
    assert column.state_names_ == ["a", "b"]
    assert model.forecast(2, members=3).times.tolist() == pytest.approx([4.1, 4.2])
    # Equal steps need no schedule, and change nothing.
    even = gg.GraphGrad(degree=1).fit(y, times=0.1 * np.arange(STEPS))
    assert even._fit.data.model.schedule is None
    stepped = gg.GraphGrad(degree=1, dt=0.1).fit(y)
    np.testing.assert_allclose(even.coef_, stepped.coef_, rtol=1e-6)


def test_dates_have_a_unit(y):
    dates = pd.date_range("2020-01-01", periods=STEPS, freq="min")
    model = gg.GraphGrad(degree=1).fit(frame("pandas", y, time=dates))
    assert (model.dt_, model.time_unit_) == (1, "minute")
    polars = frame("polars", y).with_columns(time=pl.Series(dates.to_numpy()))
    seconds = gg.GraphGrad(degree=1, time_unit="second").fit(polars)
    assert (seconds.dt_, seconds.time_unit_) == (60, "second")


def test_a_panel(y):
    parts = [y[:25], frame("pandas", y[25:]).to_numpy()]
    model = gg.GraphGrad(degree=1).fit(parts)
    assert [s.shape for s in model.state_means_] == [(25, 2), (15, 2)]
    assert [e.mean.shape for e in model.filter(parts)] == [(25, 2), (15, 2)]
    assert model.smooth(y).mean.shape == y.shape
    # Every series starts at its first observation.
    assert model.model_.schedule is None
    schedule = model._fit.data.model.schedule
    assert schedule is not None
    assert np.asarray(schedule.starts)[26].tolist() == y[25].tolist()
    assert np.isfinite(model.score(parts))
    with pytest.raises(ValueError, match="`y` must be one series to forecast from"):
        model.forecast(3)
    assert model.forecast(3, y, members=4).mean.shape == (3, 2)
    with pytest.raises(ValueError, match="`initial` must not be 'learn' for several"):
        gg.GraphGrad(degree=1, initial="learn").fit(parts)


@pytest.mark.slow
def test_inputs(y):
    u = np.sin(np.arange(STEPS))[:, None]
    model = gg.GraphGrad(degree=1).fit(y, inputs=u)
    assert model.terms_ == ["1", "x1", "x2", "u1"]
    assert model.coef_.shape == (2, 4)
    assert len(model.equations()) == 2
    assert model.adjacency_.shape == (2, 2)
    assert set(model.graph().nodes) == {"x1", "x2", "u1"}
    ahead = model.forecast(3, members=1, sources=(), future_inputs=u[:3])
    C, x = model.coef_, model.state_means_[-1]
    for t in range(3):
        x = C @ [1, *x, u[t, 0]]
        np.testing.assert_allclose(ahead.mean[t], x)
    assert model.evaluate(y, 2, 3, 5, inputs=u).rmse.shape == (2, 2)
    named = gg.GraphGrad(degree=1).fit(y, inputs=pd.DataFrame({"heat": u[:, 0]}))
    assert named.terms_[-1] == "heat"
    for names in ("heat", ["heat", "light"]):
        with pytest.raises(ValueError, match=r"or a frame, got names, .'heat'.* them"):
            gg.GraphGrad(degree=1).fit(frame("pandas", y), inputs=names)
    with pytest.raises(ValueError, match="`future_inputs` must be given"):
        model.forecast(3)
    with pytest.raises(ValueError, match=r"`inputs` must have shape \(1,\)"):
        model.smooth(y)


@pytest.mark.slow
def test_hidden_states_and_observations(y):
    hidden = gg.GraphGrad(degree=1, states=["a", "b", "h"]).fit(y)
    assert hidden.coef_.shape == (3, 4)
    assert seen(hidden) == [[1, 0, 0], [0, 1, 0]]
    assert hidden.forecast(2, members=3).observations.mean.shape == (2, 2)
    assert hidden.state_means_.shape == (STEPS, 3)
    by_name = gg.GraphGrad(degree=1, states=["a", "h", "b"]).fit(frame("pandas", y))
    assert seen(by_name) == [[1, 0, 0], [0, 0, 1]]
    listed = gg.GraphGrad(degree=1, states=["p", "q"], observation=["q", "q"]).fit(y)
    assert seen(listed) == [[0, 1], [0, 1]]
    matrix = gg.GraphGrad(degree=1, observation=[[1.0, 0], [1, 1]]).fit(y)
    assert matrix.state_names_ == ["x1", "x2"]
    first = np.linalg.solve([[1.0, 0], [1, 1]], y[0])
    np.testing.assert_allclose(np.asarray(matrix.model_.initial_mean), first)
    curved = gg.GraphGrad(
        degree=1,
        states=["a", "b"],
        observation=lambda x: jnp.sinh(x),
        initial=([0.8, 0.1], 0.1),
    ).fit(y)
    np.testing.assert_allclose(
        curved.fill(y)[7, 0], np.sinh(curved.smooth(y).mean[7, 0]), rtol=1e-6
    )


@pytest.mark.slow
def test_given_distributions_and_variances(y):
    model = gg.GraphGrad(
        degree=1,
        state_noise=[0.1, 0.2],
        observation_noise=gg.StudentT(0.01),
        initial=(y[0], 0.5),
    ).fit(y)
    assert model._fit.task.prepared.learn == ()
    np.testing.assert_allclose(model.state_noise_, [0.1, 0.2])
    np.testing.assert_allclose(model.observation_noise_, 0.01)
    assert np.isfinite(model.score(y))
    counts = gg.GraphGrad(
        degree=1, observation_noise=gg.Poisson(), initial=([5.0], 1.0)
    ).fit(np.random.default_rng(0).poisson(5, (30, 1)))
    assert counts.observation_noise_.tolist() == [1]
    assert (counts.forecast(2, members=9).observations.members % 1 == 0).all()


def test_scales_are_guessed_from_the_data():
    rng = np.random.default_rng(1)
    walk = np.cumsum(rng.normal(size=(4000, 1)), axis=0)
    scales = initial_scales([np.r_[walk[:2000]], walk[2000:]])
    smooth = 10 * np.sin(0.02 * np.arange(4000))[:, None]
    quiet = initial_scales([smooth + 0.5 * rng.normal(size=smooth.shape)])
    # Second differences of white noise scatter by 3 % here; a walk's are its steps'.
    np.testing.assert_allclose(quiet.noise, 0.25, rtol=0.1)
    np.testing.assert_allclose(scales.motion + 2 * scales.noise, 1, rtol=0.1)
    for still in (np.full((9, 1), 3.0), np.zeros((9, 1)), np.full((1, 1), 2.0)):
        assert all((part > 0).all() for part in initial_scales([still]))


TEXT = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": list("uvwx")})
DATED = pd.DataFrame({"a": [1.0, 2, 4, 3], "Datum": pd.date_range("2001", periods=4)})
FAR = pl.DataFrame({"b": pl.Series([2 * 10**9] * 4, dtype=pl.Int32).cast(pl.Date)})
LATE = pl.DataFrame({"b": [1] * 4, "t": pl.Series([2**61] * 4).cast(pl.Datetime("us"))})
ZONED = LATE.with_columns(pl.col("t").dt.replace_time_zone("UTC"))
TWICE = pd.DataFrame(np.zeros((4, 2)), columns=["a", "a"])


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (TEXT, {}, r"`y` must hold numbers, got .* in column 'b'"),
        (pl.DataFrame({"b": ["u"] * 4}), {}, r"got String in column 'b'"),
        (np.array([["u", "v"]] * 4), {}, "`y` must hold numbers"),
        (FAR, {}, "dates from year 1 to 9999, .* got others in column 'b'"),
        (ZONED, {}, "dates from year 1 to 9999, .* got others in column 't'"),
        (LATE.select(b="t"), {}, "dates from year 1 to 9999"),
        (TWICE, {}, r"a name of its own for each column, got \['a'\]"),
        ("data.csv", {}, "or a list of them, got 'data.csv'. .* `graphgrad fit data"),
        (Path("data.csv"), {}, r"Path\('data.csv'\). If .* `pandas.read_csv`"),
        ({"a": [1.0] * 4}, {}, r"got a dict. Make it a frame, `pandas.DataFrame\(y\)`"),
        (np.zeros((2, 2)), {}, "at least 3 rows, got 2"),
        (np.zeros(9), {}, r"`y.reshape\(-1, 1\)`"),
        (np.zeros((2, 9, 2)), {}, r"several series, give them as a list: `list\(y\)`"),
        (DATED, {}, r"in column 'Datum'. If it has the times, give `times='Datum'`;"),
        (DATED.astype(str), {}, "If it has the times, give `times='Datum'`; else drop"),
        ([], {}, "at least one series, got none"),
        ([np.zeros((4, 2)), np.zeros((4, 1))], {}, r"`y` must have shape \(4, 2\)"),
        (np.array([[1.0, np.nan]] * 4), {}, "got none in column number 1"),
        (pd.DataFrame({"t": range(4)}), {}, "a column other than the times"),
        (
            pd.DataFrame({"t": range(4), "time": range(4)}),
            {},
            "must have its times once",
        ),
        (pd.DataFrame({"a": [1.0] * 4, 3: [1.0] * 4}), {}, "all text or all numbers"),
        (np.full((4, 2), np.inf), {}, "`y` must be finite"),
        (np.zeros((4, 2)), {"dt": -1}, "`dt` must be a positive finite number, got -1"),
        (np.zeros((4, 2)), {"degree": 0}, "`degree` must be .* at least 1, got 0"),
        (
            np.zeros((4, 2)),
            {"states": ["a", "a"]},
            "`states` must be names that differ",
        ),
        (np.zeros((4, 2)), {"states": ["a", "1"]}, "got '1' twice"),
        (np.zeros((4, 2)), {"states": ["a", "t"]}, "must not contain 't'"),
        (np.zeros((4, 2)), {"states": ["a"]}, "a state for each of the 2 columns"),
        (np.zeros((4, 2)), {"states": "ab"}, "`states` must be a list of names"),
        (np.zeros((4, 2)), {"observation": ["x1", "x2"]}, "`states` must be given"),
        (np.zeros((4, 2)), {"states": ["a", "b"], "observation": ["a", "c"]}, "'c'"),
        (np.zeros((4, 2)), {"observation": np.eye(3)}, "`observation` must have shape"),
        (np.zeros((4, 2)), {"library": gg.Polynomial(3, 1)}, "must have 2 variables"),
        (np.zeros((4, 2)), {"library": "cubic"}, "`library` must be a library"),
        (np.zeros((4, 2)), {"solver": "other"}, "`solver` must be one of 'adaptive'"),
        (np.zeros((4, 2)), {"selection": "x"}, "`selection` must be one of"),
        (np.zeros((4, 2)), {"engine": "x"}, "`engine` must be one of 'auto'"),
        (np.zeros((4, 2)), {"penalty": -1}, "`penalty` must be a positive"),
        (np.zeros((4, 2)), {"state_noise": "x"}, "`state_noise` must be 'learn' or"),
        (np.zeros((4, 2)), {"state_noise": -1}, "`state_noise` must be positive"),
        (np.zeros((4, 2)), {"initial": [1, 2, 3]}, "a mean and a covariance"),
        (
            np.zeros((4, 2)),
            {"initial": ([1.0], 1)},
            r"`initial` must have shape \(2,\)",
        ),
        (
            np.zeros((4, 1)),
            {"states": ["a"], "observation": jnp.exp},
            "`initial` must be given where `observation` is a function",
        ),
        (
            pd.DataFrame({"c": [1.0] * 4}),
            {"states": ["a", "b"]},
            r"columns named as states, \['a', 'b'\], got 'c'",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.* columns that vary")
def test_invalid_data_are_rejected(data, options, message):
    with pytest.raises(ValueError, match=message):
        gg.GraphGrad(**{"degree": 1, **options}).fit(data)


@pytest.mark.parametrize(("factor", "offset"), [(1, 0), (-3, 0), (1.8, 32), (1e-9, 7)])
def test_copies_of_columns_are_named_before_the_fit(y, factor, offset):
    data = frame("pandas", y, f=factor * y[:, 0] + offset)
    with pytest.raises(ValueError, match="is a copy of another, got") as caught:
        gg.GraphGrad(degree=1).fit(data)
    words = str(caught.value)
    assert "column 'a'" in words
    assert "as column 'f', in all 39 rows" in words
    assert ("times" in words, "plus" in words) == (factor != 1, offset != 0)
    with pytest.raises(ValueError, match="column 'a' as input 'u'"):
        gg.GraphGrad(degree=1).fit(
            frame("pandas", y[8:]), inputs=pd.DataFrame({"u": y[8:, 0]})
        )
    with pytest.raises(ValueError, match="got column 0 as column 1, in all 80 rows"):
        gg.GraphGrad(degree=1).fit([y[:, [1, 1]]] * 2)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_that_never_change_are_named(y, kind):
    given = frame(kind, y, k=np.full(len(y), 3.0))
    words = "`y` must have columns that vary, got 3 in all rows of column 'k'. Drop it:"
    with pytest.warns(UserWarning, match=re.escape(words)):
        model = gg.GraphGrad(degree=1).fit(given)
    assert model.state_names_ == ["a", "b", "k"]
    seen_once = np.where(np.arange(len(y)) == 3, 0.0, np.nan)
    more = np.stack([y[:, 1], np.full(len(y), -1.5), seen_once], axis=1)
    words = "got -1.5 in all rows of column 1, 0 in all rows of column 2. Drop them:"
    with pytest.warns(UserWarning, match=re.escape(words)):
        gg.GraphGrad(degree=1).fit(more)
    words = "`inputs` must have columns that vary, got 1 in all rows of column 0."
    with pytest.warns(UserWarning, match=re.escape(words)):
        gg.GraphGrad(degree=1).fit(y, inputs=np.ones((len(y), 1)))
    # Values that differ from series to series do vary; warnings are errors here.
    level = [np.insert(y, 2, i, axis=1) for i in range(2)]
    gg.GraphGrad(degree=1).fit(level)


def test_columns_that_are_no_copies(y):
    two = y[:, [0, 0]]
    other = np.array(two)
    other[20, 1] = np.nan  # a row that only the first has
    near = two * [1, 1 + 1e-9] + 1e-9 * np.arange(len(y))[:, None] * [0, 1]
    jump = np.repeat([[0.0, 0.0], [1.0, 3.0]], 20, axis=0)
    counts = np.array([[1.0, 1], [2, 2], [2, 2], [3, 3], [1, 1]])
    for data in (other, near, jump, counts, np.zeros((9, 2)), np.full((9, 2), np.nan)):
        assert not list(find_copies(data))
    sensors = [
        {"states": ["a"], "observation": seen} for seen in (["a", "a"], [[1], [2]])
    ]
    for options in sensors:
        gg.GraphGrad(degree=1, **options).fit(two)
    both = {"states": ["a", "b"], "observation": [[1, 0], [1, 1]]}
    with pytest.raises(ValueError, match="is a copy of another"):
        gg.GraphGrad(degree=1, **both).fit(two)


def test_an_array_is_none_of_the_choices():
    with pytest.raises(ValueError, match="`engine` must be one of 'auto', got array"):
        check_choice("engine", np.zeros(0), ["auto"])


def test_invalid_data_after_the_fit_are_rejected(y):
    model = gg.GraphGrad(degree=1).fit(frame("pandas", y))
    with pytest.raises(
        ValueError, match=r"fitted to, \['a', 'b'\], got unknown \['c'\]"
    ):
        model.smooth(frame("pandas", y, c=y[:, 0]))
    with pytest.raises(ValueError, match=r"got no \['b'\]"):
        model.score(pd.DataFrame({"a": y[:, 0]}))
    with pytest.raises(
        ValueError, match=r"`y` must have shape \(40, 2\), got \(40, 1\)"
    ):
        model.filter(y[:, :1])
    with pytest.raises(ValueError, match="one number for each"):
        model.simulate([1.0])
    with pytest.raises(ValueError, match="`times` must rise"):
        model.smooth(y, times=-np.arange(STEPS))
    with pytest.raises(ValueError, match="one time for each row"):
        model.smooth(y, times=np.arange(3))


def test_reading_does_not_change_the_data(y):
    given = frame("polars", y)
    series = read_panel(given).series[0]
    before = y.copy()
    filled_in(series, np.zeros_like(y))
    np.testing.assert_array_equal(y, before)
    assert given["a"].null_count() == 1
    integers = pd.DataFrame({"n": pd.array([1, None, 3], dtype="Int64")})
    assert (
        filled_in(read_panel(integers).series[0], np.full((3, 1), 2.5))["n"][1] == 2.5
    )
    assert (
        read_panel(pd.DataFrame({"n": [1, None, 3]}, dtype=object)).series[0].values[2]
        == 3
    )

"""The clock: times from all sources, their unit, and dates back from them."""

import re
from datetime import datetime
from typing import Any

import jax
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import graphgrad as gg
from graphgrad.data.clock import SECONDS, Stamps, as_dates, as_numbers, numbered
from graphgrad.data.dates import parse_dates
from graphgrad.data.frames import read_inputs, read_panel
from graphgrad.data.series import row_dates, time_line
from graphgrad.estimator import fitting
from graphgrad.estimator.report import fit_findings
from helpers.stubs import least_squares

T = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=T)
DAYS = pd.date_range("2001-01-01", periods=T, freq="D")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Fits by a stub."""
    monkeypatch.setattr(fitting, "adaptive", least_squares)


def line(y: Any, **options: Any) -> str:
    panel = read_panel(y, **options)
    assert all("year" not in str(name).lower() for name in panel.names or ())
    return time_line(panel)


@pytest.mark.parametrize(
    ("freq", "words"),
    [
        ("W", "every 7 days, unit day"),
        ("MS", "every month, unit month"),
        ("ME", "every month, unit month"),
        ("QE", "every 3 months, unit month"),
        ("YS", "every year, unit year"),
        ("D", "every day, unit day"),
        ("2h", "every 2 hours, unit hour"),
        ("15min", "every 15 minutes, unit minute"),
        ("100ms", "every 0.1 seconds, unit second"),
        ("BME", "28 to 33 days apart (median 31), unit day"),
    ],
)
def test_a_unit_is_chosen_for_people(freq, words):
    index = pd.date_range("2001-01-01", periods=T, freq=freq)
    frame = pd.DataFrame({"x": X}, index=index)
    assert line(frame).endswith(words)
    panel = read_panel(frame)
    back = row_dates(panel.series[0], 1.0)
    assert (back == index.to_numpy().astype("M8[us]")).all()


QUARTERS = pd.DataFrame({"Year": 2001 + np.arange(T) // 4, "quarter": np.arange(T) % 4})
SOURCES = {
    "index": pd.DataFrame({"x": X}, index=DAYS),
    "index when": pd.DataFrame({"x": X}, index=DAYS.rename("when")),
    "column Date": pd.DataFrame({"x": X, "Date": DAYS}),
    "column DATETIME": pd.DataFrame({"x": X, "DATETIME": DAYS.strftime("%d.%m.%Y")}),
    "column time": pl.DataFrame({"x": X, "time": DAYS.to_numpy()}),
    "column date": pl.DataFrame({"x": X, "date": DAYS.date}),
    "column timestamp": pa.table({"x": X, "timestamp": pa.array(DAYS)}),
    "column day": pd.DataFrame({"x": X, "day": np.arange(T)}),
    "coordinate time": xr.Dataset({"x": ("time", X)}, coords={"time": DAYS}),
    "coordinate t": xr.DataArray(X, dims="t", coords={"t": DAYS}, name="x"),
    "columns year, month, day": pd.DataFrame(
        {"x": X, "year": DAYS.year, "month": DAYS.month, "day": DAYS.day}
    ),
}


@pytest.mark.parametrize("source", SOURCES)
def test_times_have_many_sources(source):
    assert line(SOURCES[source]) == f"time: {source}, 40 rows every day, unit day"
    assert read_panel(SOURCES[source]).names == ("x",)


def test_other_sources():
    periods = pd.period_range("2001-01", periods=T, freq="M")
    assert line(pd.DataFrame({"x": X}, index=periods)).endswith(
        "every month, unit month"
    )
    hours = pd.to_timedelta(2 * np.arange(T), unit="h")
    assert line(pd.DataFrame({"x": X}, index=hours)).endswith("2 hours, unit hour")
    quarters = QUARTERS.assign(quarter=QUARTERS["quarter"] + 1, gdp=X)
    expected = "time: columns Year, quarter, 40 rows every 3 months, unit month"
    assert line(quarters) == expected
    compact = DAYS.strftime("%Y%m%d").astype(int)
    assert line(pd.DataFrame({"x": X, "date": compact})).endswith("every day, unit day")
    split = {"Date": ["31/12/2001"] * 24, "Time": [f"{i}.30.00" for i in range(24)]}
    assert line(pd.DataFrame({"x": X[:24], **split})).endswith("every hour, unit hour")
    years = pd.DataFrame({"x": X, "year": 1900 + np.arange(T)})
    assert line(years) == "time: column year, 40 rows every year, unit year"
    assert line(X[:, None], times=DAYS) == "time: `times`, 40 rows every day, unit day"
    sites = xr.DataArray(
        np.stack([X, X]),
        dims=["site", "time"],
        coords={"time": DAYS, "site": ["north", "south"]},
    )
    assert read_panel(sites).names == ("north", "south")
    assert read_panel(sites).series[0].values.shape == (T, 2)


def test_a_bare_number_index_is_time_only_if_asked():
    frame = pd.DataFrame({"x": X}, index=np.arange(1900, 1900 + T))
    assert line(frame) == ""
    assert line(frame, times="index") == "time: index, 40 rows every 1"
    named = frame.rename_axis("year")
    assert line(named) == "time: index year, 40 rows every year, unit year"
    when = frame.assign(when=0.5 * np.arange(T))
    assert line(when, times="when") == "time: column when, 40 rows every 0.5"
    assert line(pd.DataFrame({"T": X})) == ""
    assert read_panel(pd.DataFrame({"T": X})).names == ("T",)


def test_zones():
    """Wall clocks for midnights, whole hours when the clocks change."""
    for freq in ("D", "h"):
        zoned = pd.date_range("2001-03-24", periods=T, freq=freq, tz="Europe/Paris")
        unit = {"D": "day", "h": "hour"}[freq]
        for frame in (
            pd.DataFrame({"x": X}, index=zoned),
            pd.DataFrame({"x": X, "date": zoned}),
            pl.DataFrame({"x": X, "date": pl.Series(zoned)}),
        ):
            assert line(frame).endswith(f"every {unit}, unit {unit}")
            first = row_dates(read_panel(frame).series[0], 1.0)[0]
            assert first == np.datetime64("2001-03-24")


SHUFFLED = pd.DataFrame({"x": X}, index=DAYS[np.r_[5, :5, 6:T]])


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (QUARTERS.assign(x=X), {}, "whole numbers from 1 to 4 in column 'quarter'"),
        (QUARTERS[["quarter"]].assign(x=X), {}, "a column of years beside parts"),
        (QUARTERS[["Year"]].assign(x=X), {}, "Give columns beside it that complete"),
        (SOURCES["index"].assign(year=2001), {}, "got its index and column year"),
        (SOURCES["column Date"].assign(month=1), {}, "got columns Date, month"),
        (SOURCES["index"].assign(t=X), {}, "got its index and column t. Drop or"),
        (SOURCES["index"], {"times": "now"}, "`times` must be one of 'x', got 'now'"),
        (SOURCES["index"], {"time_unit": "fortnight"}, "`time_unit` must be one of"),
        (SOURCES["column day"], {"time_unit": "hour"}, "'auto' or 'day' for column"),
        (SOURCES["index"][::-1], {}, "newest first. Sort the rows by time"),
        (SHUFFLED, {}, "got 2001-01-01 in row 2 after 2001-01-06, index: they are not"),
        (
            SOURCES["index"].iloc[[0, 1, 2, 1]],
            {},
            "got 2001-01-02 twice, in rows 2 and 4",
        ),
        (
            pd.DataFrame({"x": X[:3], "date": ["1/2/2001", "2/2/2001", "3/2/2001"]}),
            {},
            "dates in a known order, got '1/2/2001'",
        ),
        (
            pd.DataFrame({"x": X[:2], "date": ["13/2/2001", "2/13/2001"]}),
            {},
            "dates in one order, got '13/2/2001' and '2/13/2001'",
        ),
        (
            pd.DataFrame({"x": X[:2], "date": ["2001-01-01", None]}),
            {},
            "in row 2, column 'date'",
        ),
        (
            pd.DataFrame({"x": X[:4]}, index=pd.MultiIndex.from_product([[0, 1]] * 2)),
            {},
            "Give a list of frames, one for each series",
        ),
        (xr.DataArray(np.zeros((3, 2, 2)), dims=["t", "a", "b"]), {}, "`isel`"),
    ],
)
def test_times_that_are_refused(data, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        read_panel(data, **options)


def test_calendar_months_and_years_are_even_steps():
    ends = pd.date_range("2001-01-31", periods=T, freq="ME").to_numpy().astype("M8[us]")
    for unit, length in (("month", 1), ("year", 1 / 12)):
        times, clock = numbered(Stamps("index", ends), unit)
        np.testing.assert_allclose(times, length * np.arange(T), rtol=1e-15)
        assert (as_dates(times, clock) == ends).all()
    thirtieth = np.array(["2001-01-30", "2001-02-28", "2001-03-30"], "M8[us]")
    times, clock = numbered(Stamps("index", thirtieth), "month")
    assert times.tolist() == [0, 1, 2]
    assert as_dates(3, clock) == np.datetime64("2001-04-30")
    # Dates on different days of the month are counted in mean months.
    uneven = np.array(["2001-01-01", "2001-01-31"], "M8[us]")
    times, clock = numbered(Stamps("index", uneven), "month")
    assert times[1] == pytest.approx(30 / (365.2425 / 12))
    assert as_dates(times, clock).tolist() == uneven.tolist()


@given(
    st.sampled_from(list(SECONDS)),
    st.datetimes(datetime(1850, 1, 1), datetime(2150, 1, 1)),
    st.lists(st.integers(1, 10**10), min_size=1, max_size=5),
)
def test_dates_and_numbers_are_inverse(unit, first, steps):
    """To a millisecond, also where the calendar counts."""
    passed = np.cumsum([0, *steps]).astype("m8[ms]")
    dates = np.datetime64(first.replace(microsecond=0), "us") + passed
    times, clock = numbered(Stamps("index", dates), unit)
    assert (np.diff(times) > 0).all()
    assert (np.abs(as_dates(times, clock) - dates) <= np.timedelta64(1, "ms")).all()
    later = dates[0] + np.timedelta64(1, "D")
    number = as_numbers(later, clock)
    assert abs(as_dates(number, clock) - later) <= np.timedelta64(1, "ms")


@pytest.mark.parametrize(
    "text",
    [
        *("1999-12-31", "1999/12/31", "31.12.1999", "31/12/1999", "12/31/1999"),
        *("31-12-1999", "31 Dec 1999", "Dec 31, 1999", "31-December-1999", "19991231"),
        "1999-12-31T02:00:00+02:00",
    ],
)
def test_dates_in_words_and_numbers(text):
    assert parse_dates([text], "column date")[0] == np.datetime64("1999-12-31")


def test_parts_of_years():
    texts = ["1999Q4", "1999-Q4", "1999M10", "1999-10", "Oct 1999", "1999-10-01 00:00"]
    assert set(parse_dates(texts, "index")) == {np.datetime64("1999-10-01", "us")}
    (late,) = parse_dates(["31/12/1999 11:05:30.5 PM"], "index")
    assert late == np.datetime64("1999-12-31T23:05:30.500")
    (given_first,) = parse_dates(["1/2/1999"], "index", day_first=True)
    assert given_first == np.datetime64("1999-02-01")


def test_frames_in_a_list_have_columns_in_any_order():
    one = pd.DataFrame({"a": X, "b": 2 * X}, index=DAYS)
    other = one[["b", "a"]].iloc[:5]
    panel = read_panel([one, other])
    assert panel.names == ("a", "b")
    assert (panel.series[1].values == panel.series[0].values[:5]).all()
    with pytest.raises(ValueError, match="the same columns in all series"):
        read_panel([one, other.rename(columns={"a": "c"})])
    with pytest.raises(ValueError, match="dates in all series or in none"):
        read_panel([one, one.assign(t=np.arange(T)).reset_index(drop=True)])


def test_masks_and_names_are_kept():
    masked = np.ma.masked_equal(np.array([[1.0, 2], [3, -1], [5, 6]]), -1)
    values = read_panel(masked).series[0].values
    np.testing.assert_array_equal(values, [[1, 2], [3, np.nan], [5, 6]])
    table = pa.table({"prey": [1.0, 2, None], "fox": [3, 4, 5]})
    assert read_panel(table).names == ("prey", "fox")
    assert np.isnan(read_panel(table).series[0].values[2, 0])


def test_inputs_have_the_times_of_the_data():
    frame = pd.DataFrame({"x": X}, index=DAYS)
    later = pd.DataFrame({"u": X}, index=DAYS + pd.Timedelta("1D"))
    panel = read_panel(frame)
    with pytest.raises(ValueError, match="`inputs` must have the times of `y`"):
        read_inputs(later, panel)
    assert read_inputs(later.set_index(DAYS), panel) is not None


@pytest.fixture(scope="module")
def weekly():
    index = pd.date_range("2001-01-01", periods=T, freq="7D", name="date")
    angle = 0.3 * np.arange(T)
    noise = 0.05 * RNG.normal(size=(2, T))
    return pd.DataFrame(
        {"a": np.cos(angle) + noise[0], "b": np.sin(angle) + noise[1]}, index=index
    )


@pytest.mark.slow
def test_a_fit_knows_its_clock(weekly, tmp_path):
    model = gg.GraphGrad(degree=1).fit(weekly)
    assert (model.dt_, model.time_unit_, model.dynamics_) == (7, "day", "flow")
    said = "time: index date, 40 rows every 7 days, unit day"
    assert said in model.summary().splitlines()
    # Rates are per unit, and dt is in it.
    weeks = gg.GraphGrad(degree=1, time_unit="week", dt=1).fit(weekly)
    both = (weeks.coef_ != 0) & (model.coef_ != 0)  # the stub has a threshold
    assert both.sum() == 5
    np.testing.assert_allclose(weeks.coef_[both], 7 * model.coef_[both], rtol=1e-6)
    ahead = model.forecast(2, members=3)
    days = model.as_dates(ahead.times).astype("M8[D]")
    assert days.tolist() == [*np.array(["2001-10-08", "2001-10-15"], "M8[D]").tolist()]
    asked = model.forecast(at=["2001-10-08", "2001-10-09"], members=3)
    assert asked.times.tolist() == [280, 281]
    between = model.smooth(at=pd.to_datetime(["2001-01-01", "2001-01-04"]))
    assert (between.mean == model.smooth(at=[0.0, 3.0]).mean).all()
    # Later data are in the same unit, whatever their interval.
    daily = weekly[:5].set_axis(pd.date_range("2003-01-01", periods=5))
    with jax.enable_x64(True):
        (read,) = model._fit.rows(daily, None, None)[0].series
    assert read.times is not None
    assert read.times.tolist() == [0, 1, 2, 3, 4]
    axis = model.plot_states()[-1].lines[-1].get_xdata()
    assert np.asarray(axis)[0] == np.datetime64("2001-01-01")
    with jax.enable_x64(True):
        found = fit_findings(jax.random.key(0), model._fit, steps=0)
    assert found.dated
    assert found.times is not None
    assert found.times[:2].tolist() == [978_307_200_000, 978_912_000_000]
    model.save(tmp_path / "fit.zip")
    loaded = gg.GraphGrad.load(tmp_path / "fit.zip")
    assert loaded._fit.panel.series[0].clock == model._fit.panel.series[0].clock
    assert loaded.as_dates(7.0) == np.datetime64("2001-01-08")
    assert loaded.time_unit_ == "day"


def test_a_fit_without_dates_refuses_them(weekly):
    model = gg.GraphGrad(degree=1, dt=0.1).fit(weekly.to_numpy())
    with pytest.raises(
        ValueError, match="`times` must be numbers, as those of the fit"
    ):
        model.smooth(weekly.rename(columns={"a": "x1", "b": "x2"}))
    with pytest.raises(ValueError, match="`at` must be numbers"):
        model.forecast(at=["2001-10-08"])
    assert model.as_dates([0.5]).tolist() == [0.5]

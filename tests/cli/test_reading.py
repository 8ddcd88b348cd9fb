"""Tables of all kinds, as arrays."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from graphgrad.cli.options import DEFAULTS, gather, write_config
from graphgrad.cli.preview import (
    COMPILING,
    FIRST_ROWS,
    duration,
    late_line,
    preview,
    step,
)
from graphgrad.data import columns
from graphgrad.data.clock import shown_times
from graphgrad.data.files import read_table
from graphgrad.resources import fit_bytes
from graphgrad.solvers.adaptive import windows

NAN = np.nan


def _read(folder, text, **options):
    path = folder / "data.csv"
    path.write_text(text, encoding="utf-8")
    return read_table(path, **options)


@pytest.mark.parametrize(
    "text",
    [
        "x,y\n1,2\n,3\n4,NaN\n",
        "x,y\r\n1,2\r\nNA,3\r\n4,nan\r\n\r\n",
        "\ufeffx;y\n1;2\n null ;3\n4;na\n",
        "x\ty\n1\t2\n\t3\n\n4\t\n",
        '"x", y\n"1",2\n"",3\n4e0,""\n',
    ],
)
def test_csv_of_all_kinds(tmp_path, text):
    table = _read(tmp_path, text)
    assert table.series.names == ("x", "y")
    np.testing.assert_array_equal(table.series.values, [[1, 2], [NAN, 3], [4, NAN]])
    assert table.series.times is None


def test_without_a_header(tmp_path):
    table = _read(tmp_path, "1,2\n2,\n3,4\n")
    assert table.series.names == ("x1", "x2")
    np.testing.assert_array_equal(table.series.values, [[1, 2], [2, NAN], [3, 4]])


def test_in_one_column_a_blank_line_is_a_cell(tmp_path):
    table = _read(tmp_path, "x\n1\n\n3\n\n\n")
    np.testing.assert_array_equal(table.series.values, [[1], [NAN], [3]])


def test_times(tmp_path):
    table = _read(tmp_path, "x,TIME\n1,0.5\n2,1\n4,3\n")
    assert (table.series.names, table.clock) == (("x",), "TIME")
    assert table.series.times is not None
    assert table.series.times.tolist() == [0.5, 1, 3]
    assert step(table, None) == (1.25, "from column TIME")
    dates = _read(
        tmp_path, "day,x\n2024-05-30,1\n2024-05-31,2\n2024-06-01,4\n", time="day"
    )
    assert dates.series.times is not None
    assert dates.series.times.tolist() == [0, 1, 2]
    shown = shown_times(dates.series.times, dates.series.clock)
    assert shown == ["2024-05-30", "2024-05-31", "2024-06-01"]


def test_columns_that_are_not_chosen_may_hold_anything(tmp_path):
    text = "who,,y,x\nme,0,1,2\nyou,1,2,3\nshe,2,4,4\n"
    table = _read(tmp_path, text, columns=["x", "y"])
    assert table.series.values.tolist() == [[2, 1], [3, 2], [4, 4]]


def test_text_far_down_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr(columns, "BLOCK", 4)
    text = "x\n" + "\n".join(map(str, range(10))) + "\noops\n"
    with pytest.raises(ValueError, match=r"'oops' in row 11, column 'x'"):
        _read(tmp_path, text)
    table = _read(tmp_path, text.replace("oops", "NA"))
    assert table.series.values.shape == (11, 1)


def test_parquet_as_csv(tmp_path):
    frame = pl.DataFrame({"t": [0.0, 0.1, 0.2], "x": [1, None, 3], "y": [1.5, NAN, 2]})
    frame.write_parquet(tmp_path / "data.parquet")
    frame.write_csv(tmp_path / "data.csv")
    one, two = (read_table(tmp_path / f"data.{kind}") for kind in ("parquet", "csv"))
    np.testing.assert_array_equal(one.series.values, two.series.values)
    assert (one.series.names, one.clock) == (two.series.names, two.clock)
    dated = frame.with_columns(
        t=pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 3))
    )
    dated.write_parquet(tmp_path / "dated.parquet")
    for unit, length in (("auto", 1), ("second", 86400)):
        read = read_table(tmp_path / "dated.parquet", time_unit=unit).series
        assert read.times is not None
        assert read.times.tolist() == [0, length, 2 * length]
    named = frame.with_columns(x=pl.Series(["a", "1", "2"]))
    named.write_parquet(tmp_path / "named.parquet")
    with pytest.raises(ValueError, match=r"'a' in row 1, column 'x'"):
        read_table(tmp_path / "named.parquet")


def test_expected_duration_of_long_series(tmp_path):
    rows = np.random.default_rng(0).normal(size=(30_000, 2))
    text = "x,y\n" + "\n".join(f"{a},{b}" for a, b in rows)
    table = _read(tmp_path, text)
    options = {**DEFAULTS, "data": "data.csv"}
    assert len(list(preview(table, options))) == 3  # most rows cost little
    options["states"] = ["x", "y", "hidden"]
    lines = list(preview(table, options))
    assert len(lines) == 4
    assert lines[2].startswith("Dynamics: map, x[t+1] = C phi(x), since there are no")
    assert lines[3].startswith("Expected duration: about 5 min")
    timed = list(preview(table, {**options, "dt": 0.1}))
    assert timed[3].startswith("Expected duration: about 11 min")
    assert "up to 47 min if no equations" in lines[3]
    # Delays are tried beside none.
    auto = list(preview(table, {**options, "lags": "auto"}))
    assert auto[3].startswith("Expected duration: about 9 min")
    first = table.series._replace(values=table.series.values[:200])
    short = table._replace(series=first)
    assert len(list(preview(short, options))) == 3


def test_a_late_fit_is_said_once():
    lines = []
    tell = late_line(100.0, lines.append)
    for passed in (0.0, 199.0, 250.0, 500.0):
        tell(passed)
    (line,) = lines
    assert line.startswith("After 4 min the fit goes on")
    assert line.endswith("up to 17 min.")
    # A fit that was expected to be short is late after twice what is worth a line.
    tell = late_line(1.0, lines.append)
    tell(39.0)
    assert len(lines) == 1
    tell(41.0)
    assert lines[1].endswith("up to 3 min.")


@pytest.mark.parametrize(
    ("states", "terms", "rows", "kind", "seconds", "gigabytes"),
    [
        (3, 10, 100, "map", 0.14, 0.49),
        (3, 10, 1000, "map", 0.57, 0.59),
        (3, 10, 10_000, "map", 2.6, 0.67),
        (3, 10, 100_000, "map", 16, 1.1),
        (3, 10, 1_000_000, "map", 154, 2.6),
        (3, 10, 100, "flow", 0.47, 0.53),
        (3, 10, 1000, "flow", 1.2, 0.69),
        (3, 10, 10_000, "flow", 4.8, 0.79),
        (3, 10, 100_000, "flow", 33, 1.4),
        (3, 10, 1_000_000, "flow", 374, 3.2),
        (6, 28, 200, "map", 1.1, 0.55),
        (10, 66, 200, "map", 7.2, 0.69),
        (20, 231, 200, "map", 40, None),
        (40, 861, 200, "map", 132, None),
        (20, 1771, 100, "map", 138, None),
    ],
)
def test_expectations_are_near_measured_fits(
    states, terms, rows, kind, seconds, gigabytes
):
    """Within a factor of 2 of `docs/scoreboards/speed.md`, with compiled programs."""
    expected = duration(rows, states, terms, kind) - COMPILING[kind]
    assert 0.5 < expected / seconds < 2
    if gigabytes is not None:
        assert 0.5 < fit_bytes(rows, states) / 1e9 / gigabytes < 2


def test_windows_are_those_of_the_solver():
    assert FIRST_ROWS == windows.FIRST_ROWS


def test_config_round_trip(tmp_path):
    given = {
        "data": str(tmp_path / 'odd "name" é.csv'),
        "columns": "x, y",
        "states": "x,y,\x7f",
        "observation_noise": "1,2.5",
        "dt": 1e-7,
    }
    options = gather(None, given)
    (tmp_path / "run").mkdir()
    write_config(tmp_path / "config.toml", options, tmp_path / "run")
    (tmp_path / "config.toml").rename(tmp_path / "run" / "config.toml")
    again = gather(tmp_path / "run" / "config.toml", {})
    assert Path(again.pop("data")).resolve() == Path(options.pop("data")).resolve()
    assert again == options


def test_options_that_may_be_numbers_or_text_are_read_from_text():
    given = {"data": "data.csv", "lags": "2", "hidden": "1", "seasons": "12"}
    options = gather(None, given)
    assert [options[name] for name in ("lags", "hidden", "seasons")] == [2, 1, 12.0]
    assert gather(None, {**given, "lags": "x=2, u=3"})["lags"] == {"x": 2, "u": 3}
    assert gather(None, {**given, "lags": "auto"})["lags"] == "auto"
    for wrong in ("-1", "1.5", "two", "\u0662"):
        with pytest.raises(ValueError, match="`--lags` must be a whole number"):
            gather(None, {**given, "lags": wrong})


def test_quarters_of_their_own_column(tmp_path):
    path, options = tmp_path / "data.csv", gather(None, {"data": "data.csv"})
    rows = [f"{1990 + i // 4},{1 + i % 4},{i * i}" for i in range(12)]
    path.write_text("\n".join(["year,quarter,x", *rows]) + "\n", encoding="utf-8")
    lines = list(preview(read_table(path), options))
    assert lines[0] == "time: columns year, quarter, 12 rows every 3 months, unit month"
    assert "1 state x; 12 rows" in lines[1]
    assert "since columns year, quarter have the times" in lines[-1]
    rows = [f"{1990 + i // 4}Q{1 + i % 4},{i * i}" for i in range(12)]
    path.write_text("\n".join(["quarter,x", *rows]) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match="such as 1990Q1, call it date"):
        read_table(path)
    path.write_text("\n".join(["date,x", *rows]) + "\n", encoding="utf-8")
    assert "every 3 months" in next(iter(preview(read_table(path), options)))

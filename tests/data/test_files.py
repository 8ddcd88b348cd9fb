"""Files as they are found: each obstacle, and what is said about it."""

import re
import sys
import zipfile
from contextlib import suppress

import numpy as np
import openpyxl
import pandas as pd
import polars as pl
import pytest

from graphgrad import resources
from graphgrad.cli.options import DEFAULTS, gather
from graphgrad.cli.preview import preview
from graphgrad.data.files import read_table
from graphgrad.data.series import Panel, time_line
from helpers import ROOT

NAN = np.nan
DAYS = pd.date_range("1999-12-20", periods=12)
FRAME = pd.DataFrame({"x": np.arange(12) ** 2 / 4, "y": 3.0 - np.arange(12) % 5})


def _read(folder, text, **options):
    path = folder / "data.csv"
    path.write_text(text, encoding="utf-8")
    return read_table(path, **options)


def _refused(folder, text, message, **options):
    with pytest.raises(ValueError, match=re.escape(message)):
        _read(folder, text, **options)


def _time(table):
    return time_line(Panel((table.series,), several=False))


def test_an_index_that_pandas_wrote(tmp_path):
    counted = _read(tmp_path, FRAME.to_csv())
    assert counted.series.names == ("x", "y")
    assert counted.notes == (
        "The first column has no name and counts the rows: left out.",
    )
    assert counted.notes[0] in preview(counted, {**DEFAULTS, "data": "data.csv"})
    dated = _read(tmp_path, FRAME.set_index(DAYS).to_csv())
    assert _time(dated) == "time: column index, 12 rows every day, unit day"
    assert (dated.series.values == FRAME.to_numpy()).all()
    odd = FRAME.set_index(pd.Index(np.arange(12) ** 2)).to_csv()
    _refused(tmp_path, odd, "Give --time index if they are the times")
    assert _time(_read(tmp_path, odd, time="index")).startswith(
        "time: column index, 12"
    )
    assert _read(tmp_path, odd, columns=["y"]).series.names == ("y",)
    named = FRAME.set_index(pd.Index(list("abcdefghijkl"))).to_csv()
    _refused(tmp_path, named, "must name its first column")
    both = _read(tmp_path, FRAME.assign(t=np.arange(12)).to_csv())
    assert (both.clock, both.series.names) == ("t", ("x", "y"))


@pytest.mark.parametrize("kind", ["parquet", "xlsx"])
def test_parquet_and_excel_of_pandas(tmp_path, kind):
    path = tmp_path / f"data.{kind}"
    dated = FRAME.set_index(DAYS)
    dated.to_parquet(path) if kind == "parquet" else dated.to_excel(path)
    table = read_table(path)
    assert "12 rows every day, unit day" in _time(table)
    assert (table.series.values == FRAME.to_numpy()).all()


def test_a_parquet_file_that_ends_polars_is_refused(capfd):
    """Its damage makes Polars ask for 2e18 bytes, which no process survives."""
    with pytest.raises(ValueError, match=r"`data` must be Parquet, got .* is damaged"):
        read_table(ROOT / "tests" / "fixtures" / "damaged.parquet")
    assert capfd.readouterr().err == ""


def test_cells_far_outside_the_table_are_left_out(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (["x", "y"], [1, 2.5], [2, None], [4, 1], [None, 7]):
        sheet.append(row)
    sheet.cell(1_048_576, 16_384).number_format = "0.00"
    book.save(tmp_path / "data.xlsx")
    series = read_table(tmp_path / "data.xlsx").series
    assert series.names == ("x", "y")
    np.testing.assert_array_equal(
        series.values, [[1, 2.5], [2, np.nan], [4, 1], [np.nan, 7]]
    )


def test_damaged_and_huge_workbooks_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "data.xlsx"
    FRAME.to_excel(path, index=False)
    with zipfile.ZipFile(path) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    for name in parts:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as damaged:
            for other, content in parts.items():
                damaged.writestr(other, content[:100] if other == name else content)
        with suppress(ValueError):  # which any other error is not
            read_table(path)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 6] = 132  # version 13.2 of the format
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"must be an Excel workbook, got .*13.2"):
        read_table(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("xl/worksheets/sheet1.xml", bytes(10**7))
    monkeypatch.setattr(resources, "memory_limit", lambda: 10**7)
    with pytest.raises(ValueError, match=r"`data` must fit into memory, .* unpacks"):
        read_table(path)


def test_excel_without_the_package_says_how(tmp_path, monkeypatch):
    FRAME.to_excel(tmp_path / "data.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ValueError, match=r'pip install "graphgrad\[excel\]"'):
        read_table(tmp_path / "data.xlsx")
    (tmp_path / "old.xls").write_bytes(b"")
    with pytest.raises(ValueError, match=r"Save the sheet as CSV or \.xlsx"):
        read_table(tmp_path / "old.xls")
    monkeypatch.undo()
    (tmp_path / "bad.xlsx").write_bytes(b"no zip")
    with pytest.raises(ValueError, match="must be an Excel workbook"):
        read_table(tmp_path / "bad.xlsx")


@pytest.mark.parametrize(
    ("text", "values", "note"),
    [
        ("x;y\n1,5;2\n0,25;3\n-4;1e1\n", [1.5, 0.25, -4], "with decimal commas"),
        ("x;y\n1.234,5;2\n0,25;3\n4;1\n", [1234.5, 0.25, 4], "with decimal commas"),
        ('x,y\n"1,5",2\n"0,25",3\n4,1\n', [1.5, 0.25, 4], "with decimal commas"),
        ('x,y\n"1,234",2\n999,3\n4,1\n', [1234, 999, 4], "with separated thousands"),
        ("x,y\n1 234,2\n1'000,3\n4,1\n", [1234, 1000, 4], "with separated thousands"),
        ("x,y\n1\u00a0234,2\n\u22122,3\n,1\n", [1234, -2, NAN], "with separated th"),
        ("x,y\n12 %,2\n7.5%,3\n,1\n", [12, 7.5, NAN], "in percent"),
        ("x;y\n12,5%;2\n7%;3\nNA;1\n", [12.5, 7, NAN], "in percent and with decimal"),
    ],
)
def test_numbers_as_people_write_them(tmp_path, text, values, note):
    table = _read(tmp_path, text)
    np.testing.assert_array_equal(table.series.values[:, 0], values)
    assert table.notes[0].startswith(f"Column x: numbers {note}")


def test_points_beside_decimal_commas_are_thousands(tmp_path):
    table = _read(tmp_path, "x;y;t\n0,5;1.234;0,5\n1,5;2.500;1\n2;1;1,5\n")
    assert table.series.values[:, 1].tolist() == [1234, 2500, 1]
    assert table.series.times is not None
    assert table.series.times.tolist() == [0.5, 1, 1.5]
    _refused(tmp_path, "x;y\n0.5;1,234\n1;2,345\n2;1,500\n", "may have a decimal comma")


def test_dates_with_the_day_first(tmp_path):
    for form in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y"):
        text = FRAME.assign(Date=DAYS.strftime(form)).to_csv(index=False)
        table = _read(tmp_path, text)
        assert _time(table) == "time: column Date, 12 rows every day, unit day"
        assert table.series.clock is not None
        assert str(table.series.clock.epoch).startswith("1999-12-20")
    unclear = "date,x\n01/02/1999,1\n02/02/1999,2\n03/02/1999,4\n"
    _refused(tmp_path, unclear, "Give --day-first or --no-day-first")
    assert "every day" in _time(_read(tmp_path, unclear, day_first=True))
    assert "every month" in _time(_read(tmp_path, unclear, day_first=False))
    assert gather(None, {"data": "x.csv", "day_first": False})["day_first"] is False


def test_dates_by_another_name_are_asked_about(tmp_path):
    text = FRAME.assign(**{"Tag der Messung": DAYS}).to_csv(index=False)
    _refused(tmp_path, text, "If it has the times, give --time 'Tag der Messung'; else")
    table = _read(tmp_path, text, time="Tag der Messung")
    assert "every day" in _time(table)
    _refused(tmp_path, "x,y\n1,A1\n2,B\n3,C\n", "column 'y'. Correct it, leave it")


def test_rows_that_are_newest_first_are_reversed(tmp_path):
    text = FRAME.assign(date=DAYS)[::-1].to_csv(index=False)
    table = _read(tmp_path, text)
    assert "newest first" in table.notes[0]
    assert (table.series.values == FRAME.to_numpy()).all()


def test_sentinels_are_asked_about(tmp_path):
    text = "x,y\n1,2\n-9999,3\n2,1\n1.5,-9999\n"
    _refused(
        tmp_path, text, "got -9999 once in column 'x', whose other values are from"
    )
    _refused(tmp_path, text, "Give --missing -9999 if it means missing")
    values = _read(tmp_path, text, missing=["-9999"]).series.values
    np.testing.assert_array_equal(values, [[1, 2], [NAN, 3], [2, 1], [1.5, NAN]])
    assert _read(tmp_path, text, missing=["none"]).series.values[1, 0] == -9999
    marked = _read(tmp_path, "x,y\n1,2\n?,3\n2,-\n1.5,1\n", missing=["?", "-"])
    assert np.isnan(marked.series.values).sum() == 2
    # Values that are near others, or no usual sentinel, are values.
    assert len(_read(tmp_path, "x\n-9999\n-5000\n3\n").series.values) == 3
    assert len(_read(tmp_path, "x\n-9876\n1\n3\n").series.values) == 3


def test_a_stray_quote_is_found(tmp_path):
    rows = [f"{i},{i % 7}" for i in range(60)]
    cut = ["x,y", *rows[:9], '"' + rows[9], *rows[10:]]
    _refused(tmp_path, "\n".join(cut), "line 11 has an odd number of quotes")
    closed = [*cut[:50], cut[50] + '"', *cut[51:]]
    _refused(tmp_path, "\n".join(closed), "got one in line 11 of")
    said = 'who,x\n"one\nperson",1\nother,2\nthird,4\n'
    assert _read(tmp_path, said, columns=["x"]).series.values.tolist() == [
        [1],
        [2],
        [4],
    ]
    middle = 'who,x\n5" nail,1\nother,2\nthird,4\n'
    assert len(_read(tmp_path, middle, columns=["x"]).series.values) == 3


def test_digits_of_other_scripts_are_refused(tmp_path):
    _refused(
        tmp_path,
        "x\n1\n\u0661\u0662\n3\n",
        "'\u0661\u0662' with digits of another script in row 2",
    )
    _refused(tmp_path, "x\n1\n1_000\n3\n", "got '1_000' in row 2")


def test_text_after_numbers_is_read_again(tmp_path, monkeypatch):
    from graphgrad.data import columns

    monkeypatch.setattr(columns, "BLOCK", 2)
    table = _read(tmp_path, "x;y\n1;2\n2;3\n3,5;1\n")
    assert table.series.values[:, 0].tolist() == [1, 2, 3.5]


def test_years_and_quarters_are_never_states(tmp_path):
    text = "year,quarter,gdp\n" + "".join(
        f"{1959 + i // 4},{i % 4 + 1},{i**2 % 7}\n" for i in range(12)
    )
    table = _read(tmp_path, text)
    assert (
        _time(table)
        == "time: columns year, quarter, 12 rows every 3 months, unit month"
    )
    assert (table.clock, table.series.names) == ("date", ("gdp",))
    _refused(tmp_path, text, "Leave these out with --columns", time="gdp")
    frame = pl.read_csv(text.encode())
    frame.write_parquet(tmp_path / "data.parquet")
    assert read_table(tmp_path / "data.parquet").clock == "date"

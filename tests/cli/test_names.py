"""Names of columns command neither the terminal nor a spreadsheet."""

import csv
import io

import numpy as np
from typer.testing import CliRunner

from graphgrad import storage
from graphgrad.cli import app
from graphgrad.cli.folder import write_bands

EVIL = ["\x1b]0;title\x07prey", '=HYPERLINK("http://x")', "@fox", "\u202eyerp"]


def test_the_terminal_gets_no_control_characters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    header = {
        **{"dynamics": "map", "states": EVIL, "terms": ["1", *EVIL]},
        **{"coefficients": np.ones((4, 5)).tolist(), "log_likelihood": 1.0},
        **{"adjacency": np.ones((4, 4)).tolist(), "outcome": "converged"},
        **{"state_noise": [1.0] * 4, "observation_noise": [1.0] * 4},
    }
    storage.write("run", header, {})
    shown = CliRunner().invoke(app, ["show", "run"])
    assert shown.exit_code == 0, shown.output
    assert r"\x1b]0;title\x07prey[t+1] = " in shown.stdout
    assert not set("\x1b\x07\u202e") & set(shown.stdout)
    (tmp_path / "data.csv").write_text("\x1b[2Jx,y\n1,a\n2,b\n3,c\n4,d\n")
    arguments = ["fit", "data.csv", "--out", "new", "--columns", "no"]
    refused = CliRunner().invoke(app, arguments)
    assert refused.exit_code == 2
    assert r"\x1b[2Jx" in refused.stderr
    assert "\x1b" not in refused.stderr


def test_names_of_tables_are_no_formulas():
    file = io.StringIO()
    write_bands(file, ("+t", [0.0]), EVIL, np.zeros((1, 4)), np.zeros((1, 4, 2)))
    [names, _] = csv.reader(file.getvalue().splitlines())
    assert names[0] == "'+t"
    assert names[4:6] == [f"'{EVIL[1]}", f"'{EVIL[1]}_low"]
    assert names[7] == "'@fox"
    assert all(name.isprintable() for name in names)

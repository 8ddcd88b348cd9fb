"""A report tells what was found, whatever the names are, in one file or none."""

import csv
import html
import io
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphgrad as gg
from graphgrad.model.mean import DYNAMICS
from graphgrad.report import write_report
from graphgrad.report.mathml import equation, plain_equation
from graphgrad.report.page import page
from graphgrad.report.payload import embedded
from graphgrad.report.thinning import sample as every
from graphgrad.report.thinning import thin
from helpers.reports import DRIVEN, HOSTILE, SMALL, failed, sample

LORENZ = sample(gg.systems.lorenz63(dt=0.02))


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text outside scripts."""

    def __init__(self, text: str):
        super().__init__()
        self.found: list[tuple[str, dict]] = []
        self.text, self.content, self._in = "", "", ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._in = "json" if ("id", "content") in attrs else tag

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self._in = ""

    def handle_data(self, data):
        if self._in == "json":
            self.content += data
        elif not self._in:
            self.text += data

    @property
    def sections(self) -> list[str]:
        return [attrs["id"] for tag, attrs in self.found if tag == "section"]


def test_all_parts_are_there():
    seen = Elements(page(LORENZ))
    assert seen.sections == [
        "summary",
        "equations",
        "graph",
        "states",
        "portrait",
        "coefficients",
        "path",
        "residuals",
        "forecast",
        "downloads",
        "settings",
    ]
    for words in ("converged", "Of 30 possible terms, 7 enter", "log-likelihood"):
        assert words in seen.text
    assert LORENZ.verdicts[0] in seen.text


def test_what_is_not_known_is_left_out():
    seen = Elements(page(SMALL))
    wanted = ["summary", "equations", "graph", "coefficients", "downloads"]
    assert seen.sections == wanted
    assert "hare depends on lynx and itself." in seen.text
    assert "lynx depends on itself and a constant." in seen.text
    assert "Confidence was not computed." in seen.text
    assert not any(attrs.get("id") == "threshold" for _, attrs in seen.found)


def test_sureness_in_words():
    seen = Elements(page(replace(SMALL, edge_confidence=np.array([[1, 0.62], [0, 1]]))))
    assert "hare depends on lynx (62 %) and itself (100 %)." in seen.text
    assert "2 of 3 arrows" in seen.text
    assert "The lowest is that of lynx on hare, 62 %." in seen.text


def test_an_edge_is_as_sure_as_the_surest_of_its_terms():
    sure = np.array([[0, 0.8, 0, 0.7], [0.9, 0, 0.6, 0]])
    found = json.loads(Elements(page(replace(SMALL, term_confidence=sure))).content)
    edges = {(e["source"], e["target"]): e["confidence"] for e in found["edges"]}
    assert edges == {(0, 0): 0.8, (1, 0): 0.7, (1, 1): 0.6}


def test_equations_are_those_of_the_library_of_equations():
    system = gg.systems.lorenz63(dt=0.02)
    for kind in DYNAMICS:
        findings = sample(system, dynamics=kind)
        lines = gg.equations(
            findings.coefficients,
            system.library(),
            standard_errors=findings.standard_errors,
            dynamics=kind,
        )
        assert [plain_equation(findings, a) for a in range(3)] == lines


@pytest.mark.parametrize(
    ("dynamics", "words", "left"),
    [
        ("flow", "add up to dx/dt", "<mfrac><mrow><mi>d</mi><mtext>hare</mtext>"),
        ("map", "add up to the next value", "<msub><mtext>hare</mtext><mrow><mi>t"),
        ("difference", "to the change per step", "<mo>\N{MINUS SIGN}</mo><msub>"),
    ],
)
def test_the_page_says_which_dynamics(dynamics, words, left):
    findings = replace(SMALL, dynamics=dynamics)
    assert words in Elements(page(findings)).text
    formula = equation(findings, 0).split("<mo>=</mo>")[0]
    assert left in formula
    assert json.loads(Elements(page(findings)).content)["dynamics"] == dynamics


def test_the_portrait_has_the_field_the_states_and_the_data():
    drawn = json.loads(Elements(page(replace(LORENZ, breaks=(80,)))).content)
    portrait = drawn["portrait"]
    assert LORENZ.field is not None
    assert LORENZ.data is not None
    assert portrait["names"] == ["x1", "x2"]
    assert np.shape(portrait["u"]) == np.shape(portrait["v"]) == (9, 12)
    np.testing.assert_allclose(portrait["u"], LORENZ.field[..., 0], rtol=1e-4)
    assert portrait["trajectory"][0][80] is None
    assert len(portrait["trajectory"][0]) == 201
    assert "smoothed states of 200 rows" in portrait["alt"]
    assert "the others are held at their means" in Elements(page(LORENZ)).text
    seen = ~np.isnan(LORENZ.data[:, :2]).any(axis=1)
    assert len(portrait["data"][0]) == seen.sum()
    assert "portrait" not in Elements(page(SMALL)).sections
    unseen = json.loads(
        Elements(page(replace(LORENZ, columns=("a", "b", "c")))).content
    )
    assert "data" not in unseen["portrait"]


@pytest.mark.parametrize("dynamics", DYNAMICS)
def test_mathml_is_well_formed(dynamics):
    names = replace(LORENZ, states=HOSTILE, columns=HOSTILE, dynamics=dynamics)
    for a in range(3):
        root = ElementTree.fromstring(equation(names, a))
        assert len(root.findall("math")) == 1 + np.sum(LORENZ.coefficients[a] != 0)
        assert HOSTILE[a] in "".join(root.itertext())


def test_powers_inputs_and_other_terms():
    findings = replace(DRIVEN, dynamics="map")
    text = equation(findings, 0)
    assert "<msubsup><mi>x</mi><mrow><mn>1</mn>" in text
    assert "<mn>1/2</mn>" in text
    assert "<mtext>sin(x1)</mtext>" in text
    assert "<msup><mn>10</mn><mn>\N{MINUS SIGN}7</mn></msup>" in text
    # An input acts during the step: u[t+1].
    assert "<msub><mi>u</mi><mrow><mi>t</mi><mo>+</mo><mn>1</mn></mrow></msub>" in text
    assert "Squares are inputs." in page(findings)


@pytest.fixture(scope="module")
def hostile() -> Elements:
    changed = replace(
        sample(gg.systems.lorenz63(dt=0.02), names=HOSTILE, title=HOSTILE[1]),
        verdicts=HOSTILE,
        summary=HOSTILE,
        outcome=HOSTILE[0],
        advice=HOSTILE[1],
        time_name=HOSTILE[2],
        latex=HOSTILE,
        scores={HOSTILE[0]: HOSTILE[1]},
        settings={HOSTILE[2]: HOSTILE[0]},
        versions={HOSTILE[1]: "\x00\ud800\u202e"},
    )
    return Elements(page(changed))


def test_hostile_names_are_text(hostile):
    plain = Elements(page(LORENZ))
    assert {tag for tag, _ in hostile.found} - {tag for tag, _ in plain.found} <= {
        "mtext"
    }
    assert sum(tag == "script" for tag, _ in hostile.found) == 2
    for _, attrs in hostile.found:
        assert not any(name.startswith("on") for name in attrs)
        assert attrs.get("href", "#").startswith("#")
    for name in HOSTILE:
        assert name in hostile.text


def test_hostile_names_survive_in_the_json(hostile):
    assert json.loads(hostile.content)["variables"] == list(HOSTILE)


@given(st.text())
def test_embedded_json_neither_ends_nor_opens_an_element(text):
    inside = embedded([text])
    assert not set("<>&\u2028\u2029") & set(inside)
    # What cannot be printed has a mark in its place, and nothing else is changed.
    [back] = json.loads(inside)
    assert len(back) == len(text)
    assert all(
        b in (c, "\N{REPLACEMENT CHARACTER}") for b, c in zip(back, text, strict=True)
    )


def test_nothing_is_asked_for(hostile):
    text = page(LORENZ)
    links = re.findall(r"\b(?:https?:)?//[\w.]+[^\s\"']*", html.unescape(text))
    # Names of languages, which nobody fetches, and comments of the script.
    assert {link for link in links if "." in link} == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1998/Math/MathML",
        "http://graphml.graphdrawing.org/xmlns",
    }
    assert not re.search(r"@import|url\(|\bsrc=|fetch\(|XMLHttpRequest", text)
    assert "default-src 'none'" in text
    assert not any("src" in attrs or tag == "link" for tag, attrs in hostile.found)


def test_large_reports_stay_small_and_say_so(tmp_path):
    rng = np.random.default_rng(0)
    n, rows, library = 20, 10_000, gg.Polynomial(20, 2)
    names = tuple(f"station {i}" for i in range(n))
    walk = rng.normal(size=(rows, n)).cumsum(axis=0)
    data = np.where(rng.random((rows, n)) < 0.1, np.nan, walk)
    data[4321, 3] = 1e4
    C = np.where(rng.random((n, library.n_terms)) < 0.02, rng.normal(size=(n, 231)), 0)
    prices = np.geomspace(100, 1, 40)
    path = rng.normal(size=(40, n, 231))
    path[:20] *= rng.random((20, n, 231)) < 0.02
    findings = replace(
        sample(gg.systems.lorenz63(dt=0.02)),
        states=names,
        terms=library.names(names),
        incidence=library.incidence.astype(float),
        coefficients=C,
        standard_errors=None,
        term_confidence=None,
        edge_confidence=None,
        edge_strength=None,
        field=None,
        times=1.7e9 + np.arange(rows),
        columns=names,
        data=data,
        means=walk,
        bands=np.stack([walk - 1, walk + 1], axis=-1),
        prices=prices,
        path=path,
        chosen=37,
        residuals=rng.normal(size=(rows, n)),
        forecast=rng.normal(size=(5, 40, n)),
    )
    write_report(tmp_path / "large.html", findings)
    assert (tmp_path / "large.html").stat().st_size < 6e6
    seen = Elements((tmp_path / "large.html").read_text(encoding="utf-8"))
    assert "of 10000 rows are drawn per panel" in seen.text
    assert "shortest gaps per panel are not marked" in seen.text
    assert "penalties are left out" in seen.text
    drawn = json.loads(seen.content)
    assert max(drawn["panels"][3]["data"]) == 1e4
    assert drawn["panels"][0]["t"][-1] == 1.7e9 + rows - 1
    assert drawn["path"]["penalties"][drawn["path"]["chosen"]] == pytest.approx(
        prices[37], rel=1e-4
    )


@given(st.lists(st.floats(-1e3, 1e3) | st.just(np.nan), min_size=1, max_size=400))
def test_thinned_rows_keep_the_extremes(values):
    series = np.array(values)
    rows = thin(series, most=20)
    assert len(rows) <= 20
    if np.isfinite(series).any():
        assert np.nanmin(series[rows]) == np.nanmin(series)
        assert np.nanmax(series[rows]) == np.nanmax(series)


def test_sampled_dots_lie_as_densely_as_all():
    noise = np.random.default_rng(0).normal(size=20_000)
    rows, each = every(noise, always=np.abs(noise) > 3)
    assert each == 34
    assert len(rows) <= 1200
    assert set(np.flatnonzero(np.abs(noise) > 3)) <= set(rows.tolist())
    # 68 % within one deviation, within three standard errors of a share.
    assert abs(np.mean(np.abs(noise[rows]) < 1) - 0.683) < 0.06


def test_a_failed_fit_has_a_report():
    seen = Elements(page(failed(LORENZ)))
    assert "NaN" in seen.text
    assert "degenerate likelihood" in seen.text


def test_several_series_go_by_rows():
    drawn = json.loads(Elements(page(replace(LORENZ, breaks=(80, 120)))).content)
    assert drawn["breaks"] == [80, 120]
    assert drawn["panels"][0]["t"][:3] == [0, 1, 2]
    assert drawn["timeName"] == "row"


def test_columns_that_are_no_states_have_panels_of_their_own():
    findings = replace(LORENZ, columns=("x1", "sum", "x3"))
    panels = json.loads(Elements(page(findings)).content)["panels"]
    assert [panel["name"] for panel in panels] == ["x1", "x2", "x3", "sum"]
    assert "Not observed directly" in panels[1]["alt"]
    assert "mean" not in panels[3]


def test_all_of_the_file_or_nothing(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    write_report(path, SMALL)
    before = path.read_bytes()

    def broken(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="no space left"):
        write_report(path, LORENZ)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_paths_that_cannot_be(tmp_path):
    with pytest.raises(ValueError, match="`path` must be a file, got a folder"):
        write_report(tmp_path, SMALL)
    with pytest.raises(FileNotFoundError, match="Make the folder"):
        write_report(tmp_path / "none" / "report.html", SMALL)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"coefficients": np.zeros((3, 9))},
            r"`coefficients` must have shape \(3, 10\)",
        ),
        ({"dynamics": "rate"}, "`dynamics` must be one of 'flow', 'map'"),
        ({"field": np.zeros((9, 9, 2))}, r"`field` must have shape \(9, 12, 2\)"),
        ({"field_x": None}, r"`field` must have shape \(9, 0, 2\)"),
        ({"means": np.zeros((7, 3))}, r"`means` must have shape \(200, 3\).*times"),
        ({"chosen": 21}, "`chosen` must be the index of one of 21 penalties"),
        ({"prices": np.zeros(21)}, "`prices` must be positive"),
        ({"breaks": (200,)}, "`breaks` must be row numbers from 1 to 199"),
        ({"states": ("x", "x", "y")}, "`states` must be 3 different names"),
        ({"means": None}, "`means` must be given with `bands`"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_findings_that_do_not_fit(change, message):
    with pytest.raises(ValueError, match=message):
        replace(LORENZ, **change)


def file(seen: Elements, text: str, name: str) -> str:
    """A file that the page offers."""
    found = re.search(f'<template data-file="{name}"[^>]*>(.*?)</template>', text, re.S)
    assert found
    return html.unescape(found.group(1))


def test_downloads_have_the_graph_the_equations_and_the_rows():
    assert LORENZ.edge_strength is not None
    assert LORENZ.means is not None
    assert LORENZ.data is not None
    signs = np.where(np.isnan(LORENZ.edge_strength), np.nan, 1.0)
    text = page(replace(LORENZ, edge_sign=signs))
    seen = Elements(text)
    root = ElementTree.fromstring(file(seen, text, "graph.graphml").encode())
    space = "{http://graphml.graphdrawing.org/xmlns}"
    ends = {(e.get("source"), e.get("target")) for e in root.iter(f"{space}edge")}
    assert ("x2", "x1") in ends
    assert len(ends) == 8
    rows = list(csv.DictReader(io.StringIO(file(seen, text, "states.csv"))))
    assert len(rows) == 200
    assert float(rows[5]["x2 (state)"]) == pytest.approx(LORENZ.means[5, 1], rel=1e-5)
    gap = int(np.flatnonzero(np.isnan(LORENZ.data[:, 0]))[0])
    assert rows[gap]["x1 (data)"] == ""
    assert file(seen, text, "equations.tex").count("frac") == 3
    assert file(seen, text, "equations.txt").splitlines()[0].startswith("dx1/dt = ")
    odd = page(replace(LORENZ, states=HOSTILE, columns=("=1+1", "b", "c")))
    ElementTree.fromstring(file(seen, odd, "graph.graphml").encode())
    assert "'=1+1 (data)" in file(seen, odd, "states.csv")


def test_dates_signs_inputs_free_runs_and_skill():
    assert LORENZ.times is not None
    days = 86_400_000.0 * np.arange(len(LORENZ.times))
    free = np.array(LORENZ.means)
    free[100:] = np.nan
    changed = replace(
        LORENZ,
        times=days,
        dated=True,
        time_unit="day",
        inputs=("u",),
        terms=LORENZ.terms,
        incidence=np.concatenate([LORENZ.incidence, np.zeros((1, 10))]),
        edge_confidence=None,
        edge_strength=None,
        edge_sign=np.full((3, 4), -1.0),
        input_data=np.sin(days / 1e9)[:, None],
        free_times=days,
        free_run=free,
        skills=({"column": "x1", "error": 1.25, "of persistence": 3.5},),
        residuals_first=True,
        outcome="doubtful",
        advice="Try `--lags auto`.",
        term_confidence=None,
    )
    text = page(changed)
    seen = Elements(text)
    found = json.loads(seen.content)
    assert found["dated"] is True
    assert found["panels"][-1]["name"] == "u"
    assert found["panels"][-1]["input"] is True
    assert len(found["free"][0]["t"]) == 100
    assert "diverged after 100 steps" in found["free"][0]["alt"]
    assert {edge["sign"] for edge in found["edges"]} == {-1.0}
    assert seen.sections[:2] == ["summary", "residuals"]
    assert "3.5" in seen.text
    assert "No confidence is shown" in seen.text
    assert "<code>--lags auto</code>" in text
    assert "`" not in seen.text
    assert "dx/dt, the change per day." in seen.text
    rows = list(csv.DictReader(io.StringIO(file(seen, text, "states.csv"))))
    assert rows[1]["time"] == "1970-01-02T00:00:00.000"
    assert "u (input)" in rows[0]

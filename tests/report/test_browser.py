"""The report in a real browser, at the widths of a phone and of a desk.

Chromium is looked for where systems put it; `make test` gets one where it may
(`browser.sh`). Where there is none the tests are skipped, and fail if the environment
says CI=true.
"""

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from math import hypot
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

import graphgrad as gg
from graphgrad.report import write_report
from helpers.reports import DRIVEN, HOSTILE, SMALL, failed, sample

# A browser.
pytestmark = pytest.mark.slow

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENCE = 60_000
"""Milliseconds: a loaded machine is slow, and a test that passes does not wait."""

MIDDLE = """group => {
    const line = group.querySelector(".reach");
    const point = line.getPointAtLength(line.getTotalLength() / 2);
    const at = point.matrixTransform(line.getScreenCTM());
    return [at.x, at.y];
}"""


def without_browser(reason: str) -> NoReturn:
    """Skip, or fail where a skip would hide that nothing was tested."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{reason} With CI=true that is a failure.")
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        without_browser(
            "NOT TESTED in a browser: there is neither Chromium nor Chrome. Install "
            "one, on Debian by `apt-get install chromium`."
        )
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        without_browser(f"NOT TESTED in a browser: {error}. `make test` installs it.")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, timeout=PATIENCE)
        yield started
        started.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("reports")
    system = gg.systems.lorenz63(dt=0.02)
    write_report(folder / "lorenz.html", sample(system, title="Lorenz 63"))
    hostile = sample(system, names=HOSTILE, title=HOSTILE[0])
    write_report(folder / "hostile.html", hostile)
    odd = {
        "small": SMALL,
        "driven": DRIVEN,
        "failed": failed(sample(system)),
        "series": replace(sample(system), breaks=(80, 120)),
        "nothing": replace(SMALL, coefficients=np.zeros((2, 4))),
    }
    for name, findings in odd.items():
        write_report(folder / f"{name}.html", findings)
    signs = np.array([[-1.0, 1, np.nan], [0, -1, -1], [1, 1, -1]])
    long = ("realinterest", "realinvestment", "realinvoices")
    dated = replace(
        sample(system, names=long),
        times=7 * 86_400_000.0 * np.arange(200),
        forecast_times=7 * 86_400_000.0 * np.arange(200, 240),
        dated=True,
        edge_sign=signs,
    )
    write_report(folder / "dated.html", dated)
    long_ago = {n: 26 * getattr(dated, n) for n in ("times", "forecast_times")}
    write_report(folder / "century.html", replace(dated, **long_ago))
    ring = gg.systems.lorenz96(n_states=20, dt=0.01)
    write_report(folder / "ring.html", sample(ring, title="Twenty states"))
    return folder


@pytest.fixture(params=[390, 1280])
def visit(request, browser, reports) -> Iterator:
    """Opens a report; afterwards nothing was complained of, and nothing asked for."""
    height = 844 if request.param == 390 else 800
    size = {"width": request.param, "height": height}
    context = browser.new_context(viewport=size, color_scheme="light")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    complaints, asked = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda sent: asked.append(sent.url))

    def opened(name: str):
        page.goto((reports / f"{name}.html").as_uri())
        page.wait_for_selector(".node")
        return page

    yield opened
    context.close()
    assert complaints == []
    assert set(asked) <= {report.as_uri() for report in reports.iterdir()}


def overflow(page) -> int:
    return page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def background(page) -> str:
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_everything_is_drawn_and_described(visit):
    page = visit("lorenz")
    assert page.locator("#state-panels svg").count() == 3
    assert page.locator("#forecast-panels svg").count() == 3
    assert page.locator("#residual-panels svg").count() == 3
    assert page.locator("#portrait-panel svg .field").count() == 1
    assert page.locator("#portrait-panel svg .curve").count() == 1
    assert page.locator("#graph-picture .edge").count() == 8
    assert page.locator("#graph-picture .node").count() == 3
    # Mathematics takes room as a formula does, higher than its letters.
    assert page.locator("#equations math").first.bounding_box()["height"] > 10
    assert page.locator("svg:not([aria-label])").count() == 0
    assert page.locator("input:not([id]), select:not([id])").count() == 0
    assert overflow(page) == 0


def test_pointing_at_an_arrow_tells_of_it(visit):
    page = visit("lorenz")
    arrow = page.locator('#graph-picture .edge[aria-label^="x2 acts on x1 by x2."]')
    arrow.scroll_into_view_if_needed()
    page.mouse.move(*arrow.evaluate(MIDDLE))
    detail = page.locator("#graph-detail")
    detail.locator("h3").wait_for()
    words = detail.inner_text()
    assert "x2 → x1" in words
    assert "Strength:" in words
    assert "Confidence:" in words
    assert detail.locator("math").count() == 1


def test_arrows_and_nodes_by_keyboard(visit):
    page = visit("lorenz")
    page.locator("#threshold").focus()
    page.keyboard.press("Tab")
    detail = page.locator("#graph-detail h3")
    first = detail.inner_text()
    assert page.evaluate("document.activeElement.matches('.edge:focus-visible')")
    page.keyboard.press("ArrowRight")
    assert detail.inner_text() != first
    page.keyboard.press("ArrowLeft")
    assert detail.inner_text() == first
    page.keyboard.press("Tab")
    node = page.locator("#graph-picture .node").first
    assert node.evaluate("node => node === document.activeElement")
    before = node.get_attribute("transform")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    assert node.get_attribute("transform") != before
    page.locator("#graph-reset").press("Enter")
    assert node.get_attribute("transform") == before


def test_everything_is_reached_by_tab_and_shows_that_it_is(visit):
    page = visit("lorenz")
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        here = page.evaluate(
            """() => {
                const at = document.activeElement;
                const style = getComputedStyle(at);
                const inner = at.querySelector?.("circle, .reach");
                const drawn = inner ? getComputedStyle(inner).stroke : "none";
                return [at.id || at.className.baseVal || at.tagName,
                        style.outlineStyle !== "none" || drawn !== "none"];
            }"""
        )
        if here[0] == "BODY":
            break
        seen.append(here)
    names = [name for name, _ in seen]
    wanted = ["theme", "threshold", "graph-reset", "penalty", "column"]
    assert [name for name in names if name in wanted] == wanted
    assert all(visible for _, visible in seen)


def test_a_node_is_dragged(visit):
    page = visit("lorenz")
    node = page.locator("#graph-picture .node").nth(1)
    node.scroll_into_view_if_needed()
    box = node.bounding_box()
    arrow = page.locator('#graph-picture .edge[aria-label^="x2 acts on x1"] .arrow')
    before = arrow.get_attribute("d")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y - 50, steps=3)
    page.mouse.up()
    moved = node.bounding_box()
    assert moved["x"] - box["x"] == pytest.approx(-60, abs=3)
    assert moved["y"] - box["y"] == pytest.approx(-50, abs=3)
    assert arrow.get_attribute("d") != before


def test_the_threshold_hides_arrows(visit):
    page = visit("lorenz")
    shown = page.locator("#graph-picture .edge:not(.hidden)")
    page.locator("#threshold").focus()
    page.keyboard.press("End")
    assert page.locator("#threshold-value").inner_text() == "100 %"
    assert shown.count() == 0
    page.keyboard.press("Home")
    assert shown.count() == 8
    page.locator("#threshold").fill("90")
    assert 0 < shown.count() < 8
    assert f"{shown.count()} of 8 arrows" in page.locator("#graph-count").inner_text()


def test_the_path_changes_equations_and_graph(visit):
    page = visit("lorenz")
    arrows = page.locator("#path-graph .edge")
    formulas = page.locator("#path-equations math")
    assert "chosen" in page.locator("#penalty-value").inner_text()
    page.locator("#penalty").focus()
    page.keyboard.press("Home")
    few = arrows.count(), formulas.count()
    page.keyboard.press("End")
    many = arrows.count(), formulas.count()
    assert few < many
    assert page.locator("#path-graph .edge.other").count() > 0
    assert "terms" in page.locator("#penalty").get_attribute("aria-valuetext")


def test_the_switch_changes_the_theme(visit):
    page = visit("lorenz")
    light = background(page)
    page.locator("#theme").click()
    dark = background(page)
    assert page.locator("#theme").get_attribute("aria-pressed") == "true"
    assert dark != light
    page.locator("#theme").click()
    assert background(page) == light
    page.emulate_media(color_scheme="dark")
    # The switch stays where it was put.
    assert background(page) == light
    page.reload()
    assert background(page) == dark


def test_residuals_of_another_column(visit):
    page = visit("lorenz")
    words = page.locator("#residual-words")
    assert words.inner_text().startswith("Residuals of x1")
    page.locator("#column").select_option(label="x3")
    assert words.inner_text().startswith("Residuals of x3")
    assert page.locator("#residual-panels svg").count() == 3


def test_hostile_names_do_nothing(visit):
    page = visit("hostile")
    page.mouse.move(200, 300)
    page.locator("#graph-picture .edge").evaluate_all(
        "edges => edges.forEach(e => e.dispatchEvent(new Event('pointerenter')))"
    )
    page.locator("#penalty").press("End")
    assert page.evaluate("window.harm === undefined")
    assert page.title() == HOSTILE[0]
    assert page.locator("body img, body b").count() == 0
    assert HOSTILE[0] in page.locator("#graph-detail, h1").all_inner_texts()[0]
    assert overflow(page) == 0


@pytest.mark.parametrize("name", ["small", "driven", "failed", "series", "nothing"])
def test_odd_findings_are_drawn(visit, name):
    page = visit(name)
    assert overflow(page) == 0
    drawn = page.locator("svg path").evaluate_all("all => all.map(p => p.outerHTML)")
    assert not any("NaN" in path or "Infinity" in path for path in drawn)
    assert page.locator("#equations math").count() > 1


def test_twenty_states(visit):
    page = visit("ring")
    assert page.locator("#state-panels svg").count() == 20
    assert page.locator("#graph-picture .node").count() == 20
    assert overflow(page) == 0
    boxes = page.locator("#graph-picture .node").evaluate_all(
        "all => all.map(n => n.getBoundingClientRect()).map(b => [b.x, b.y, b.width])"
    )
    nearest = min(
        hypot(p[0] - q[0], p[1] - q[1]) for i, p in enumerate(boxes) for q in boxes[:i]
    )
    assert nearest > boxes[0][2]


def test_dates_signs_and_distinct_labels(visit):
    page = visit("dated")
    words = page.locator("#state-panels .tick text").all_text_contents()
    assert any(word.startswith("1971") for word in words)
    labels = page.locator("#graph-picture .node text").all_text_contents()
    assert len(set(labels)) == 3
    assert all("\u2026" in label for label in labels)
    signs = page.locator("#graph-picture .sign").all_text_contents()
    assert sorted(signs) == sorted(["+"] * 3 + ["\u2212"] * 4 + ["\u00b1"])
    assert overflow(page) == 0


@pytest.mark.parametrize("name", ["lorenz", "small", "ring"])
def test_loops_stay_inside_the_picture(visit, name):
    page = visit(name)
    outside = page.evaluate(
        """() => {
            const picture = document.querySelector("#graph-picture svg");
            const box = picture.getBoundingClientRect();
            return [...document.querySelectorAll("#graph-picture .arrow")]
                .map((arrow) => arrow.getBoundingClientRect())
                .filter((at) => at.top < box.top || at.bottom > box.bottom
                    || at.left < box.left || at.right > box.right).length;
        }"""
    )
    assert outside == 0


def test_files_are_saved(visit):
    page = visit("lorenz")
    saved = {}
    for button in page.locator("#downloads button").all():
        with page.expect_download() as event:
            button.click()
        saved[event.value.suggested_filename] = Path(event.value.path()).read_text()
    assert set(saved) == {
        *("equations.txt", "equations.tex", "graph.graphml", "states.csv", "graph.svg"),
    }
    assert saved["graph.svg"].startswith("<svg")
    assert saved["states.csv"].startswith("time,x1 (data)")
    assert len(saved["states.csv"].splitlines()) == 201


def test_the_chosen_penalty_has_the_equations_above(visit):
    page = visit("lorenz")
    above = page.locator("#equations .equations math").count()
    assert page.locator("#path-equations math").count() == above


@pytest.mark.parametrize("name", ["dated", "century"])
def test_dates_do_not_overlap(visit, name):
    page = visit(name)
    ends = page.locator("#state-panels svg").first.evaluate(
        """chart => [...chart.querySelectorAll(".tick text[text-anchor=middle]")]
            .map(text => text.getBoundingClientRect()).map(b => [b.left, b.right])"""
    )
    assert len(ends) > 2
    assert all(a[1] < b[0] for a, b in pairwise(ends))

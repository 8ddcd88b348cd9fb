"""The documentation: links lead somewhere, and the reference has every public name.

`make docs` builds the site, executes its gallery and checks the links and the search of
what was built; this is what can be seen in the sources, without Sphinx.
"""

import re

import pytest

import graphgrad as gg
from helpers import ROOT

DOCS = ROOT / "docs"
WRITTEN = ("gallery", "api")
"""Folders that `make docs` writes."""

PAGES = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    if not {*path.parts} & {*WRITTEN}
)
FENCED = re.compile(r"^(```+|:::+).*?^\1", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(?<!`)\]\(([^)\s]+)\)")


def _anchors(text):
    """Anchors of headings, as GitHub and MyST write them."""
    headings = re.findall(r"^#+ (.*)$", FENCED.sub("", text), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", heading.lower()) for heading in headings)
    return {each.strip().replace(" ", "-") for each in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = page.read_text("utf-8")
    for link in LINK.findall(FENCED.sub("", text)):
        path, _, anchor = link.partition("#")
        if "://" in link or {*WRITTEN} & {*path.split("/")}:
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if anchor and target.name != "contributing.md":
            assert anchor in _anchors(target.read_text("utf-8")), link


def test_every_page_is_in_a_menu():
    listed = set()
    for page in PAGES:
        for body in re.findall(
            r"```\{toctree\}(.*?)```", page.read_text("utf-8"), re.S
        ):
            names = re.findall(r"^(?:[\w -]+ <)?([\w/-]+)>?$", body, re.MULTILINE)
            listed |= {(page.parent / f"{name}.md").resolve() for name in names}
    pages = {page.resolve() for page in PAGES if page.is_relative_to(DOCS)}
    assert pages - listed == {(DOCS / "index.md").resolve()}


def test_the_reference_has_every_public_name():
    text = "\n".join(p.read_text("utf-8") for p in (DOCS / "reference").glob("*.md"))
    listed = set(re.findall(r"^   (\w+)$", text, re.MULTILINE))
    modules = set(re.findall(r"currentmodule:: graphgrad\.(\w+)", text))
    assert set(gg.__all__) - {"__version__"} <= listed | modules


def test_the_citation_has_this_version():
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    version = re.search(
        r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.M
    )
    assert version is not None
    assert f"\nversion: {version[1]}\n" in text


def test_every_page_of_the_gallery_says_the_same_things():
    scripts = sorted((ROOT / "examples").glob("fit_*.py"))
    assert len(scripts) >= 8
    for script in scripts:
        text = script.read_text("utf-8").replace("\n# ", " ")
        for part in (
            "Source",
            "Question",
            "The fit",
            "impler method",
            "not to conclude",
        ):
            assert part in text, f"{script.name}: {part}"

"""Check the built site: `python docs/scripts/check_site.py build/site`.

Links between pages and to their anchors lead somewhere, nothing is loaded from other
hosts, every public name and every method of the estimator has an entry, and the search
knows the words that people look for. Links to other hosts are not followed.
"""

import inspect
import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOOKED_FOR = (
    "process noise",
    "measurement noise",
    "regularisation",
    "missing data",
    "differential equation",
    "SINDy",
    "particle filter",
    "forecast",
)
"""What the search must find."""

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}
"""Attributes that a browser loads."""


class Page(HTMLParser):
    """Links, anchors and loaded files of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag in LOADED and LOADED[tag] in found:
            self.loaded.append(found[LOADED[tag]])


def html(site: Path) -> list[Path]:
    """All pages; the theme's own files are none."""
    return [path for path in site.rglob("*.html") if "_static" not in path.parts]


def broken_links(site: Path) -> Iterator[str]:
    """Links and files that are not there, and files of other hosts."""
    pages = {path: Page(path.read_text("utf-8")) for path in html(site)}
    for path, page in pages.items():
        where = path.relative_to(site)
        for link in {*page.links, *page.loaded}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    yield f"{where} loads {link}"
                continue
            target = path
            if parts.path:
                target = (path.parent / unquote(parts.path)).resolve()
            if not target.exists():
                yield f"{where} links to {link}, which is not there"
            elif (
                target in pages
                and parts.fragment
                and unquote(parts.fragment) not in pages[target].anchors
            ):
                yield f"{where} links to {link}, which has no such anchor"


def not_found(site: Path) -> Iterator[str]:
    """Words that no page has, by the index of the search."""
    from sphinx.search.en import SearchEnglish

    text = (site / "searchindex.js").read_text("utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    stem = SearchEnglish({}).stem

    def documents(word: str) -> set[int]:
        found = set()
        for table in ("terms", "titleterms"):
            entry = index[table].get(stem(word.lower()), [])
            found |= {entry} if isinstance(entry, int) else set(entry)
        return found

    for query in LOOKED_FOR:
        if not set.intersection(*map(documents, query.split())):
            yield f"the search does not find {query!r}"


def without_entry(site: Path) -> Iterator[str]:
    """Public names, and methods of the estimator, that the reference does not have."""
    import graphgrad

    entries = {
        anchor
        for path in (site / "reference").rglob("*.html")
        for anchor in re.findall(r'id="(graphgrad[\w.]*)"', path.read_text("utf-8"))
    }
    modules = ("metrics", "models", "plots", "storage", "systems")
    for name in graphgrad.__all__:
        inside = [entry for entry in entries if entry.startswith(f"graphgrad.{name}.")]
        known = f"graphgrad.{name}" in entries or (name in modules and inside)
        if not known and name != "__version__":
            yield f"the reference has no entry for {name}"
    for name, method in inspect.getmembers(graphgrad.GraphGrad, inspect.isroutine):
        ours = not name.startswith("_") and method.__module__.startswith("graphgrad")
        if ours and f"graphgrad.GraphGrad.{name}" not in entries:
            yield f"the reference has no entry for GraphGrad.{name}"


def main() -> None:
    """Print what is wrong, and exit with 1 if anything is."""
    site = Path(sys.argv[1]).resolve()
    faults = [*broken_links(site), *not_found(site), *without_entry(site)]
    for fault in sorted(set(faults)):
        print(fault, file=sys.stderr)
    print(f"{site}: {len(html(site))} pages, {len(set(faults))} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()

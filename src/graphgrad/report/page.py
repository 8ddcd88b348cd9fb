"""Assembles the page and writes it atomically."""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path
from string import Template

from ..files import check_parent, write_whole
from .edges import edges
from .findings import Findings
from .payload import embedded, payload
from .sections import sections, templates
from .text import safe

SCRIPTS = ("dom.js", "charts.js", "graph.js", "path.js", "files.js", "report.js")


def write_report(path: str | Path, findings: Findings) -> None:
    """Write one self-contained HTML file, atomically.

    It works offline: it loads nothing, and its policy forbids the browser to.

    Args:
        path: The file. An existing one is replaced.
        findings: The contents of the report.

    Examples:
        >>> import graphgrad as gg, numpy as np, tempfile
        >>> from graphgrad.report import Findings, write_report
        >>> system = gg.systems.lotka_volterra()
        >>> library = system.library()
        >>> findings = Findings(
        ...     title="Hares and lynxes",
        ...     states=("hare", "lynx"),
        ...     terms=library.names(("hare", "lynx")),
        ...     incidence=library.incidence.astype(float),
        ...     coefficients=np.asarray(system.coefficients(), dtype=float),
        ...     dynamics="flow",
        ... )
        >>> path = Path(tempfile.mkdtemp()) / "report.html"
        >>> write_report(path, findings)
        >>> "hare depends on lynx and itself." in path.read_text(encoding="utf-8")
        True
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(
            f"`path` must be a file, got a folder: {path}. Give the name of a file in "
            "it, such as report.html."
        )
    check_parent(path)
    write_whole(path, page(findings).encode("utf-8"))


def page(findings: Findings) -> str:
    """The whole file as text."""
    found = edges(findings)
    content = payload(findings, found)
    parts = sections(findings, found, content)
    style = _asset("report.css")
    script = "\n".join(['"use strict";', "(() => {", *map(_asset, SCRIPTS), "})();"])
    # Values are substituted once and not scanned again: names cannot be placeholders.
    return Template(_asset("report.html")).substitute(
        # Only this script and this style are allowed; nothing is loaded.
        policy=f"default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src {_hash(script)}; style-src {_hash(style)}",
        title=safe(findings.title),
        style=style,
        script=script,
        links="".join(f'<a href="#{s.key}">{s.name}</a>' for s in parts),
        sections="".join(
            f'<section id="{s.key}" aria-labelledby="{s.key}-title">'
            f'<h2 id="{s.key}-title">{s.name}</h2>{s.body}</section>\n'
            for s in parts
        ),
        templates=templates(findings, content),
        content=embedded(content),
    )


def _asset(name: str) -> str:
    return (files("graphgrad.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"

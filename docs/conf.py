"""Settings of the documentation site, which `make docs` builds.

Nothing is fetched: no inventories of other projects, no scripts or fonts from other
hosts. Formulas are plain text, as in docstrings, so that no MathJax is needed.
"""

import os
import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils import nodes

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "examples"))
# Fits of the gallery draw without a window.
os.environ.setdefault("MPLBACKEND", "Agg")

project = "graphgrad"
author = "The graphgrad developers"
copyright = author
version = release = version_of("graphgrad")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
language = "en"
exclude_patterns = ["**/GALLERY_HEADER.rst"]
templates_path = ["_templates"]
# Docstrings write code between single backticks, as Markdown does.
default_role = "code"
nitpicky = False
suppress_warnings = ["config.cache"]

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

autosummary_generate = True
autosummary_imported_members = True
autodoc_default_options = {
    "members": True,
    # Added by scikit-learn, with links into its own documentation.
    "exclude-members": "set_fit_request, set_score_request, set_predict_request",
}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "graphgrad"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_sidebars = {"tutorial": []}
html_show_sourcelink = False
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    # None for scoreboards and the gallery, whose tables and plots need the width.
    "secondary_sidebar_items": {
        place: ["page-toc"]
        for place in (
            *("tutorial", "contributing", "changelog", "release"),
            *("howto/**", "explanation/**", "reference/**"),
        )
    },
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 7,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

sphinx_gallery_conf = {
    "examples_dirs": str(DOCS.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/fit_",
    "ignore_pattern": "gallery_tools",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "write_computation_times": False,
    "plot_gallery": os.environ.get("GRAPHGRAD_GALLERY", "on") != "off",
}


def escape_bars(
    _app: Any, _kind: str, _name: str, _object: Any, _options: Any, lines: list[str]
) -> None:
    """Absolute values in docstrings, |x|, are no substitutions."""
    for i, line in enumerate(lines):
        if "|" in line and not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(`+[^`]*`+)", line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[i] = "".join(parts)


def strip_blank_ends(_app: Any, doctree: nodes.document) -> None:
    """Examples end with an empty line, for doctest; readers need none."""
    for block in doctree.findall(nodes.literal_block):
        block.rawsource = block.astext().rstrip()  # what differs is not highlighted
        block[:] = [nodes.Text(block.rawsource)]


def setup(app: Any) -> None:
    """Connect the hooks of this site."""
    app.connect("autodoc-process-docstring", escape_bars)
    app.connect("doctree-read", strip_blank_ends)

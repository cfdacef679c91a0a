"""What Sphinx goes by.  ``make site`` runs it over the whole repository, so that links between pages are those of a forge."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

from sphinx.application import Sphinx

from scripts.site.navigation import toctrees

_REPOSITORY = Path(__file__).resolve().parents[2]
_ABOUT = ConfigParser()
_ABOUT.read(_REPOSITORY / "setup.cfg")
_LINK = re.compile(r"(?<!!)\[([^\[\]]+)\]\(([^()\s:#]+)\)")

project = _ABOUT["metadata"]["name"]
release = _ABOUT["metadata"]["version"]
extensions = ["myst_parser"]
root_doc = "docs/README"
include_patterns = ["*.md", "docs/**.md", "k8s/**.md", "examples/**.md", "conformance/*.md"]
exclude_patterns = [
    ".*",
    "_*",
    "bench",
    "build",
    "changelog.d",
    "dist",
    "ingress",
    "scripts",
    "tests",
    "twisted",
]
# Sections are linked to by the names that a forge gives them.
myst_heading_anchors = 4
# Most blocks are what a terminal shows, and none is a doctest.
highlight_language = "none"
smartquotes = False

html_theme = "furo"
html_title = f"{project} {release}"
html_static_path = ["static"]
html_css_files = ["wide.css"]
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}


def setup(app: Sphinx) -> None:
    """Have pages changed as they are read: the navigation becomes tables of contents, and links to folders text."""
    app.connect("source-read", _read)


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    here = (Path(app.srcdir) / name).parent
    source[0] = _LINK.sub(lambda found: found[1] if (here / found[2]).is_dir() else found[0], source[0])
    if name == root_doc:
        source[0] += "\n" + toctrees(source[0])

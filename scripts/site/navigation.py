"""The navigation of the site: the lists of ``docs/README.md``, which are also what somebody reads on a forge.

A heading of the second level, or of the third below it, is a part; each entry of its lists is a page of that part, by its
link.  So where a page stands is said once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_HEADING = re.compile(r"(##|###) +(.+)")
_ENTRY = re.compile(r"- \[([^\]]+)\]\(([^)#]+\.md)\)")


class Part(NamedTuple):
    """A part of the navigation."""

    caption: str
    pages: list[tuple[str, str]]
    """Of each page the title that it has here, and its path as the link says it, from the page of the navigation."""


def parts(text: str) -> Iterator[Part]:
    """Yield the parts of the navigation whose Markdown is *text*, in order; those without pages are left out."""
    above = ""
    part = Part("", [])
    for line in text.splitlines():
        if (heading := _HEADING.match(line)) is not None:
            if part.pages:
                yield part
            level, name = heading.groups()
            if level == "##":
                above = name
            part = Part(name if level == "##" else f"{above}: {name}", [])
        elif (entry := _ENTRY.match(line)) is not None:
            part.pages.append((entry[1].replace("`", ""), entry[2]))
    if part.pages:
        yield part


def toctrees(text: str) -> str:
    """Return the parts of *text* as Sphinx asks for them, in Markdown: a hidden table of contents for each."""
    trees = []
    for caption, pages in parts(text):
        entries = [f"{title} <{path.removesuffix('.md')}>" for title, path in pages]
        trees.append("\n".join(["```{toctree}", f":caption: {caption}", ":hidden:", "", *entries, "```", ""]))
    return "\n".join(trees)

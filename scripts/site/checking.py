"""What must hold of a site that was built: each link inside of it leads somewhere, and no page asks another host for anything."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

# Elements whose addresses a browser fetches by itself, and the attributes with these.
_FETCHED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
}
_FETCHED_LINKS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload"}
_IN_STYLES = re.compile(r"""(?:@import\s*|url\(\s*)["']?((?:https?:)?//[^"')\s]+)""")


class Page(NamedTuple):
    """What a page has that links lead to, and where its own lead."""

    names: set[str]
    links: list[str]
    fetched: list[str]
    """What a browser asks for when it shows the page."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page(set(), [], [])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.page.names.add(given["id"])
        if tag == "a" and "href" in given:
            self.page.links.append(given["href"])
        elif tag == "link" and _FETCHED_LINKS & {*given.get("rel", "").split()}:
            self.page.fetched.append(given.get("href", ""))
        elif tag in _FETCHED and _FETCHED[tag] in given:
            self.page.fetched.append(given[_FETCHED[tag]])
        self.page.fetched.extend(_IN_STYLES.findall(given.get("style", "")))


def read(text: str) -> Page:
    """Return what a page of HTML has and asks for."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    return reader.page


def faults(pages: Mapping[str, str], styles: Mapping[str, str], files: set[str]) -> list[str]:
    """
    Return what is wrong with a site, a line for each.

    *pages* are its pages and *styles* its style sheets, as text by their paths; *files* are the paths of all there is.
    """
    read_pages = {path: read(text) for path, text in pages.items()}
    found = []
    for path, page in sorted(read_pages.items()):
        for link in page.links:
            if (why := _dead(path, link, read_pages, files)) is not None:
                found.append(f"{path}: link to {link}: {why}")
        for address in page.fetched:
            if _is_outside(address):
                found.append(f"{path}: asks {address}")
            elif (why := _dead(path, address, read_pages, files)) is not None:
                found.append(f"{path}: asks {address}: {why}")
    found += [
        f"{path}: asks {address}" for path, text in styles.items() for address in _IN_STYLES.findall(text)
    ]
    return [*dict.fromkeys(found)]


def _is_outside(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or (parts.scheme not in ("", "data"))


def _dead(path: str, link: str, pages: Mapping[str, Page], files: set[str]) -> str | None:
    """Say why *link* on the page at *path* leads nowhere; None if it does, or is for another host."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    target = (
        posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(parts.path)))
        if parts.path
        else path
    )
    if target not in files:
        return "no such file"
    name = unquote(parts.fragment)
    # An empty fragment is the top of a page.
    if name and target in pages and name not in pages[target].names:
        return "no such section"
    return None

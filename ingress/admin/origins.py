"""Whether a web page of another origin asks.  Pure.

No answer of the admin port may be read by other pages, since it has no ``Access-Control-Allow-Origin``; but asking costs
something, too, and a browser may tell a page more of an answer than it should.  So whoever says that he is such a page is refused:
browsers say it by ``Sec-Fetch-Site`` (Fetch Metadata), and by ``Origin``, which pages cannot choose.

A link that somebody followed is no such page: what it leads to fills a tab of its own (``is_followed_link``), which other pages
cannot look into.
"""

from collections.abc import Sequence
from typing import Final

_OURS: Final = frozenset((b"same-origin", b"none"))
"""``none`` is a person who typed the address."""


def is_cross_origin(sites: Sequence[bytes], origins: Sequence[bytes], hosts: Sequence[bytes]) -> bool:
    """Say whether the values of ``Sec-Fetch-Site`` and ``Origin`` are those of a page of another origin than *hosts*, the values of ``Host``."""
    if any(site.strip().lower() not in _OURS for site in sites):
        return True
    ours = {b"%b://%b" % (scheme, host.strip().lower()) for scheme in (b"http", b"https") for host in hosts}
    return any(origin.strip().lower() not in ours for origin in origins)


def is_followed_link(modes: Sequence[bytes], destinations: Sequence[bytes], origins: Sequence[bytes]) -> bool:
    """Say whether the values of ``Sec-Fetch-Mode``, ``Sec-Fetch-Dest`` and ``Origin`` are those of a tab that shows what it gets, and of no form or frame."""
    return list(modes) == [b"navigate"] and list(destinations) == [b"document"] and not origins

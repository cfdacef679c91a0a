"""Whether a request for the admin port comes from a web page of somebody else's, by its host or by its origin.  Pure.

A web page that somebody in the cluster, or with a port forwarded, looks at may let its own name point to our address
(DNS rebinding), and then read what we answer as if it were its own.  It cannot choose what the browser sends for
``Host``: that is its name.  So names are known or refused; addresses need no name, and cannot be rebound.

Under its own name no page may read an answer of the admin port, since it has no ``Access-Control-Allow-Origin``; but asking costs
something, too, and a browser may tell a page more of an answer than it should.  So whoever says that he is such a page is refused:
browsers say it by ``Sec-Fetch-Site`` (Fetch Metadata), and by ``Origin``, which pages cannot choose.  A link that somebody followed
is no such page: what it leads to fills a tab of its own (``is_followed_link``), which other pages cannot look into.
"""

import re
from collections.abc import Collection, Sequence
from ipaddress import ip_address
from typing import Final

_FORM = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([^\s:/@\[\]]{1,255}))(?::[0-9]{0,5})?")


def is_known_host(fields: Sequence[bytes], names: Collection[str]) -> bool:
    """Say whether the values of ``Host`` are an IP address, ``localhost``, or one of *names*, in lower case.

    No field at all is fine: no browser leaves it out (RFC 9112 section 3.2).
    """
    return not fields or (len(fields) == 1 and _is_known(fields[0].decode("latin-1").strip(), names))


def _is_known(text: str, names: Collection[str]) -> bool:
    found = _FORM.fullmatch(text)
    if found is None:
        # As HTTP wants it of who has no host to name.
        return not text
    bracketed, host = found.groups()
    try:
        return ip_address(bracketed or host).version == (4 if bracketed is None else 6)
    except ValueError:
        return bracketed is None and host.lower().removesuffix(".") in {"localhost", *names}


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

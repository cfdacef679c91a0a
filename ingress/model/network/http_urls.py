"""URLs that we are to ask: what they say, taken apart; read strictly, since tenants write them."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from ingress.model.frozen import frozen

_is_host_name = re.compile(
    r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[A-Za-z0-9_-]{1,63}(?<!-))*\.?"
).fullmatch
_is_visible = re.compile(r"[\x21-\x7e]+").fullmatch
_PORTS = {"http": 80, "https": 443}


@frozen
class HttpUrl:
    """What a URL says, taken apart."""

    is_secure: bool
    host: str
    """A name in lower case without a dot at its end, or an address without brackets."""
    port: int
    authority: bytes
    """What ``Host`` says: with brackets, and with the port unless it is the usual one."""
    target: bytes
    """Path and query (RFC 9112 section 3.2.1)."""


def parse_url(text: str) -> HttpUrl:
    """Read an ``http`` or ``https`` URL; raises ``ValueError`` that says what is wrong with it."""
    if not _is_visible(text):
        raise ValueError(f"{text!a} has blanks or other characters that no URL has")
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"{text!a} is no URL: {error}") from None
    host = (parts.hostname or "").removesuffix(".")
    if parts.scheme not in _PORTS:
        raise ValueError(f"{text!a} is no URL of http or https")
    if "@" in parts.netloc:
        raise ValueError("a URL to ask must hold no user")
    if "#" in text:
        raise ValueError(f"{text!a} has a fragment, which is nothing to ask for")
    is_address = _is_address(host)
    if not is_address and (len(host) > 253 or not _is_host_name(host)):
        raise ValueError(f"{text!a} names no host")
    if port == 0:
        raise ValueError(f"{text!a} has a port that is none")
    target = text.partition("//")[2][len(parts.netloc) :]
    target = target if target.startswith("/") else f"/{target}"
    usual = _PORTS[parts.scheme]
    shown = f"[{host}]" if ":" in host else host
    authority = shown if port in (None, usual) else f"{shown}:{port}"
    return HttpUrl(
        parts.scheme == "https", host, port or usual, authority.encode("ascii"), target.encode("ascii")
    )


def _is_address(host: str) -> bool:
    try:
        return "%" not in host and bool(ip_address(host))
    except ValueError:
        return False

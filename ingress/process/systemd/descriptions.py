"""Listener descriptions that stand for sockets which systemd listens on: ``systemd:name=http``, ``systemd:index=0``."""

import socket
from typing import Final

from ingress.model.frozen import frozen

_PREFIX: Final = "systemd:"
_FORM: Final = "systemd:name=NAME, or systemd:index=NUMBER, counted from 0"
FAMILIES: Final = {"INET": socket.AF_INET, "INET6": socket.AF_INET6, "UNIX": socket.AF_UNIX}


@frozen
class AskedSocket:
    """What a description asks for: the socket of a name, or the one of an index; of several of one name, that one of them."""

    name: str | None
    index: int | None
    domain: str | None

    def __str__(self) -> str:
        return f"socket {self.index}" if self.name is None else f"socket {self.name!r}"


def is_handed_over(description: str) -> bool:
    """Whether *description* stands for a socket that was open before the process."""
    return description.startswith(_PREFIX)


def read_handed_over(description: str) -> AskedSocket:
    """Read a description of a socket that was handed over; raises ``ValueError``.

    Twisted's form is read, too, which says the domain of the address: ``systemd:domain=INET:index=0``.
    """
    found: dict[str, str] = {}
    for argument in description[len(_PREFIX) :].split(":"):
        name, equals, value = argument.partition("=")
        if name not in ("name", "index", "domain") or not equals or not value or name in found:
            raise ValueError(f"write {_FORM}")
        found[name] = value
    index, domain = found.get("index"), found.get("domain")
    if ("name" not in found and index is None) or (
        index is not None and not (index.isascii() and index.isdigit() and len(index) < 6)
    ):
        raise ValueError(f"write {_FORM}")
    if domain is not None and domain not in FAMILIES:
        raise ValueError(f"no domain {domain!r}: there are {', '.join(FAMILIES)}")
    return AskedSocket(found.get("name"), None if index is None else int(index), domain)

"""Listeners as plain data: where connections are accepted, and by which table their requests go."""

import re
from collections.abc import Iterable
from typing import Final

from ingress.model.frozen import frozen

MAIN: Final = ""
"""The name of the table that the listeners of the command line share, and that Ingresses are served from."""

_tcp_port: Final = re.compile(r"tcp6?:(?:.*:)?(?:port=)?(\d+)(?=:|$)").match
_udp_port: Final = re.compile(r"udp6?:(\d+)(?=:|$)").match
_interface: Final = re.compile(r".*:interface=((?:[^:\\]|\\.)*)").match
_EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})
_PLACES: Final = {
    "tcp": ("port", "interface", "backlog"),
    "tcp6": ("port", "backlog", "interface"),
    "unix": ("address", "mode", "backlog", "lockfile"),
}
"""What the arguments of listener descriptions are that have no name, in their order."""


@frozen
class Listener:
    """An address on which connections are accepted."""

    description: str
    """For Twisted, as in ``tcp:8080:interface=10.0.0.1``; of UDP in the same form, ``udp:53:interface=10.0.0.1``."""
    is_secure: bool = False
    """Whether connections begin with TLS."""
    table: str = MAIN
    """The name of the table whose routes, certificates and handshake settings hold there."""
    is_stream: bool = False
    """Whether connections are streams of TCP, of which no request is read; over TLS the names decide that, each time."""
    is_udp: bool = False
    """Whether datagrams of UDP come there, and no connections."""
    reads_header: bool | None = None
    """Whether connections begin with a PROXY header; None where the operator decides that for all at once."""
    is_required: bool = False
    """Whether the process cannot do without it, as without those of the command line."""

    def __str__(self) -> str:
        if self.is_udp:
            protocol = "UDP"
        else:
            protocol = "TCP" if self.is_stream else "HTTPS" if self.is_secure else "HTTP"
        return f"{protocol} on {self.description}"


def arguments_of(description: str) -> dict[str, str]:
    """Return the arguments of a listener description that Twisted can read, by their names; none of a kind that only a plugin knows."""
    # A colon that is escaped ends no argument, and stands in none that is a number.
    kind, *written = re.sub(r"\\.", "_", re.sub("^(haproxy:)+", "", description)).split(":")
    found: dict[str, str] = {}
    if kind not in _PLACES:
        return found
    places = iter(_PLACES[kind])
    for argument in written:
        name, equals, value = argument.partition("=")
        if equals:
            found[name] = value
        else:
            found[next(places, "")] = argument
    return found


def backlog_of(description: str) -> int | None:
    """Return how many connections may wait to be accepted, as *description* says it; None where it does not."""
    said = arguments_of(description).get("backlog")
    return None if said is None else int(said)


def port_of(description: str) -> int | None:
    """Return the TCP port that *description* names (``tcp:443``, ``tcp:port=443``), or None."""
    # A colon of an address is escaped, and stands before no argument.
    match = _tcp_port(re.sub(r"\\.", "", description))
    return int(match[1]) if match else None


def udp_port_of(description: str) -> int | None:
    """Return the UDP port that *description* names, as ``udp_description`` writes it, or None."""
    match = _udp_port(description)
    return int(match[1]) if match else None


def interface_of(description: str) -> str:
    """Return the address that *description* names (``tcp:80:interface=10.0.0.1``); empty where it names none."""
    written = _interface(description)
    return re.sub(r"\\(.)", r"\1", written[1]) if written else ""


def likes_of(listeners: Iterable[Listener], *, secure: bool) -> tuple[str, ...]:
    """Return a description of TCP for each family and address of *listeners*, which those of other ports are made like.

    They are those that are *secure*, or that are not, or else all.  What is at all addresses of a family is there for each of them.
    """
    of_tcp = [one for one in listeners if port_of(one.description) is not None]
    found: dict[tuple[bool, str], str] = {}
    for one in [each for each in of_tcp if each.is_secure == secure] or of_tcp:
        interface = interface_of(one.description)
        is_six = one.description.startswith("tcp6") or ":" in interface
        found.setdefault((is_six, "" if interface in _EVERYWHERE else interface), one.description)
    chosen = [like for (is_six, address), like in found.items() if not address or (is_six, "") not in found]
    return tuple(chosen) or ("tcp",)


def tcp_description(port: int, interface: str, like: str = "tcp") -> str:
    """Return what describes *port* of *interface*, or of all addresses; *like* is a description of TCP whose form it gets."""
    return _description("tcp", port, interface, like)


def udp_description(port: int, interface: str, like: str = "tcp") -> str:
    """Return the same for a port of UDP."""
    return _description("udp", port, interface, like)


def _description(protocol: str, port: int, interface: str, like: str) -> str:
    kind = f"{protocol}6" if like.startswith("tcp6") else protocol
    escaped = interface.replace("\\", "\\\\").replace(":", "\\:")
    return f"{kind}:{port}:interface={escaped}" if interface else f"{kind}:{port}"

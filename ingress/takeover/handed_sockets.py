"""The sockets that a new process got from the one before it, until its listeners ask for them."""

import os
import socket
from ipaddress import ip_address

from ingress.model.network.listeners import interface_of
from ingress.process.systemd.descriptions import is_handed_over
from ingress.proxy.listening.listeners import bound_to

_FAMILIES = {socket.AF_INET: 4, socket.AF_INET6: 6}


class HandedSockets:
    """Sockets that listen, or take datagrams, by the descriptions of the listeners that they were opened for."""

    def __init__(self) -> None:
        self._sockets: dict[str, socket.socket] = {}

    def __repr__(self) -> str:
        return f"<HandedSockets {list(self._sockets)}>"

    def add(self, description: str, sock: socket.socket) -> None:
        """Take *sock*; what neither listens nor takes datagrams is closed."""
        known = self._sockets.pop(description, None)
        if known is not None:
            known.close()
        if sock.type is socket.SOCK_DGRAM or sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            self._sockets[description] = sock
        else:
            sock.close()

    def take(self, description: str) -> socket.socket | None:
        """Return the socket for *description*, whose it is then; None where there is none.

        It is found by the same description, or by another one of the same address and port.
        """
        found = self._sockets.pop(description, None)
        if found is not None:
            return found
        wanted = _place_of(description)
        if wanted is None:
            return None
        for known, sock in self._sockets.items():
            if _place(sock) == wanted:
                return self._sockets.pop(known)
        return None

    def bound_to(self) -> dict[str, tuple[str, int]]:
        """Return address and port of each, as the kernel has them, by description."""
        return {
            description: sock.getsockname()[:2]
            for description, sock in self._sockets.items()
            if sock.family in _FAMILIES
        }

    def close(self) -> None:
        """Close those that nobody asked for."""
        for sock in self._sockets.values():
            sock.close()
        self._sockets.clear()


_Place = tuple[bool, int, str, int]
"""Whether it is of UDP, family, address and port; the address is empty for all of this machine."""


def _place_of(description: str) -> _Place | None:
    """Return what a description of TCP or UDP names."""
    is_of_port = description.startswith(("tcp:", "tcp6:", "udp:", "udp6:"))
    bound = bound_to(description) if is_of_port else None
    if bound is None:
        return None
    address, port = bound
    is_six = description.startswith(("tcp6:", "udp6:")) or ":" in interface_of(description)
    return description.startswith("udp"), (6 if is_six else 4), address, port


def _place(sock: socket.socket) -> _Place | None:
    family = _FAMILIES.get(sock.family)
    if family is None:
        return None
    try:
        address, port = sock.getsockname()[:2]
    except OSError:
        return None
    is_udp = sock.type is socket.SOCK_DGRAM
    everywhere = ip_address(address.partition("%")[0]).is_unspecified
    return is_udp, family, "" if everywhere else address, port


def listening_only(sockets: dict[str, int]) -> dict[str, int]:
    """Return those of *sockets* that can be handed over: of TCP and UDP, and what was handed over to us.

    The file of a UNIX socket goes with the process that made it.
    """
    found = {}
    for description, descriptor in sockets.items():
        with socket.socket(fileno=os.dup(descriptor)) as sock:
            if sock.family in _FAMILIES or is_handed_over(description):
                found[description] = descriptor
    return found

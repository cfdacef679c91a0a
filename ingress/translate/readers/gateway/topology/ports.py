"""Where listeners of Gateways are open: by which listeners of this process, by which tables, and where none can be.

At the addresses of the process, what the command line listens on serves the Gateways' listeners on that port, too.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from ingress.model.network.listeners import (
    Listener,
    interface_of,
    likes_of,
    port_of,
    tcp_description,
    udp_description,
)
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.topology.listener_checks import UDP, is_secure

SHARED_ADDRESS: Final = "*"
"""What stands for the addresses of the process in the name of a table."""
_ANYWHERE: Final = frozenset({"", "0.0.0.0", "::"})


def table_name(address: str, port: int, *, is_udp: bool = False) -> str:
    """Return the name of the table of *address* and *port*; one of UDP is another, whatever its number."""
    return f"gateway {address}:{port}/udp" if is_udp else f"gateway {address}:{port}"


def tables_beside(given: Iterable[Listener]) -> frozenset[str]:
    """Return the names that the tables of Gateways have which are served side by side with that of the listeners *given*."""
    ports = (port_of(one.description) for one in given)
    return frozenset(table_name(SHARED_ADDRESS, port) for port in ports if port is not None)


class Ports:
    """Judges ports by what the operator decided."""

    def __init__(self, options: TranslateOptions) -> None:
        self._allowed = frozenset(options.gateway.ports)
        self._own = frozenset(options.gateway.own_ports)
        self._given: dict[int, list[Listener]] = {}
        for listener in options.listeners:
            port = port_of(listener.description)
            if port is not None:
                self._given.setdefault(port, []).append(listener)
        self._likes = {secure: likes_of(options.listeners, secure=secure) for secure in (False, True)}

    def fault(self, port: int, protocol: str, addresses: Sequence[str]) -> str | None:
        """Say why a listener of *protocol* cannot have *port* of *addresses*, none for those of the process; None if it can."""
        if port in self._own and protocol != UDP:
            return f"port {port} is that of the controller's own pages"
        if self._allowed and port not in self._allowed:
            return f"port {port} is none of those for Gateways (--gateway-ports)"
        if protocol == UDP:
            # What the command line listens on is of TCP.
            return None
        given = self._given.get(port, ())
        if addresses:
            if any(interface_of(one.description) in (*_ANYWHERE, *addresses) for one in given):
                return f"port {port} of its address is one that the controller's command line listens on"
            return None
        if given and (protocol == "TCP" or not self.is_given(port, protocol)):
            sort = "HTTPS" if given[0].is_secure else "HTTP"
            return f"port {port} is there for {sort} by the controller's command line"
        return None

    def is_given(self, port: int, protocol: str) -> bool:
        """Whether the command line listens on *port* for connections that begin as those of *protocol* do."""
        secure = is_secure(protocol)
        return any(one.is_secure == secure for one in self._given.get(port, ()))

    def listeners(self, port: int, protocol: str, addresses: Sequence[str]) -> tuple[Listener, ...]:
        """Return the listeners to be opened for *port* of *addresses*, none for those of the process."""
        secure, is_udp = is_secure(protocol), protocol == UDP
        describe = udp_description if is_udp else tcp_description
        if addresses:
            descriptions = [describe(port, one) for one in addresses]
        elif not is_udp and self.is_given(port, protocol):
            return ()
        else:
            descriptions = [describe(port, interface_of(like), like) for like in self._likes[secure]]
        table = table_name(addresses[0] if addresses else SHARED_ADDRESS, port, is_udp=is_udp)
        return tuple(
            Listener(one, secure, table, is_stream=protocol == "TCP", is_udp=is_udp) for one in descriptions
        )

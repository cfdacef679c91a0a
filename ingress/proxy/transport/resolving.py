"""Endpoints with a name: resolved once, judged, and only then connected to, address by address.

What is connected to is the address that was judged, never the name again: a name may have
another answer each time it is asked for.  For names that the operator wrote (``--endpoint``)
nothing is forbidden; a tenant's (an ExternalName Service) must lead to none of our own
addresses, nor to those of the API server.

Which address is the first is a matter of chance, as each is to have its share of the connections: the system has them in an order of its
own, which is the same every time.
"""

import socket
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from random import random
from typing import Any, Protocol

from ingress.model.network.addresses import address_fault, is_within, same_address
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.transport import TIMED_OUT, is_ip_address
from ingress.proxy.transport.name_lookups import Found

NOT_FOUND = "name not found"
MAX_ADDRESSES = 8
"""Addresses of one name that are tried."""

Dial = Callable[[str, float, Callable[[str], None]], None]
"""Connects to an address within so many seconds, or calls back once with the reason why not."""


def is_own_address(address: str) -> bool:
    """Whether *address* is one of this machine's: what would be sent there would come from there.

    Connecting a datagram socket sends nothing; it only has the kernel choose our address.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
            return same_address(probe.getsockname()[0], address)
    except OSError:
        # There is no way to it, so it is none of ours.
        return False


class AddressRules:
    """Judges addresses that tenants chose; *api_server* returns those of the API server, as texts."""

    def __init__(
        self,
        api_server: Callable[[], Collection[str]] = tuple,
        is_own: Callable[[str], bool] = is_own_address,
        is_forbidden: Callable[[str], str | None] = address_fault,
    ) -> None:
        self._api_server = api_server
        self._is_own = is_own
        self._is_forbidden = is_forbidden

    def fault(self, address: str) -> str | None:
        """Say why *address* must not be connected to; None when it may."""
        fault = self._is_forbidden(address)
        if fault is not None:
            return fault
        if any(same_address(address, one) for one in self._api_server()):
            return "is that of the API server"
        return "is an address of this host" if self._is_own(address) else None


class Names(Protocol):
    """Who looks names up."""

    def find(self, name: str, found: Found, *, is_tenants: bool) -> Callable[[], None]:
        """Have *found* told the addresses of *name*, never before this returns; return what ends the wait."""


class NamedConnecting:
    """One attempt to connect to *endpoint*, whose name is found by *names*, by *dial*, within *seconds*."""

    def __init__(
        self,
        reactor: Any,
        names: Names,
        endpoint: Endpoint,
        dial: Dial,
        failed: Callable[[str], None],
        seconds: float,
        rules: AddressRules,
        chance: Callable[[], float] = random,
    ) -> None:
        self._reactor = reactor
        self._chance = chance
        self._names = names
        self._endpoint = endpoint
        self._dial = dial
        self._failed = failed
        self._rules = (
            rules if endpoint.link_settings is not None and endpoint.link_settings.is_external else None
        )
        self._deadline = reactor.seconds() + seconds
        self._seconds = seconds
        self._addresses: list[str] = []
        self._timeout: Any = None
        self._leave: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin."""
        if is_ip_address(self._endpoint.address):
            self._addresses.append(self._endpoint.address)
            self._connect()
            return
        self._timeout = self._reactor.callLater(self._seconds, self._timed_out)
        self._leave = self._names.find(
            self._endpoint.address, self._found, is_tenants=self._rules is not None
        )

    # Both let go of what has them: nothing is left that only a collector would find.

    def _found(self, addresses: Sequence[str]) -> None:
        self._timeout.cancel()
        self._timeout = self._leave = None
        self._addresses += self._shuffled(addresses)
        self._connect()

    def _shuffled(self, addresses: Sequence[str]) -> list[str]:
        """Return as many of *addresses* as are tried; whether those of IPv6 or IPv4 come first is for the system to say."""
        of_families: Iterator[str] = (
            address
            for _, family in groupby(addresses, lambda address: ":" in address)
            for address in sorted(family, key=lambda _: self._chance())
        )
        return list(of_families)[:MAX_ADDRESSES]

    def _timed_out(self) -> None:
        leave, self._timeout, self._leave = self._leave, None, None
        if leave is not None:
            leave()
        self._failed(TIMED_OUT)

    def _connect(self) -> None:
        why = NOT_FOUND
        if self._rules is not None:
            allowed = []
            for address in self._addresses:
                fault = self._rules.fault(address) or self._fault_of_network(address)
                if fault is None:
                    allowed.append(address)
                else:
                    why = f"the external name leads to {address}, which {fault}"
            self._addresses = allowed
        self._next(why)

    def _fault_of_network(self, address: str) -> str | None:
        """Say why *address* is none that who asks may have connected to."""
        settings = self._endpoint.link_settings
        within = () if settings is None else settings.within
        return (
            None if not within or is_within(address, within) else "is in no network that the operator allows"
        )

    def _next(self, why: str) -> None:
        """Connect to the next address, or give up because of *why*."""
        left = self._deadline - self._reactor.seconds()
        if not self._addresses or left <= 0:
            self._failed(why)
            return
        # A first address that does not answer must leave time for the others.
        self._dial(self._addresses.pop(0), left / (len(self._addresses) + 1), self._next)

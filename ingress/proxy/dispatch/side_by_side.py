"""Who answers on a port that Ingresses and Gateways share: the resource of the one table or of the other, by host.

To find out takes as many calls as all else of a request on its way in, so hosts are remembered until either table is another one.
"""

from typing import Final

from ingress.model.text.lookup_budget import TurnBudget
from ingress.model.upstream.backends import BackendReference
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.upstream.rotation import Rotation
from ingress.routing.route import Route
from ingress.routing.side_by_side import is_of_second
from ingress.routing.streams import StreamRoute

MOST_HOSTS: Final = 4096
"""That are remembered: visitors choose hosts, and those that are served are few."""


class SideBySideResource:
    """Has *second* answer what is of its table, and *first* all else."""

    def __init__(self, first: IngressProxyResource, second: IngressProxyResource) -> None:
        self._first = first
        self._second = second
        self._tables = first.table, second.table
        self._known: dict[bytes, IngressProxyResource] = {}
        """Whose the requests for a host are."""

    def follow(self) -> None:
        """Go by the tables as they are now; called whenever either may be another one."""
        tables = self._first.table, self._second.table
        if tables != self._tables:
            self._tables = tables
            self._known.clear()

    def render(
        self,
        exchange: Exchange,
        decided: tuple[Route, BackendReference] | None = None,
        budget: TurnBudget | None = None,
    ) -> int:
        """Send *exchange* where the table says that has its host."""
        return (self._known.get(exchange.host) or self._of(exchange.host)).render(exchange, decided, budget)

    def is_asked_for_health(self, exchange: Exchange) -> bool:
        """Whether *exchange* is a health check, which whoever has its host answers."""
        return (self._known.get(exchange.host) or self._of(exchange.host)).is_asked_for_health(exchange)

    def route_of(self, exchange: Exchange) -> Route | None:
        """Return the route that would have *exchange*, of the table that has its host."""
        return (self._known.get(exchange.host) or self._of(exchange.host)).route_of(exchange)

    @property
    def reads_names(self) -> bool:
        """Whether the names in ClientHellos decide where connections lead, without any option."""
        return self._first.reads_names or self._second.reads_names

    def stream(self, server_name: bytes) -> StreamRoute | None:
        """Return where a TLS connection for *server_name*, empty where the client gave none, leads; None where requests are served."""
        first, second = self._first, self._second
        return (second if second.says(server_name) > first.says(server_name) else first).stream(server_name)

    def port_stream(self) -> StreamRoute | None:
        """Return where connections of TCP lead: they share no port."""
        return None

    def rotation_for(self, route: StreamRoute) -> Rotation | None:
        """Choose a backend of *route*, and return who picks its endpoints; None where it leads nowhere."""
        return self._first.rotation_for(route)

    def rotation_of(self, backend: BackendReference) -> Rotation | None:
        """Return who picks the endpoints of *backend*; None where no route of the snapshot leads there."""
        return self._first.rotation_of(backend)

    def _of(self, host: bytes) -> IngressProxyResource:
        if len(self._known) >= MOST_HOSTS:
            self._known.clear()
        found = self._second if is_of_second(*self._tables, host) else self._first
        self._known[host] = found
        return found

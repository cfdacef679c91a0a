"""The reverse proxy resource: which route, which policy, which endpoint.

``IngressProxyResource`` keeps the place and the contract that
``twisted.web.proxy.ReverseProxyResource`` has (a leaf ``Resource`` whose
``render`` answers ``NOT_DONE_YET``) and replaces what that class does with a
request: it reads whole bodies into memory, opens a connection per request, loses
repeated fields and knows no deadline.  What it is given to render is an
``Exchange``, not a ``twisted.web`` request.

Importing ``twisted.web.proxy`` installs the global reactor, so only this module
does it.
"""

from collections.abc import Mapping

from twisted.internet.interfaces import IReactorTime
from twisted.web.proxy import ReverseProxyResource
from twisted.web.server import NOT_DONE_YET

from ingress.model.backends import BackendReference, BackendState
from ingress.model.shared_map import SharedMap
from ingress.proxy.exchange import Exchange
from ingress.routing.balancing import RoundRobin
from ingress.routing.table import RouteTable


class IngressProxyResource(ReverseProxyResource):
    """Sends each exchange where the current route table says."""

    isLeaf = True  # noqa: N815 - twisted.web.resource.Resource

    def __init__(self, clock: IReactorTime) -> None:
        ReverseProxyResource.__init__(self, "", 0, b"", reactor=clock)
        self._table = RouteTable()
        self._backends: SharedMap[BackendReference, BackendState] = SharedMap()
        self._balancers: dict[BackendReference, RoundRobin] = {}

    def publish(self, table: RouteTable, backends: Mapping[BackendReference, BackendState]) -> None:
        """Make *table* and *backends* current.  Exchanges under way keep the route they have.

        Costs what is different in *backends*, if they are the successor of those before.
        """
        current = backends if isinstance(backends, SharedMap) else SharedMap(backends)
        for reference, state in current.changes_since(self._backends):
            balancer = self._balancers.get(reference)
            if balancer is None:
                continue
            if state is None:
                del self._balancers[reference]
            else:
                balancer.endpoints = state.endpoints
        self._backends = current
        self._table = table

    def render(self, exchange: Exchange) -> int:
        """Answer *exchange* by policy, or send it to an endpoint of its route."""
        route = self._table.find(exchange.host, exchange.path)
        if route is None:
            exchange.fail(404, "no route")
            return NOT_DONE_YET
        for policy in route.policies:
            reply = policy.judge(exchange)
            if reply is not None:
                exchange.reply(reply, route)
                return NOT_DONE_YET
        balancer = self._balancers.get(route.backend) or self._new_balancer(route.backend)
        if balancer.endpoints:
            exchange.proxy(route, balancer)
        else:
            state = self._backends.get(route.backend)
            exchange.fail(503, state.reason if state is not None else "no such backend", route)
        return NOT_DONE_YET

    def _new_balancer(self, reference: BackendReference) -> RoundRobin:
        """Make the balancer of a backend when it is first asked for: many never are."""
        state = self._backends.get(reference)
        balancer = RoundRobin(state.endpoints if state is not None else ())
        if state is not None:
            self._balancers[reference] = balancer
        return balancer

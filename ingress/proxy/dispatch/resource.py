"""The reverse proxy resource: which route, which filters, which endpoint.

``IngressProxyResource`` keeps the place and the contract that
``twisted.web.proxy.ReverseProxyResource`` has (a leaf ``Resource`` whose
``render`` answers ``NOT_DONE_YET``) and replaces what that class does with a
request: it reads whole bodies into memory, opens a connection per request, loses
repeated fields and knows no deadline.  What it is given to render is an
``Exchange``, not a ``twisted.web`` request.

Importing ``twisted.web.proxy`` installs the global reactor, so only this module
does it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Final

from twisted.internet.interfaces import IReactorTime
from twisted.web.proxy import ReverseProxyResource
from twisted.web.server import NOT_DONE_YET

from ingress.filters import FilterSpec, Scope
from ingress.model.exchanges.causes import Cause
from ingress.model.network.streams import StreamSort
from ingress.model.shared_map import SharedMap
from ingress.model.text.lookup_budget import LookupDeferred, TurnBudget
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.model.upstream.balancing import Balancing
from ingress.proxy.dispatch.known_rotations import KnownRotations
from ingress.proxy.dispatch.lookup_queue import LookupQueue
from ingress.proxy.dispatch.preparing import Preparing
from ingress.proxy.exchange.exchange import Exchange
from ingress.proxy.exchange.filtering.chains import Chains
from ingress.proxy.exchange.filtering.consulting import ask_at_once
from ingress.proxy.exchange.filtering.services import States
from ingress.proxy.upstream.rotation import Rotation, Rotations
from ingress.routing.backend_choice import choose, with_endpoint
from ingress.routing.expression_routes import PathTooLong
from ingress.routing.health_checks import (
    HEALTH_CHECK_PATH,
    HEALTH_CHECK_REPLY,
    HEALTH_CHECK_ROUTE,
    UnroutedHealthChecks,
    is_health_check,
)
from ingress.routing.match_conditions import TooMuchToCompare, first_met
from ingress.routing.paths import TWO_ROUTES, other_reading
from ingress.routing.route import Route
from ingress.routing.side_by_side import how_specific
from ingress.routing.streams import NO_STREAMS, StreamRoute, StreamTable
from ingress.routing.table import RouteTable
from ingress.routing.variants import Choice, WeightedBackend

NO_TABLE: Final = RouteTable()

MAX_ASKED_FOR: Final = 32
"""Ways to share the requests of one backend that are kept at a time, beside the usual one."""


class IngressProxyResource(ReverseProxyResource):
    """Sends each exchange where the current route table says."""

    isLeaf = True  # noqa: N815 - twisted.web.resource.Resource

    def __init__(
        self, clock: IReactorTime, rotations: Rotations, chains: Chains, states: States, random: Random
    ) -> None:
        ReverseProxyResource.__init__(self, "", 0, b"", reactor=clock)
        self.answers_health_checks = False
        """Whether load balancers may ask here if anybody is there."""
        self._unrouted_checks = UnroutedHealthChecks()
        self._table = NO_TABLE
        self._streams = NO_STREAMS
        self._preparing = Preparing(clock)
        self._make_rotations = rotations
        self._chains = chains
        self._random = random.random
        # What rotations know of endpoints is this worker's own: each worker meets them by itself.
        known: KnownRotations = states.state(
            Scope.WORKER, "rotations", "known", partial(KnownRotations, clock)
        )
        self._known = known
        # All tables are looked up in the same turns.
        queue: LookupQueue = states.state(Scope.WORKER, "lookups", "queue", partial(LookupQueue, clock))
        self._lookup_queue, self._budget = queue, queue.budget
        self._rotations, self._asked_for = known.usual, known.asked_for

    def publish(
        self,
        table: RouteTable,
        backends: Mapping[BackendReference, BackendState],
        streams: StreamTable = NO_STREAMS,
    ) -> None:
        """Make *table*, *backends* and *streams* current.  Exchanges under way keep the route they have.

        Costs what is different in *backends*, if they are the successor of those before.
        """
        self._known.follow(backends if isinstance(backends, SharedMap) else SharedMap(backends))
        if table is not self._table:
            self._chains.replace(self._table, table)
            self._table = table
        self._streams = streams

    @property
    def table(self) -> RouteTable:
        """The current table."""
        return self._table

    def forget(self) -> Callable[[], None]:
        """Serve nothing any more; return what has no filter kept for the sake of what was served, which may take its time."""
        before, self._table, self._streams = self._table, NO_TABLE, NO_STREAMS
        return partial(self._chains.replace, before, NO_TABLE)

    def share(self, default: Balancing, slow_start_seconds: float) -> None:
        """Share requests so from now on, where a route asks for nothing else.  Attempts under way end as they began."""
        self._make_rotations.share(default, slow_start_seconds)
        self._known.forget()

    @property
    def reads_names(self) -> bool:
        """Whether the names in ClientHellos decide where connections lead, without any option."""
        return self._streams.has_names

    def stream(self, server_name: bytes) -> StreamRoute | None:
        """Return where a TLS connection for *server_name*, empty where the client gave none, leads; None where requests are served."""
        return self._streams.find(server_name) if self._streams.has_names else self._passing(server_name)

    def _passing(self, server_name: bytes) -> StreamRoute | None:
        """Return the route by which TLS passes through for an Ingress."""
        route = self._table.passing(server_name) if server_name else None
        backend = None if route is None else route.passthrough
        if route is None or backend is None:
            return None
        return StreamRoute(
            route.host,
            StreamSort.PASSTHROUGH,
            route.owner,
            (WeightedBackend(backend),),
            route.path,
            route.timeouts,
            route.is_logged,
            may_rest=True,
        )

    def says(self, server_name: bytes) -> tuple[bool, int]:
        """Return how much a host of requests or of streams says of *server_name*."""
        hosts = self._table.host_of(server_name), self._streams.host_of(server_name)
        return max(map(how_specific, hosts))

    def port_stream(self) -> StreamRoute | None:
        """Return where connections of TCP, or datagrams of UDP, lead; None where they are closed, or dropped."""
        return self._streams.get("")

    def rotations(self) -> Sequence[Rotation]:
        """Return all that there are, of all tables: those that were asked for."""
        return tuple(self._known)

    def rotation_for(self, route: StreamRoute) -> Rotation | None:
        """Choose a backend of *route*, and return who picks its endpoints; None where it leads nowhere."""
        if not route.weighted:
            return None
        backend = route.draw(self._random)
        return self._rotations.get(backend) or self._new_rotation(backend)

    def rotation_of(self, backend: BackendReference) -> Rotation | None:
        """Return who picks the endpoints of *backend*; None where no route of the snapshot leads there."""
        rotation = self._rotations.get(backend)
        if rotation is None and backend in self._known.backends:
            rotation = self._new_rotation(backend)
        return rotation

    def render(
        self,
        exchange: Exchange,
        decided: tuple[Route, BackendReference] | None = None,
        budget: TurnBudget | None = None,
    ) -> int:
        """Send *exchange* to an endpoint, unless filters answer it.

        Who comes back from filters has *decided* by which route it goes, and to which backend; who comes back from the queue of
        lookups has a *budget* of its own.
        """
        if decided is None:
            budget = budget or self._budget
            try:
                route = self._table.find(exchange.host, exchange.path, budget)
                # A path in normal form, as nearly all are, is the same object.
                if exchange.path is not exchange.head.path and self._leads_elsewhere(exchange, budget):
                    exchange.fail(400, TWO_ROUTES)
                    return NOT_DONE_YET
            except PathTooLong:
                if not self._checks_health(exchange):
                    exchange.fail(414, "path too long for the expressions of its host")
                return NOT_DONE_YET
            except LookupDeferred:
                if not self._checks_health(exchange):
                    self._defer(exchange)
                return NOT_DONE_YET
            except TooMuchToCompare:
                exchange.fail(431, _TOO_MUCH)
                return NOT_DONE_YET
            if (
                route is None
                or route.conditions
                or route.variants
                or route.weighted
                or route.stand_in is not None
                or (not route.host and exchange.path == HEALTH_CHECK_PATH)
            ):
                self._ask_filters(exchange, route, budget)
                return NOT_DONE_YET
            if route.filters or self._chains.everything:
                chain = exchange.chain = self._chains.chain(route.filters)
                if (
                    chain.requests
                    and (chain.schemes is None or exchange.origin.scheme in chain.schemes)
                    and (chain.methods is None or exchange.head.method in chain.methods)
                ):
                    if chain.holds_bodies:
                        self._ask_filters(exchange, route, budget)
                        return NOT_DONE_YET
                    stop = ask_at_once(chain, exchange.facts())
                    if stop is not None:
                        decided = route, self._backend_of(exchange, route)
                        exchange.ask(chain, route, partial(self.render, exchange, decided), stop)
                        return NOT_DONE_YET
            backend = route.backend if route.secure_backend is None else self._backend_of(exchange, route)
        else:
            route, backend = decided
        rotation = self._rotations.get(backend) or self._new_rotation(backend)
        key = b""
        balancing = route.balancing_of(backend) if route.balancing_beside else route.balancing
        if balancing is not None:
            rotation = self._rotation_asked_for(backend, balancing, rotation)
            if not rotation.is_prepared:
                self._preparing.wait(rotation, exchange, partial(self.render, exchange, (route, backend)))
                return NOT_DONE_YET
            key = _key(balancing, exchange)
        if rotation.endpoints:
            exchange.proxy(route, rotation, key)
        else:
            state = self._known.backends.get(backend)
            # Be it told by 503 or, as the Gateway API wants it of some, by 500.
            exchange.cause = Cause.UNAVAILABLE
            if state is None:
                exchange.fail(503, "the backend of the route is not known here", route)
            else:
                why = state.reason or _NO_ENDPOINT
                exchange.fail(route.broken_status if state.is_broken else 503, why, route)
        return NOT_DONE_YET

    def is_asked_for_health(self, exchange: Exchange) -> bool:
        """Whether *exchange* is a health check, which is answered here and costs next to nothing."""
        host, path = exchange.host, exchange.path
        if not self.answers_health_checks or path != HEALTH_CHECK_PATH or self._table.host_of(host):
            return False
        if self._unrouted_checks.are(self._table, host, path):
            return True
        try:
            return is_health_check(self._table, host, path, self._table.find(host, path, self._budget))
        except (PathTooLong, LookupDeferred):
            # Some route has just that path, and may be the one.
            return False

    def _checks_health(self, exchange: Exchange) -> bool:
        """Answer *exchange* if it is a health check whichever route it would have; else return False."""
        if self.answers_health_checks and self._unrouted_checks.are(
            self._table, exchange.host, exchange.path
        ):
            exchange.reply(HEALTH_CHECK_REPLY, HEALTH_CHECK_ROUTE)
            return True
        return False

    def route_of(self, exchange: Exchange) -> Route | None:
        """Return the route that would have *exchange*; None where there is none, or none that is found within the bounds."""
        try:
            return self._taker(exchange, exchange.path, self._budget)
        except (PathTooLong, LookupDeferred, TooMuchToCompare):
            return None

    def _defer(self, exchange: Exchange) -> None:
        """Have *exchange* come back with a budget of its own, to whoever has its host by then."""
        host = self._table.host_of(exchange.host) or b""
        self._lookup_queue.wait(exchange, host, partial(exchange.downstream.site.look_up_again, exchange))

    def _leads_elsewhere(self, exchange: Exchange, budget: TurnBudget) -> bool:
        """Whether an endpoint that reads the path otherwise may take it for one of another route."""
        other = other_reading(exchange.head.path)
        if other is None:
            return False
        return self._taker(exchange, other, budget) is not self._taker(exchange, exchange.path, budget)

    def _taker(self, exchange: Exchange, path: bytes, budget: TurnBudget) -> Route | None:
        """Find the route that would have *exchange* if *path* were its path; raises ``PathTooLong``, ``LookupDeferred`` and ``TooMuchToCompare``."""
        route = self._table.find(exchange.host, path, budget)
        if route is not None and route.conditions:
            return first_met(
                self._table.taking(exchange.host, path, budget), exchange.facts().read_as(path), budget
            )
        return route

    @staticmethod
    def _backend_of(exchange: Exchange, route: Route) -> BackendReference:
        """Return the backend of *route* that requests get that came as *exchange* did."""
        secure = route.secure_backend
        return route.backend if secure is None or exchange.facts().scheme != b"https" else secure

    def _ask_filters(self, exchange: Exchange, route: Route | None, budget: TurnBudget) -> None:
        """Choose where *exchange* leads, and have the filters on the way there decide about it, if there are any."""
        if self.answers_health_checks and is_health_check(self._table, exchange.host, exchange.path, route):
            exchange.reply(HEALTH_CHECK_REPLY, HEALTH_CHECK_ROUTE)
            return
        backend_filters: tuple[FilterSpec, ...] = ()
        go_on: Callable[[], object]
        if route is not None and route.conditions:
            try:
                route = first_met(
                    self._table.taking(exchange.host, exchange.path, budget), exchange.facts(), budget
                )
            except TooMuchToCompare:
                exchange.fail(431, _TOO_MUCH)
                return
            except LookupDeferred:
                self._defer(exchange)
                return
        if route is None:
            filters = self._table.host_filters(exchange.host)
            is_known = self._table.host_of(exchange.host) is not None
            go_on = partial(exchange.fail, 404, _NO_PATH if is_known else _NO_HOST)
        else:
            if route.variants or route.weighted:
                choice = choose(route, exchange.facts(), self._random)
            else:
                choice = Choice(self._backend_of(exchange, route), route.filters)
            backend, filters, backend_filters, stand_in = choice
            if stand_in is not None or route.stand_in is not None:
                backend, backend_filters = with_endpoint(choice, route, exchange.facts(), self._has_endpoint)
            go_on = partial(self.render, exchange, (route, backend))
        if filters or backend_filters or self._chains.everything:
            exchange.ask(self._chains.chain(filters, backend_filters), route, go_on)
        else:
            go_on()

    def _has_endpoint(self, backend: BackendReference) -> bool:
        return bool((self._rotations.get(backend) or self._new_rotation(backend)).endpoints)

    def _new_rotation(self, reference: BackendReference) -> Rotation:
        """Make the rotation of a backend when it is first asked for, since many never are, or bring up that which is behind."""
        known = self._known.brought_up(reference)
        if known is not None:
            return known
        state = self._known.backends.get(reference)
        if state is None:
            rotation = self._make_rotations.make(reference, ())
        else:
            rotation = self._make_rotations.make(reference, state.endpoints, elsewhere=state.elsewhere)
            self._rotations[reference] = rotation
            rotation.show()
        return rotation

    def _rotation_asked_for(
        self, reference: BackendReference, balancing: Balancing, usual: Rotation
    ) -> Rotation:
        """Find the rotation of *reference* for routes that ask for *balancing*; make it when it is first used."""
        if reference not in self._rotations:
            return usual
        asked_for = self._asked_for.setdefault(reference, {})
        rotation = asked_for.get(balancing)
        if rotation is None:
            if len(asked_for) >= MAX_ASKED_FOR:
                # Of routes that are no more, most likely.
                old = asked_for.pop(next(iter(asked_for)))
                old.assign(())
                old.show(False)
            state = self._known.backends[reference]
            rotation = self._make_rotations.make(reference, state.endpoints, balancing, state.elsewhere)
            asked_for[balancing] = rotation
            rotation.show()
        return rotation


_TOO_MUCH: Final = "more to compare than one request may cost"
_NO_ENDPOINT: Final = "the backend has no endpoint"
_NO_HOST: Final = "no route is for this host"
_NO_PATH: Final = "no route of this host takes the path"


def _key(balancing: Balancing, exchange: Exchange) -> bytes:
    """Return what an endpoint for *exchange* is chosen by; empty where that is nothing of the request."""
    if balancing.affinity is not None:
        return balancing.affinity.key(exchange.facts())
    return b"" if balancing.hash_by is None else balancing.hash_by.render(exchange.facts())

"""The explanation of a request: what a snapshot does with it, decided by the parts that decide in the proxy.

The reader of heads, the route table, the choice among variants and the filters are the proxy's own; what is here is the order
in which they are asked, as in ``ingress.proxy.dispatch.resource``, and the words.  It comes in steps, so that a
running proxy can explain without making others wait.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import evolve

from ingress.explain.asked_request import Asked, AskedStream, ReadRequest, Refused, read_as_proxy
from ingress.explain.backends import Backends, settings_of, shown_backend, shown_place
from ingress.explain.explanation import (
    AskedRequest,
    BackendSeen,
    End,
    Explanation,
    Handshake,
    Outcome,
    RouteSeen,
    UpstreamRequest,
)
from ingress.explain.filters import (
    CREDENTIALS,
    NOT_SHOWN,
    Answered,
    AskedFilters,
    MadeFilter,
    answered_plainly,
    make_filter,
)
from ingress.explain.handshakes import SecuredConnection, handshake_for, passing, server_name_of, why_refused
from ingress.explain.left_open import certificate_not_checked, without_closed
from ingress.explain.outcomes import NOT_KNOWN, answered, closed, sent
from ingress.explain.routes import (
    concerned,
    hosts_seen,
    lost_seen,
    problems_by_object,
    problems_seen,
    route_seen,
    variants_seen,
    without_route,
)
from ingress.explain.served import Served
from ingress.explain.streams import explaining_stream
from ingress.explain.tables import served_by_table, table_for
from ingress.filters import FilterSpec
from ingress.http.forwarding import Origin, TrustedProxies, origin_of_peer, upstream_fields_of
from ingress.identity.misdirected import ServerNames, is_misdirected
from ingress.model.cluster.objects import ObjectId
from ingress.model.cluster.problems import Problem
from ingress.model.exchanges.reply import Reply
from ingress.model.network.listeners import MAIN
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.stepwise import Stepwise, finished
from ingress.model.upstream.backends import BackendReference
from ingress.proxy.exchange.facts import RequestFacts
from ingress.proxy.exchange.filtering.chain import in_order
from ingress.proxy.exchange.replies import Replies, accepts_html, head_of
from ingress.routing.backend_choice import chances
from ingress.routing.contest import MOST_LOSERS, Contest, contesting
from ingress.routing.health_checks import HEALTH_CHECK_REPLY, is_health_check
from ingress.routing.ordered_contest import contesting_in_order
from ingress.routing.paths import TWO_ROUTES, other_reading
from ingress.routing.route import Route

REQUEST_ID: Final = b"0" * 32
"""What the request is called, unless it says so itself."""

_HEALTH_CHECK: Final = (
    "the health check of a load balancer, which is answered for every host that no rule names"
)

Steps = Stepwise[Explanation]


def explain(asked: Asked | AskedStream, served: Served) -> Explanation:
    """Return the explanation of what *served* does with *asked*."""
    return finished(explaining(asked, served))


def explaining(asked: Asked | AskedStream, served: Served) -> Steps:
    """Find that out in steps."""
    if isinstance(asked, AskedStream):
        return explaining_stream(asked, served)
    return _Explaining(asked, served).steps()


class _Explaining:
    """One explanation on its way."""

    def __init__(self, asked: Asked, served: Served) -> None:
        self._asked = asked
        self._served = served
        self._snapshot = served.snapshot
        serving = self._snapshot.serving
        self._backends = Backends(self._snapshot.backends, served.objects)
        self._replies = Replies(serving.not_found_page)
        self._is_main = True
        self._read = read_as_proxy(asked, takes_underscores=serving.underscores_in_headers)
        self._origin = self._origin_of(serving)
        read = self._read
        if not isinstance(read, Refused):
            name = table_for(self._snapshot, asked.url.port, read.host)
            self._is_main = name == MAIN
            self._snapshot = served_by_table(self._snapshot, name)
        host, path = (b"", b"") if isinstance(read, Refused) else (read.host, read.path)
        self._request = AskedRequest(
            str(asked.url),
            asked.method.decode("ascii"),
            shown_fields(asked.fields),
            asked.client,
            shown_bytes(self._origin.address),
            shown_bytes(host),
            shown_bytes(path),
            asked.url.notes,
        )

    def _origin_of(self, serving: ServingSettings) -> Origin:
        url, peer = self._asked.url, self._asked.client.encode("ascii")
        origin = origin_of_peer(peer, url.scheme.encode("ascii"), url.port)
        trusted = TrustedProxies(
            serving.trusted_proxies,
            serving.forwarded_headers,
            serving.forwarded_for_header,
            is_full=serving.full_forwarded_for,
            takes_host=serving.forwarded_host,
        )
        return trusted.origin(origin, self._read.head) if trusted.believes(peer) else origin

    def steps(self) -> Steps:
        """Find the explanation."""
        if self._asked.url.scheme != "https":
            return (yield from self._request_steps(Explanation(self._request, NOT_KNOWN), None))
        server_name = server_name_of(self._asked.url.host)
        handshake = handshake_for(server_name, self._snapshot, self._served.now)
        start = Explanation(self._request, NOT_KNOWN, handshake)
        if handshake.passthrough:
            return (yield from self._passed_through(start, server_name))
        if handshake.is_refused:
            return evolve(start, outcome=closed(why_refused(self._snapshot)))
        asked_for = self._snapshot.handshake_settings.find(server_name).client_authentication
        if asked_for is not None and asked_for.mode.ends_handshakes:
            why = f"the client shows no certificate of the authorities in {asked_for.source}, so the handshake ends"
            return evolve(start, outcome=closed(why))
        return (yield from self._request_steps(start, SecuredConnection(asked_for), server_name))

    def _request_steps(
        self, start: Explanation, security: SecuredConnection | None, server_name: str | None = None
    ) -> Steps:
        read = self._read
        if isinstance(read, Refused):
            return self._refused(start, read.status, f"the proxy does not take such a request: {read.why}")
        authentication = None if security is None else security.authentication
        if security is not None and self._is_misdirected(read, server_name, authentication):
            name = server_name or "no name"
            why = f"{self._request.host} needs a connection of its own, and this one was made for {name}"
            return self._refused(start, 421, why)
        request_id = read.head.request_id or REQUEST_ID
        facts = RequestFacts(request_id, read.head, (read.host, read.path), self._origin, security)
        contest = yield from self._contesting(read, facts)
        other = other_reading(read.head.path)
        otherwise = contest
        if other is not None:
            otherwise = yield from self._contesting(evolve(read, path=other), facts.read_as(other))
        start = evolve(
            start,
            hosts=hosts_seen(contest),
            lost=lost_seen(contest),
            more_lost=contest.more_losers,
            near_hosts=contest.near_hosts,
            near_paths=tuple(map(route_seen, contest.near_paths)),
        )
        if contest.is_too_long or otherwise.is_too_long:
            return self._refused(start, 414, "the path is too long for the regular expressions of its host")
        if contest.is_too_much or otherwise.is_too_much:
            return self._refused(start, 431, "finding its route would cost more than one request may")
        if otherwise.route is not contest.route:
            return self._refused(start, 400, f"the proxy does not take such a request: {TWO_ROUTES}")
        if self._is_main and is_health_check(self._snapshot.table, read.host, read.path, contest.route):
            answer = Answered(head_of(HEALTH_CHECK_REPLY), HEALTH_CHECK_REPLY.status, "")
            return evolve(start, outcome=evolve(answered(answer, _HEALTH_CHECK), is_taken=True))
        if contest.route is None:
            return (yield from self._without_route(start, contest, facts, read))
        return (yield from self._by_route(start, contest.route, facts, read))

    def _contesting(self, read: ReadRequest, facts: RequestFacts) -> Stepwise[Contest]:
        table = self._snapshot.table
        if table.covers_labels:
            return contesting_in_order(table, read.host, read.path, facts)
        return contesting(table, read.host, read.path)

    def _is_misdirected(
        self, read: ReadRequest, server_name: str | None, asked_for: ClientAuthentication | None
    ) -> bool:
        names = ServerNames(self._snapshot.certificates, self._snapshot.handshake_settings)
        return is_misdirected(read.host.decode("ascii", "replace"), server_name, asked_for, names)

    def _refused(self, start: Explanation, status: int, why: str) -> Explanation:
        """Return the end of a request that is answered before anybody looks for filters."""
        return evolve(start, outcome=answered(answered_plainly(self._replies, status, self._read.head), why))

    # TLS that is not ended here

    def _passed_through(self, start: Explanation, server_name: str | None) -> Steps:
        route = passing(server_name, self._snapshot)
        assert route is not None and route.passthrough is not None
        seen = yield from self._route_steps(route)
        backend = self._backends.seen(route.passthrough)
        if backend.endpoints or backend.unknown:
            outcome = Outcome(End.PASSED_THROUGH, f"passed through as TLS to {shown_place(backend)}", True)
        else:
            shown = shown_backend(backend)
            outcome = closed(f"{shown}, to which TLS passes through, has no endpoints: {backend.reason}")
        start = evolve(start, outcome=outcome, route=seen, backends=(backend,))
        problems = yield from problems_by_object(self._snapshot)
        return (yield from self._with_problems(start, route, (route.passthrough,), problems))

    # Without a route

    def _without_route(
        self, start: Explanation, contest: Contest, facts: RequestFacts, read: ReadRequest
    ) -> Steps:
        filters = yield from self._filter_steps(self._snapshot.table.host_filters(read.host), (), facts, read)
        stopped = filters.ask()
        if stopped is None:
            why = without_route(contest, self._request.host, self._request.path)
            outcome = self._own_answer(filters, 404, why)
        else:
            outcome = answered(filters.answered(stopped[1], stopped[0]), "", filters.conditions)
        hosts = tuple(key.decode("ascii", "replace") for key in self._snapshot.table.keys_of(read.host))
        problems = yield from problems_by_object(self._snapshot)
        unserved = yield from self._served.objects.unserved(hosts[: len(contest.looked_for)], problems)
        return evolve(start, outcome=outcome, filters=filters.seen(), unserved=unserved)

    # By a route

    def _by_route(self, start: Explanation, route: Route, facts: RequestFacts, read: ReadRequest) -> Steps:
        seen = yield from self._route_steps(route)
        problems = yield from problems_by_object(self._snapshot)
        own = () if route.owner is None else tuple(problems.get(route.owner.id, ()))
        outdone = yield from self._served.objects.outdone(route.host, read.path, problems)
        start = evolve(
            start,
            lost=(*outdone[:MOST_LOSERS], *start.lost),
            more_lost=start.more_lost + len(outdone[MOST_LOSERS:]),
        )
        chosen = chances(route, facts)
        leads = [self._backends.lead_of(route, one.choice, facts) for one in chosen.choices]
        backends = tuple(
            self._backends.seen(lead.backend, 100 * one.share / one.of, lead.stands_in_for)
            for one, lead in zip(chosen.choices, leads, strict=True)
        )
        # Where chance decides, the filters are told of that which most requests get.
        most = max(range(len(leads)), key=lambda number: chosen.choices[number].share)
        left_open = without_closed(chosen.choices[most].choice.filters, own, self._served.objects)
        filters = yield from self._filter_steps(left_open.specs, leads[most].filters, facts, read)
        filters.conditions += left_open.conditions
        start = evolve(start, route=seen, variants=variants_seen(route, chosen, facts), backends=backends)
        stopped = filters.ask()
        if stopped is None:
            status = route.broken_status if self._backends.is_broken(leads[most].backend) else 503
            found = self._let_pass(start, route, filters, read, backends[most], status)
        else:
            answer = filters.answered(stopped[1], stopped[0])
            found = evolve(start, outcome=answered(answer, "", filters.conditions))
        found = evolve(found, filters=filters.seen(), handshake=self._with_unknown(found.handshake, own))
        return (yield from self._with_problems(found, route, tuple(lead.backend for lead in leads), problems))

    def _let_pass(
        self,
        start: Explanation,
        route: Route,
        filters: AskedFilters,
        read: ReadRequest,
        backend: BackendSeen,
        without_endpoints: int,
    ) -> Explanation:
        """Return what becomes of a request that the filters let pass."""
        head = read.head
        if not backend.endpoints and not backend.unknown:
            why = f"{shown_backend(backend)} has no endpoints: {backend.reason}"
            return evolve(start, outcome=self._own_answer(filters, without_endpoints, why))
        if head.has_body and 0 < route.max_body_bytes < head.content_length:
            why = f"the request body has more than {route.max_body_bytes} bytes"
            return evolve(start, outcome=self._own_answer(filters, 413, why))
        fields = upstream_fields_of(head, filters.facts.id, self._origin)
        changed = filters.change_request(head.asked_as(self._origin.authority or head.authority), fields)
        if isinstance(changed, Reply):
            outcome = answered(filters.answered(changed, filters.failed), "", filters.conditions)
            return evolve(start, outcome=outcome)
        upstream = UpstreamRequest(
            shown_bytes(changed.method), shown_bytes(changed.target), shown_bytes(changed.authority)
        )
        return evolve(
            start,
            outcome=sent(start.backends, filters.conditions),
            upstream=upstream,
            settings=tuple(settings_of(route, self._snapshot.serving)),
        )

    def _own_answer(self, filters: AskedFilters, status: int, why: str) -> Outcome:
        """Return what comes of an answer of the proxy's own, which filters see."""
        reply = self._replies.of(status, accepts_html(filters.head.forward))
        return answered(filters.answered(reply, None), why, filters.conditions)

    # Parts

    def _route_steps(self, route: Route) -> Stepwise[RouteSeen]:
        return route_seen(route, (yield from self._served.objects.field_of(route)))

    def _filter_steps(
        self,
        specs: tuple[FilterSpec, ...],
        backend_specs: tuple[FilterSpec, ...],
        facts: RequestFacts,
        read: ReadRequest,
    ) -> Stepwise[AskedFilters]:
        made: list[MadeFilter] = []
        for spec in in_order(self._served.everything, specs, backend_specs):
            made.append(make_filter(spec, self._served.now, self._snapshot.replicas))
            yield
        return AskedFilters(tuple(made), facts, read.head, self._replies)

    def _with_unknown(self, handshake: Handshake | None, problems: Sequence[Problem]) -> Handshake | None:
        """Return *handshake*, and whether another certificate might be shown than that of nobody in particular."""
        if handshake is None or any(not one.is_default for one in handshake.certificates):
            return handshake
        return evolve(handshake, not_checked=certificate_not_checked(problems, self._served.objects))

    def _with_problems(
        self,
        found: Explanation,
        route: Route,
        backends: tuple[BackendReference, ...],
        problems: Mapping[ObjectId, set[Problem]],
    ) -> Steps:
        field = "" if found.route is None else found.route.field
        objects = concerned(found, route.owner, (*backends, *route.backends), self._served.objects)
        seen, more = yield from problems_seen(objects, problems, field, self._served.objects)
        return evolve(found, problems=seen, more_problems=more)


def shown_bytes(octets: bytes) -> str:
    """Return *octets* as text, whatever they are."""
    return octets.decode("utf-8", "backslashreplace")


def shown_fields(fields: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    """Return names and values; what proves who somebody is stays out."""
    return tuple(
        (shown_bytes(name), NOT_SHOWN if name.lower() in CREDENTIALS else shown_bytes(value))
        for name, value in fields
    )

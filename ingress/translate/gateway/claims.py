"""What routes of the Gateway API ask for in the tables of Gateways: the form in which their readers hand it over.

A match of a rule is a claim by itself; it holds for each host that the route has in common with one of its listeners.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from attrs import evolve

from ingress.filters import FilterSpec
from ingress.model.cluster.objects import Owner
from ingress.model.frozen import frozen
from ingress.model.network.streams import StreamSort
from ingress.model.serving.limits import AskedTimeouts
from ingress.model.upstream.backends import BackendReference
from ingress.model.upstream.retries import DEFAULT_RETRIES, RetryRule
from ingress.model.upstream.upstream_tls import ByPolicy
from ingress.routing.match_conditions import MatchCondition
from ingress.routing.route import Match, Route
from ingress.routing.variants import WeightedBackend
from ingress.translate.readers.gateway.topology.attachments import (
    Attachment,
    BackendCertificate,
    ListenerHosts,
    ListenerState,
)

TABLE_PREFIX: Final = "gateway "
"""What the names of tables of Gateways begin with ..."""
TCP_PREFIX: Final = "tcp "
UDP_PREFIX: Final = "udp "
"""... and those of the operator's port services; all others are decided about as Ingresses want it."""

_FEW: Final = 4
"""Of an object with more listeners or hosts it is remembered which are of which table."""

ListenerKey = tuple[Owner, str]
"""The object that has a listener, and the listener's name."""


def is_of_gateways(table: str) -> bool:
    """Whether *table* is the name of one that Gateways have, or that is decided about as theirs."""
    return table.startswith((TABLE_PREFIX, TCP_PREFIX, UDP_PREFIX))


def key_of(listener: ListenerState) -> ListenerKey:
    """Return what stands for *listener* in counts and decisions."""
    return listener.owner, listener.name


@frozen(weakref_slot=False)
class RuleClaim:
    """Where a rule leads."""

    field: str
    """Where it stands: ``spec.rules[0]``."""
    backend: BackendReference
    """The first of them; one that leads nowhere where the rule has none that gets requests."""
    weighted: tuple[WeightedBackend, ...] = ()
    """All that share the requests; empty where *backend* gets them all."""
    backend_field: str = ""
    """What names *backend*; empty where nothing does."""
    named: tuple[tuple[str, BackendReference], ...] = ()
    """All others that it names, with the fields that do: those of weight 0 and those of filters, too."""
    beside: tuple[BackendReference, ...] = ()
    """Those that its filters ask."""
    timeouts: AskedTimeouts | None = None
    retries: RetryRule = DEFAULT_RETRIES
    broken_status: int = 500

    def named_backends(self) -> Iterator[tuple[str, BackendReference]]:
        """Yield every backend that it names, with its field."""
        if self.backend_field:
            yield self.backend_field, self.backend
        yield from self.named


@frozen(weakref_slot=False)
class MatchClaim:
    """Requests that a rule takes: by path, and by what else they have to say."""

    rule: RuleClaim
    path: str
    match: Match
    rank: tuple[int, ...]
    """What decides between matches that take the same request; the least comes first."""
    field: str
    """Where it stands: ``spec.rules[0].matches[0]``; that of the rule where it names none."""
    conditions: tuple[MatchCondition, ...] = ()
    filters: tuple[FilterSpec, ...] = ()


@frozen(weakref_slot=False)
class StreamLead:
    """Where streams lead."""

    field: str
    """Where the object says so: ``spec.rules[0]``."""
    weighted: tuple[WeightedBackend, ...] = ()
    """Those that share them; none where all are closed."""
    named: tuple[tuple[str, BackendReference], ...] = ()
    """All backends that are named, with the fields that do: those of weight 0, too."""
    sends_header: bool = False
    """Whether endpoints get a PROXY header."""


@frozen(weakref_slot=False)
class StreamClaim:
    """A host of a listener of TCP or TLS: that a route leads its streams somewhere, or that the listener has it."""

    table: str
    host: str
    sort: StreamSort
    field: str
    """Where the object says so: ``spec.parentRefs[0]``, ``spec.listeners[0]``."""
    lead: StreamLead | None = None
    """None of a listener, which has the host whether a route leads anywhere or not."""
    hostname: str = ""
    """What the route says of *host*: that, or a hostname that covers more."""


@frozen(weakref_slot=False)
class GatewayClaims:
    """What an object asks for in tables of Gateways."""

    attachments: tuple[Attachment, ...] = ()
    """Where a route attaches, by entry of its ``parentRefs``."""
    rules: tuple[RuleClaim, ...] = ()
    matches: tuple[MatchClaim, ...] = ()
    hostnames: tuple[str, ...] = ("",)
    """Those of a route as it says them, in lower case; all hosts where it says none."""
    kept: tuple[tuple[str, str], ...] = ()
    """Of an object that has listeners, by table: the hosts that these have, with routes or without any.  Nothing of
    wider hosts is served for them; all hosts are none of these."""
    streams: tuple[StreamClaim, ...] = ()
    """What it asks for where server names, or nothing but the port, decide."""

    def attached(self) -> Iterator[tuple[Attachment, ListenerHosts]]:
        """Yield the listeners that take the route, each once, with the first entry that names it."""
        if len(self.attachments) == 1 and len(self.attachments[0].listeners) == 1:
            yield self.attachments[0], self.attachments[0].listeners[0]
            return
        seen: set[ListenerKey] = set()
        for attachment in self.attachments:
            for taken in attachment.listeners:
                key = key_of(taken.listener)
                if key not in seen:
                    seen.add(key)
                    yield attachment, taken

    def attached_in(self, table: str) -> Sequence[tuple[Attachment, ListenerHosts]]:
        """Return those of ``attached`` whose listeners are of *table*."""
        if sum(len(one.listeners) for one in self.attachments) > _FEW:
            return self._by_table.get(table, ())
        # So it is of nearly all routes, of which nothing more is kept for that.
        return [one for one in self.attached() if one[1].listener.table == table]

    @cached_property
    def _by_table(self) -> dict[str, list[tuple[Attachment, ListenerHosts]]]:
        found: dict[str, list[tuple[Attachment, ListenerHosts]]] = {}
        for one in self.attached():
            found.setdefault(one[1].listener.table, []).append(one)
        return found

    def hosts_in(self, table: str) -> tuple[str, ...]:
        """Return the hosts that the object names in *table*, each once: those of its routes, and those that it keeps."""
        taking = self.attached_in(table)
        if not self.kept and not self.streams:
            if len(taking) == 1:
                # Nearly all routes have one listener, whose hosts are kept already.
                return taking[0][1].hosts
            return tuple({host: None for _, taken in taking for host in taken.hosts})
        found = {host: None for _, taken in taking for host in taken.hosts}
        if len(self.kept) + len(self.streams) > _FEW:
            found.update(self._others_by_table.get(table, {}))
        else:
            found.update((host, None) for name, host in self._others() if name == table)
        return tuple(found)

    def _others(self) -> Iterator[tuple[str, str]]:
        """Yield the hosts that the object keeps, and those of its streams, by table."""
        yield from self.kept
        for one in self.streams:
            yield one.table, one.host

    @cached_property
    def _others_by_table(self) -> dict[str, dict[str, None]]:
        found: dict[str, dict[str, None]] = {}
        for table, host in self._others():
            found.setdefault(table, {})[host] = None
        return found

    def stream(self, table: str, host: str) -> StreamClaim | None:
        """Return what the object asks for *host* of *table*, as far as that is about streams."""
        return self._streams.get((table, host)) if self.streams else None

    @cached_property
    def _streams(self) -> dict[tuple[str, str], StreamClaim]:
        # Of two entries of one object the first counts.
        return {(one.table, one.host): one for one in reversed(self.streams)}

    def shown_at(self, table: str, host: str) -> BackendCertificate | None:
        """Return what the Gateway of the listener that takes the route for *host* of *table* shows to endpoints."""
        for _, taken in self.attached_in(table):
            if taken.listener.backend_certificate is not None and host in taken.hosts:
                return taken.listener.backend_certificate
        return None

    def keeps(self, table: str, host: str) -> bool:
        """Whether a listener of the object has *host* in *table*."""
        return (table, host) in self.kept

    def named_backends(self) -> Iterator[tuple[str, BackendReference]]:
        """Yield every backend that the rules name, with its field."""
        for rule in self.rules:
            yield from rule.named_backends()
        if self.streams:
            leads = {id(one.lead): one.lead for one in self.streams if one.lead is not None}
            for lead in leads.values():
                yield from lead.named


NOTHING_CLAIMED: Final = GatewayClaims()


def routes_of(owner: Owner, claims: GatewayClaims, table: str, host: str) -> tuple[Route, ...]:
    """Return the routes of *claims*, which *owner* makes, for *host* of *table*, in order of its matches."""
    shown = claims.shown_at(table, host)
    routes = tuple(_route_of(owner, host, claim) for claim in claims.matches)
    return routes if shown is None else tuple(_showing(route, shown) for route in routes)


def _showing(route: Route, shown: BackendCertificate) -> Route:
    """Return *route* with backends that are shown a certificate; they are not those of other Gateways."""
    weighted = tuple(evolve(one, backend=_shown_to(one.backend, shown)) for one in route.weighted)
    return evolve(route, backend=_shown_to(route.backend, shown), weighted=weighted)


def _shown_to(backend: BackendReference, shown: BackendCertificate) -> BackendReference:
    protocol = backend.protocol
    if not isinstance(protocol, ByPolicy):
        return backend
    return backend._replace(protocol=evolve(protocol, certificate=shown.secret, fault=shown.fault))


def _route_of(owner: Owner, host: str, claim: MatchClaim) -> Route:
    rule = claim.rule
    return Route(
        host,
        claim.path,
        claim.match,
        owner,
        rule.backend,
        timeouts=rule.timeouts,
        retries=rule.retries,
        beside=rule.beside,
        filters=claim.filters,
        weighted=rule.weighted,
        conditions=claim.conditions,
        place=claim.field,
        broken_status=rule.broken_status,
    )

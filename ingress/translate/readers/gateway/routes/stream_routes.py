"""What TLSRoutes, TCPRoutes and UDPRoutes ask for: where the streams of their listeners lead.

A backend that cannot be found, is of a kind that is none here, or may not be referred to keeps its share of the connections,
which are reset, or of the datagrams, which are dropped (``TCPRouteRule.backendRefs``, ``TLSRouteRule.backendRefs``,
``UDPRouteRule.backendRefs``).
"""

from functools import cache
from typing import Final

from ingress.annotations.annotations import DEFAULTS
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.network.streams import StreamSort
from ingress.model.upstream.upstream_tls import BY_POLICY, DATAGRAMS
from ingress.routing.variants import WeightedBackend
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.claims import GatewayClaims, StreamClaim, StreamLead
from ingress.translate.readers.gateway.objects.routes import (
    AnyStreamRoute,
    GRPCRule,
    StreamRule,
    TLSRoute,
    UDPRoute,
)
from ingress.translate.readers.gateway.routes.route_relations import MOST_BACKENDS, RouteRelations
from ingress.translate.readers.gateway.routes.rule_reading import BackendReader
from ingress.translate.readers.gateway.topology.hostnames import ALL_HOSTS, most_specific
from ingress.wording import number_of

_NOTHING: Final = StreamRule("spec.rules")


def read_stream_route(value: AnyStreamRoute, relations: RouteRelations) -> ParsedObject:
    """Read a route that is ours."""
    is_udp = isinstance(value, UDPRoute)
    backends = BackendReader(value.owner, relations, DATAGRAMS if is_udp else BY_POLICY)
    rule = value.rules[0] if value.rules else _NOTHING
    problems = list(_faults(value))
    lead = StreamLead(rule.field)
    if len(rule.backends) <= MOST_BACKENDS:
        claim = backends.read(GRPCRule(rule.field, matches=(), backends=rule.backends)).claim(None)
        lead = StreamLead(
            rule.field, claim.weighted or (WeightedBackend(claim.backend),), tuple(claim.named_backends())
        )
    as_it_is = lead if is_udp else _as_it_is(lead)
    hostnames = (
        frozenset(one.lower() for one in value.hostnames) if isinstance(value, TLSRoute) else frozenset()
    )
    # A route may have the same host at thousands of listeners.
    saying = cache(lambda host: most_specific(host, hostnames) or ALL_HOSTS)
    streams = tuple(
        StreamClaim(
            taken.listener.table,
            host,
            sort,
            attachment.field,
            lead if sort is StreamSort.TERMINATED else as_it_is,
            saying(host),
        )
        for attachment, taken in GatewayClaims(relations.attachments).attached()
        if taken.listener.is_served and (sort := taken.listener.stream_sort) is not None
        for host in taken.hosts
    )
    return ParsedObject(
        value.owner,
        value,
        (),
        (),
        None,
        DEFAULTS,
        (*problems, *backends.problems),
        rules_field="spec.hostnames" if isinstance(value, TLSRoute) else "spec.rules",
        service_at="",
        tables=relations.tables,
        gateway=GatewayClaims(relations.attachments, streams=streams),
        related=relations,
    )


def _as_it_is(lead: StreamLead) -> StreamLead:
    """Return *lead* for bytes that nobody looks into: whatever is known of how the backends are spoken to, it is not done here."""
    weighted = tuple(
        WeightedBackend(one.backend._replace(protocol=None), one.weight) for one in lead.weighted
    )
    named = tuple((field, backend._replace(protocol=None)) for field, backend in lead.named)
    return StreamLead(lead.field, weighted, named)


def _faults(value: AnyStreamRoute) -> list[Problem]:
    """Return what is wrong with the rules as a whole."""
    owner, found = value.owner, []
    for rule in value.rules[1:2]:
        more = len(value.rules) - 2
        others = f"; {number_of(more, 'more is', 'more are')}, too" if more else ""
        message = f"is behind the first rule, which has all streams{others}"
        found.append(owner.problem(Reason.UNSUPPORTED_VALUE, message, rule.field))
    for rule in value.rules[:1]:
        if len(rule.backends) > MOST_BACKENDS:
            message = f"has {len(rule.backends)} backends, and at most {MOST_BACKENDS} are looked at; its streams lead nowhere"
            found.append(owner.problem(Reason.UNSUPPORTED_VALUE, message, f"{rule.field}.backendRefs"))
    return found

"""What HTTPRoutes and GRPCRoutes ask for: their rules, read in steps."""

from collections.abc import Iterator, Sequence
from typing import Final

from ingress.annotations.annotations import DEFAULTS
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import Stepwise
from ingress.model.upstream.upstream_tls import BY_POLICY, ByPolicy
from ingress.object_fields import entry_path
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.claims import GatewayClaims, MatchClaim, RuleClaim
from ingress.translate.readers.gateway.objects.routes import (
    GRPCMatch,
    GRPCRule,
    HTTPMatch,
    HTTPRoute,
    HTTPRule,
    PathMatch,
)
from ingress.translate.readers.gateway.routes.match_reading import (
    EXPRESSION,
    MatchRefused,
    ReadMatch,
    read_grpc_match,
    read_http_match,
)
from ingress.translate.readers.gateway.routes.route_relations import (
    MOST_BACKENDS,
    ReadRoute,
    RouteRelations,
    backends_of,
)
from ingress.translate.readers.gateway.routes.rule_reading import BackendReader, ReadRule
from ingress.translate.readers.gateway.topology.hostnames import ALL_HOSTS, in_lower_case
from ingress.wording import number_of

MOST_MATCHES: Final = 1024
"""Matches of one route: as many as the API's bounds on rules, and on the matches of each, come to."""
MOST_OF_HOSTS: Final = 65_536
"""Matches of one route times the hosts that it has of its listeners: as many are in tables."""
_WORK_AT_ONCE: Final = 100
"""In conditions; an expression may take as long as all of these."""
_HTTP2: Final = ByPolicy(is_http2=True)
_UNAVAILABLE: Final = 503
"""The status of HTTP that gRPC knows as UNAVAILABLE."""


def reading_route(value: ReadRoute, relations: RouteRelations) -> Stepwise[ParsedObject]:
    """Read a route that is ours, in steps."""
    matches = sum(len(rule.matches) for rule in value.rules)
    backends = sum(1 for _ in backends_of(value))
    if matches > MOST_MATCHES or backends > MOST_BACKENDS:
        # To serve some of them would hand requests to rules that others were to keep from them.
        message = (
            f"nothing of it is served, since it has {number_of(matches, 'match', 'matches')} and {number_of(backends, 'backend')},"
            f" and at most {MOST_MATCHES} and {MOST_BACKENDS} are"
        )
        return _nothing_served(value, relations, message)
    claims = GatewayClaims(relations.attachments)
    hosts = sum(len(taken.hosts) for _, taken in claims.attached())
    if matches * hosts > MOST_OF_HOSTS:
        message = (
            f"nothing of it is served, since it has {number_of(matches, 'match', 'matches')} for each of {number_of(hosts, 'host')} of listeners,"
            f" and at most {MOST_OF_HOSTS} altogether are"
        )
        return _nothing_served(value, relations, message)
    reading = _Reading(value, relations)
    for rule in value.rules:
        yield from reading.read(rule)
    lower = tuple(in_lower_case(one) for one in value.hostnames)
    hostnames = (value.hostnames if value.hostnames == lower else lower) or (ALL_HOSTS,)
    claims = GatewayClaims(relations.attachments, tuple(reading.rules), tuple(reading.matches), hostnames)
    return _parsed(value, relations, claims, (*reading.problems, *reading.backends.problems))


def _nothing_served(value: ReadRoute, relations: RouteRelations, message: str) -> ParsedObject:
    problem = value.owner.problem(Reason.UNSUPPORTED_VALUE, message, "spec.rules")
    return _parsed(value, relations, GatewayClaims(relations.attachments), (problem,))


def _parsed(
    value: ReadRoute, relations: RouteRelations, claims: GatewayClaims, problems: tuple[Problem, ...]
) -> ParsedObject:
    return ParsedObject(
        value.owner,
        value,
        (),
        (),
        None,
        DEFAULTS,
        problems,
        rules_field="spec.hostnames",
        service_at="",
        tables=relations.tables,
        gateway=claims,
        related=relations,
    )


class _Reading:
    """The rules of one route, read one after the other."""

    def __init__(self, value: ReadRoute, relations: RouteRelations) -> None:
        self._owner: Owner = value.owner
        self.backends = (
            BackendReader(value.owner, relations, BY_POLICY)
            if isinstance(value, HTTPRoute)
            else BackendReader(value.owner, relations, _HTTP2, _UNAVAILABLE)
        )
        self.rules: list[RuleClaim] = []
        self.matches: list[MatchClaim] = []
        self.problems: list[Problem] = []
        self._work = 0

    def read(self, rule: HTTPRule | GRPCRule) -> Iterator[None]:
        """Read a rule."""
        found: list[tuple[str, ReadMatch, PathMatch | None]] = []
        for field, written in _matches_of(rule):
            if self._has_worked(_work_of(written)):
                yield
            if written.is_broken:
                # Whoever keeps objects has told it.
                continue
            try:
                if isinstance(written, HTTPMatch):
                    found.append((field, read_http_match(written), written.path))
                else:
                    found.append((field, read_grpc_match(written), None))
            except MatchRefused as refused:
                message = f"{refused}; no request matches it"
                self.problems.append(
                    self._owner.problem(Reason.UNSUPPORTED_VALUE, message, f"{field}.{refused.field}")
                )
        paths = tuple({path: None for _, _, path in found if path is not None})
        if self._has_worked(4 * (len(rule.backends) + len(rule.filters))):
            yield
        read = self.backends.read(rule, paths)
        # Nearly all rules lead to the same, whatever path they match.
        by_path: dict[PathMatch | None, RuleClaim] = {}
        for field, match, path in found:
            if self._has_worked(1):
                yield
            claim = by_path.get(path)
            if claim is None:
                claim = by_path[path] = read.claim(path)
            self.matches.append(_claim_of(claim, match, field, path, read))
        self.rules.append(next(iter(by_path.values())) if by_path else read.claim(None))

    def _has_worked(self, work: int) -> bool:
        """Count *work*; return whether that is enough for one step."""
        self._work += work
        if self._work < _WORK_AT_ONCE:
            return False
        self._work = 0
        return True


def _claim_of(
    claim: RuleClaim, match: ReadMatch, field: str, path: PathMatch | None, read: ReadRule
) -> MatchClaim:
    return MatchClaim(claim, match.path, match.match, match.rank, field, match.conditions, read.specs(path))


def _matches_of(rule: HTTPRule | GRPCRule) -> Iterator[tuple[str, HTTPMatch | GRPCMatch]]:
    matches: Sequence[HTTPMatch | GRPCMatch] = rule.matches
    for at, written in enumerate(matches):
        yield entry_path(rule.field, "matches", at), written


def _work_of(written: HTTPMatch | GRPCMatch) -> int:
    """Return what reading a match costs, in conditions."""
    named = written.headers
    if isinstance(written, HTTPMatch):
        named += written.query
        expressions = int(written.path.type == EXPRESSION)
    else:
        expressions = int(written.method is not None)
    expressions += sum(1 for one in named if one.type == EXPRESSION)
    return 1 + len(named) + expressions * _WORK_AT_ONCE

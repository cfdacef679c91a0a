"""Where a rule of an HTTPRoute or GRPCRoute leads: its backends with their shares and filters, and its own filters.

A backend that cannot be found, is of a kind that is none here, or may not be referred to keeps its share of the requests,
which are answered with an error (``HTTPRouteRule.backendRefs``).
"""

from collections.abc import Sequence
from typing import Final

from attrs import evolve

from ingress.filters import FilterSpec
from ingress.gateway_filters.refusals import BAD_RULE
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.upstream.backends import BackendReference
from ingress.model.upstream.upstream_tls import UpstreamProtocol
from ingress.object_fields import entry_path
from ingress.routing.variants import WeightedBackend
from ingress.translate.claims import SERVICE_KIND, invalid_reference
from ingress.translate.gateway.claims import RuleClaim
from ingress.translate.readers.gateway.objects.names import UNREADABLE
from ingress.translate.readers.gateway.objects.routes import (
    BackendObject,
    GRPCRule,
    HTTPRule,
    PathMatch,
    RouteBackend,
)
from ingress.translate.readers.gateway.routes.filter_reading import NO_FILTERS, ReadFilters, read_filters
from ingress.translate.readers.gateway.routes.route_relations import RouteRelations
from ingress.translate.readers.gateway.routes.rule_times import RuleTimes, read_times

_REFUSED: Final[tuple[FilterSpec, ...]] = (BAD_RULE,)
_MOST_WEIGHT: Final = 1_000_000
"""The API's own bound."""


class BackendReader:
    """Reads the backends of a route of *owner*, which goes by *relations*; they are spoken to by *protocol*."""

    def __init__(
        self, owner: Owner, relations: RouteRelations, protocol: UpstreamProtocol, broken: int = 500
    ) -> None:
        """*broken* is what requests get whose backend leads nowhere as it is written."""
        self._owner = owner
        self._relations = relations
        self._protocol = protocol
        self._broken = broken
        self._nowhere = invalid_reference(owner)
        self._no_share = _Share(self._nowhere, 0, NO_FILTERS)
        self._known: dict[BackendReference, BackendReference] = {}
        self.problems: list[Problem] = []

    def read(self, rule: HTTPRule | GRPCRule, paths: Sequence[PathMatch] = ()) -> "ReadRule":
        """Read a *rule*; *paths* are all that it matches."""
        filters = read_filters(rule.filters, self._owner, self._resolve, paths)
        times = read_times(rule, self._owner) if isinstance(rule, HTTPRule) else RuleTimes()
        self.problems += (*filters.problems, *times.problems)
        named: list[tuple[str, BackendReference]] = list(filters.beside)
        shares: list[_Share] = []
        for at, one in enumerate(rule.backends):
            self._share(one, entry_path(rule.field, "backendRefs", at), paths, named, shares)
        for field in rule.unread:
            message = "is not honored by this controller"
            self.problems.append(
                self._owner.problem(Reason.UNSUPPORTED_VALUE, message, f"{rule.field}.{field}")
            )
        beside = tuple(
            dict.fromkeys(
                backend for some in (filters, *(one.filters for one in shares)) for _, backend in some.beside
            )
        )
        first = shares[0] if shares else self._no_share
        claim = RuleClaim(
            rule.field,
            first.backend,
            backend_field=first.field,
            named=tuple([one for one in named if one[0] != first.field]),
            beside=beside,
            timeouts=times.timeouts,
            retries=times.retries,
            broken_status=self._broken,
        )
        return ReadRule(claim, filters, tuple(shares), times.is_refused)

    def _share(
        self,
        one: RouteBackend,
        at: str,
        paths: Sequence[PathMatch],
        named: list[tuple[str, BackendReference]],
        shares: "list[_Share]",
    ) -> None:
        found = self._resolve(one.backend, at)
        if isinstance(found, Problem):
            if one.backend.target != UNREADABLE:
                self.problems.append(found)
            found, field = self._nowhere, ""
        else:
            field = at
            named.append((field, found))
        weight = one.weight
        if weight > _MOST_WEIGHT:
            message = f"weight is more than {_MOST_WEIGHT}, which counts in its place"
            self.problems.append(self._owner.problem(Reason.UNSUPPORTED_VALUE, message, f"{at}.weight"))
            weight = _MOST_WEIGHT
        filters = read_filters(one.filters, self._owner, self._resolve, paths)
        self.problems += filters.problems
        named += filters.beside
        if weight > 0:
            shares.append(_Share(found, weight, filters, field))

    def _resolve(self, backend: BackendObject, field: str) -> BackendReference | Problem:
        """Find what *backend*, which stands in *field*, refers to; or say why that is nothing."""
        owner, target = self._owner, backend.target
        if target.group or target.kind != SERVICE_KIND:
            message = f"{target} is no Service, which is the only kind of backends here"
            return owner.problem(Reason.INVALID_KIND, message, field)
        namespace = owner.key.namespace
        if not self._relations.permits(target, namespace):
            message = f"no ReferenceGrant of the namespace {target.namespace} permits a {owner.kind} of {namespace} to refer to {target}"
            return owner.problem(Reason.REFERENCE_NOT_PERMITTED, message, field)
        if not backend.port:
            message = f"no port of {target} is named"
            return owner.problem(Reason.SERVICE_PORT_NOT_FOUND, message, f"{field}.port")
        key = target.key(owner.key)
        return self._referring(
            BackendReference(key.namespace, key.name, backend.port, protocol=self._protocol)
        )

    def _referring(self, found: BackendReference) -> BackendReference:
        """Return an equal reference of the same route that was made before: its rules mostly lead to the same few."""
        return self._known.setdefault(found, found)


@frozen
class _Share:
    """A backend that gets requests."""

    backend: BackendReference
    weight: int
    filters: ReadFilters
    field: str = ""
    """What names *backend*; empty of one that leads nowhere."""


@frozen
class ReadRule:
    """A rule that was read; its claim is another one for each path where filters depend on that."""

    _claim: RuleClaim
    _filters: ReadFilters
    _shares: tuple[_Share, ...]
    _is_refused: bool
    """Whether its requests are answered with an error, whatever else it says."""

    def specs(self, path: PathMatch | None) -> tuple[FilterSpec, ...]:
        """Return what stands before requests that *path* of the rule matches."""
        return _REFUSED if self._is_refused else self._filters.specs(path)

    def claim(self, path: PathMatch | None) -> RuleClaim:
        """Return where requests lead that *path* of the rule matches."""
        shares = self._shares
        if not shares or (len(shares) == 1 and shares[0].filters is NO_FILTERS):
            return self._claim
        weighted = tuple(WeightedBackend(one.backend, one.weight, one.filters.specs(path)) for one in shares)
        if len(weighted) == 1 and not weighted[0].filters:
            return self._claim
        return evolve(self._claim, weighted=weighted)

"""What objects say about a host and a path, be they served or not: where a route is asked for, and who asks in vain.

Everything is found in steps, for there may be tens of thousands of objects.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from ingress.annotations.contract.values import quoted
from ingress.explain.explanation import LostRoute, RouteSeen, Unserved
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.model.upstream.backends import BackendReference
from ingress.model.upstream.upstream_tls import ProtocolAsked, ProtocolRefused
from ingress.routing.contest import path_bytes, takes
from ingress.routing.route import Match, Route
from ingress.translate.claims import DEFAULT_BACKEND_FIELD, SERVICE_KIND
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.not_ours import why_not_served_here
from ingress.translate.readers.gateway.objects.routes import GRPCRoute, HTTPRoute, TLSRoute
from ingress.translate.readers.ingress.classes import class_named, controller_of, is_catch_all, served_classes
from ingress.translate.readers.ingress.objects import Ingress, IngressPath
from ingress.translate.readers.reader import Reader, Readers, RouteKind
from ingress.translate.readers.route_kinds import ROUTE_KINDS

AT_ONCE: Final = 100
_PATH_FIELD: Final = re.compile(r"spec\.rules\[(\d+)\]\.http\.paths\[(\d+)\](?:\.path)?")
_OUTDONE: Final = (Reason.PATH_CONFLICT, Reason.CANARY_WITHOUT_PRIMARY)
MOST_UNSERVED: Final = 10


class KnownKinds(Protocol):
    """Of which kinds all objects are known: of others, one that there is not may only not have been shown."""

    def knows(self, kind: Kind, namespace: str) -> bool:
        """Whether an object of *kind* in *namespace* that there is not does not exist."""

    def unknown(self, problem: Problem) -> Kind | None:
        """Return the kind for want of which *problem* cannot be told; None where it can be."""


class Everything:
    """All objects of all kinds are known, as they are to a controller."""

    def knows(self, kind: Kind, namespace: str) -> bool:
        """Return that it is so."""
        return True

    def unknown(self, problem: Problem) -> Kind | None:
        """Return None: all can be told."""
        return None


ALL_KINDS: Final = Everything()


class Objects(Protocol):
    """What is known of objects beside what is served."""

    def why_unknown(self, backend: BackendReference) -> str:
        """Say why it is not known whether *backend*, for which no endpoint was found, has any; empty where it has none."""

    def not_checked(self, problem: Problem) -> str:
        """Say why *problem* is not known to be one; empty where it is."""

    def slices_of(self, service: ObjectKey) -> Sequence[ObjectKey]:
        """Return the EndpointSlices of *service*."""

    def field_of(self, route: Route) -> Stepwise[str]:
        """Find where the owner of *route* asks for it; empty where that is not known."""

    def outdone(
        self, host: str, path: bytes, problems: Mapping[ObjectId, set[Problem]]
    ) -> Stepwise[tuple[LostRoute, ...]]:
        """Find the paths of *host*, as in ``Route.host``, that would take *path* and are no routes, since another object has them."""

    def unserved(
        self, hosts: tuple[str, ...], problems: Mapping[ObjectId, set[Problem]]
    ) -> Stepwise[tuple[Unserved, ...]]:
        """Find who names one of *hosts*, as in ``Route.host``, in vain, and why."""


class NoObjects:
    """Nothing is known of objects but what is served."""

    def why_unknown(self, backend: BackendReference) -> str:
        """Return nothing."""
        return ""

    def not_checked(self, problem: Problem) -> str:
        """Return nothing."""
        return ""

    def slices_of(self, service: ObjectKey) -> Sequence[ObjectKey]:
        """Return none."""
        return ()

    def field_of(self, route: Route) -> Stepwise[str]:
        """Find nothing."""
        yield
        return ""

    def outdone(
        self, host: str, path: bytes, problems: Mapping[ObjectId, set[Problem]]
    ) -> Stepwise[tuple[LostRoute, ...]]:
        """Find none."""
        yield
        return ()

    def unserved(
        self, hosts: tuple[str, ...], problems: Mapping[ObjectId, set[Problem]]
    ) -> Stepwise[tuple[Unserved, ...]]:
        """Find nobody."""
        yield
        return ()


@frozen
class KnownObjects:
    """The objects of *state*, as they are read by *options*."""

    state: ClusterState
    options: TranslateOptions
    known: KnownKinds = ALL_KINDS
    kinds: Sequence[RouteKind] = ROUTE_KINDS

    def why_unknown(self, backend: BackendReference) -> str:
        """Say why it is not known whether *backend* has endpoints."""
        key = ObjectKey(backend.namespace, backend.name)
        if backend.kind != SERVICE_KIND or isinstance(backend.protocol, ProtocolRefused):
            return ""
        tls = backend.protocol.tls if isinstance(backend.protocol, ProtocolAsked) else None
        secret = None if tls is None else tls.secret
        is_given = secret is None or secret in self.state.secrets
        if not is_given and secret is not None and not self.known.knows(Kind.SECRET, secret.namespace):
            return f"{_not_given(Kind.SECRET, secret.namespace)}, so it is not known how they are spoken to"
        service = self.state.services.get(key)
        if service is None:
            if self.known.knows(Kind.SERVICE, key.namespace):
                return ""
            return f"{_not_given(Kind.SERVICE, key.namespace)}, so this one may exist"
        if service.type == "ExternalName" or self.state.slices.get(key):
            return ""
        if self.known.knows(Kind.ENDPOINT_SLICE, key.namespace):
            return ""
        return f"{_not_given(Kind.ENDPOINT_SLICE, key.namespace)}, so it may have some"

    def not_checked(self, problem: Problem) -> str:
        """Say why *problem* is not known to be one."""
        kind = self.known.unknown(problem)
        return "" if kind is None else _not_given(kind, problem.looked_in)

    def slices_of(self, service: ObjectKey) -> Sequence[ObjectKey]:
        """Return those that name *service*."""
        return [one.key for one in self.state.slices.get(service, ())]

    def field_of(self, route: Route) -> Stepwise[str]:
        """Find where the owner of *route* asks for it."""
        owner = route.owner
        if route.place:
            return route.place
        value = None if owner is None else self.state.of(owner.kind).get(owner.key)
        if owner is None or value is None:
            return ""
        if isinstance(value, Ingress):
            return (yield from _field_in_ingress(value, route))
        reader = Readers(self.kinds, self.options)[owner.kind]
        verdict = reader.judge(value, self.state)
        claims = reader.read(value, verdict.related).claims if verdict.is_ours else ()
        return next((one.field for one in claims if (one.host, one.path) == (route.host, route.path)), "")

    def unserved(
        self, hosts: tuple[str, ...], problems: Mapping[ObjectId, set[Problem]]
    ) -> Stepwise[tuple[Unserved, ...]]:
        """Find who names one of *hosts* in vain."""
        found: list[Unserved] = []
        wanted = frozenset(hosts)
        for kind, reader in Readers(self.kinds, self.options):
            # What is there may be changed while somebody waits for the next step.
            for number, (key, value) in enumerate(list(self.state.of(kind).items()), 1):
                if not number % AT_ONCE:
                    yield
                field = self._names(reader, value, wanted)
                if field is not None:
                    found += self._why(reader, kind, key, value, field, problems.get((kind, key), ()))
                if len(found) >= MOST_UNSERVED:
                    return tuple(found[:MOST_UNSERVED])
        return tuple(found)

    def outdone(
        self, host: str, path: bytes, problems: Mapping[ObjectId, set[Problem]]
    ) -> Stepwise[tuple[LostRoute, ...]]:
        """Find the paths of *host* that would take *path*, and that another object has."""
        found: list[LostRoute] = []
        for number, ((kind, key), some) in enumerate(problems.items(), 1):
            if not number % AT_ONCE:
                yield
            value = self.state.of(kind).get(key)
            if not isinstance(value, Ingress):
                continue
            for problem in some:
                asked = _path_at(value, problem.field) if problem.reason in _OUTDONE else None
                if asked is not None and asked[0] == host and asked[1].takes(path):
                    seen = RouteSeen(
                        host,
                        asked[1].path,
                        asked[1].match,
                        str(kind),
                        key.namespace,
                        key.name,
                        problem.field.removesuffix(".path"),
                        value.created,
                    )
                    found.append(LostRoute(seen, problem.reason.value, problem.message))
        return tuple(
            sorted(found, key=lambda one: (-len(one.route.path), one.route.namespace, one.route.name))
        )

    def _names(self, reader: Reader, value: ClusterObject, hosts: frozenset[str]) -> str | None:
        """Return where *value* names one of *hosts*; None where it does not."""
        if isinstance(value, Ingress):
            for index, rule in enumerate(value.rules):
                if rule.host.lower() in hosts:
                    return f"spec.rules[{index}]"
            is_told = is_catch_all(value, self.options) and reader.judge(value, self.state).problems
            return DEFAULT_BACKEND_FIELD if is_told else None
        verdict = reader.judge(value, self.state)
        if not verdict.is_ours:
            named = value.hostnames if isinstance(value, HTTPRoute | GRPCRoute | TLSRoute) else ()
            return "spec.hostnames" if hosts.intersection(host.lower() for host in named) else None
        parsed = reader.read(value, verdict.related)
        return parsed.rules_field if hosts.intersection(parsed.hosts) else None

    def _why(
        self,
        reader: Reader,
        kind: Kind,
        key: ObjectKey,
        value: ClusterObject,
        field: str,
        problems: Iterable[Problem],
    ) -> Iterator[Unserved]:
        shown = f"{kind} {key}"
        verdict = reader.judge(value, self.state)
        if not verdict.is_ours:
            yield Unserved(shown, field, self._why_not_ours(value, verdict.problems))
            return
        for problem in sorted(problems):
            if not problem.is_note:
                yield Unserved(shown, problem.field, problem.message)

    def _why_not_ours(self, value: ClusterObject, problems: tuple[Problem, ...]) -> str:
        if problems:
            return problems[0].message
        if not isinstance(value, Ingress):
            return why_not_served_here(value, self.state, self.options.gateway)
        name = class_named(value)
        served = f"this controller serves the class {quoted(self.options.ingress_class)} (--ingress-class)"
        if not name:
            return f"it has no class, and {served}, and none without class (--watch-without-class)"
        controller = controller_of(name, self.state)
        if controller is None:
            return f"its class is {quoted(name)}, of which no IngressClass is known, and {served}"
        # The name alone decides nothing where there is a class of it.
        ours = f"this controller serves {served_classes(self.options)}"
        return f"its class is {quoted(name)}, whose controller is {quoted(controller)}, and {ours}"


class _AskedPath(NamedTuple):
    """A path of a rule that is no route."""

    path: str
    match: str

    def takes(self, path: bytes) -> bool:
        """Whether it would take *path*, compared as text."""
        return self.path.startswith("/") and takes(self.path, path, is_exact=self.match == Match.EXACT.value)


def _path_at(ingress: Ingress, field: str) -> tuple[str, _AskedPath] | None:
    """Return host and path that *ingress* has at *field*; None where that is no path of a rule."""
    at = _PATH_FIELD.fullmatch(field)
    if at is None:
        return None
    rule, number = int(at[1]), int(at[2])
    paths = ingress.rules[rule].paths if rule < len(ingress.rules) else None
    if paths is None or number >= len(paths):
        return None
    one = paths[number]
    return ingress.rules[rule].host.lower(), _AskedPath(one.path or "/", _match_of(one).value)


def _match_of(path: IngressPath) -> Match:
    """Return how *path* is compared: whatever its type is, if it is not Exact, it is read as a prefix."""
    return Match.EXACT if path.path_type == Match.EXACT.value else Match.PREFIX


def _not_given(kind: Kind, namespace: str) -> str:
    return f"no {kind} of namespace {namespace} is given"


def _field_in_ingress(ingress: Ingress, route: Route) -> Stepwise[str]:
    wanted = path_bytes(route.path)
    seen = 0
    fallback = ""
    for index, rule in enumerate(ingress.rules):
        if rule.host.lower() != route.host:
            continue
        fallback = fallback or f"spec.rules[{index}]"
        for number, path in enumerate(rule.paths or ()):
            seen += 1
            if not seen % AT_ONCE:
                yield
            own = path.path or "/"
            is_match = route.beginnings is not None or _match_of(path) is route.match
            if own == route.path and is_match:
                return f"spec.rules[{index}].http.paths[{number}]"
            if is_match and own.startswith("/") and path_bytes(own) == wanted:
                fallback = f"spec.rules[{index}].http.paths[{number}]"
    is_default = (
        ingress.default_backend is not None
        and route.path == "/"
        and route.match is not Match.EXACT
        and "paths" not in fallback
    )
    return DEFAULT_BACKEND_FIELD if is_default else fallback

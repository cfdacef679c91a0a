"""Routes of one host as rules of an HTTPRoute, for requests that came by one scheme."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from attrs import Factory, define, evolve

from ingress.annotations.hosts.passthrough import NotTerminatedHere
from ingress.annotations.hosts.transport_security import TransportSecurity
from ingress.annotations.redirects.https_redirect import HTTPS_PORT, HttpsRedirect
from ingress.annotations.requests.bodies import DEFAULT_MAX_BYTES
from ingress.ctl.gateway.backends import Backends
from ingress.ctl.gateway.conditions import decided_before, has_negated, in_order, said_conditions
from ingress.ctl.gateway.filters import FilterSaying, RuleParts
from ingress.ctl.gateway.paths import PathSaid, said_path
from ingress.ctl.gateway.rendering_values import Effect, GatewayOptions, Json, Remark, Remarks, without_empty
from ingress.filters import FilterSpec
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.upstream.backends import BackendReference
from ingress.model.upstream.retries import DEFAULT_RETRIES
from ingress.model.upstream.upstream_tls import ProtocolAsked
from ingress.routing.route import Match, Route
from ingress.routing.variants import RequestCondition, Said, WeightedBackend

HTTP_ROUTE: Final = "HTTPRoute"
MOST_RULES: Final = 16
MOST_MATCHES: Final = 8
"""Of one rule; the API takes 64 since v1.1, and no more than 128 of all rules."""
MOST_BACKENDS: Final = 16
_NO_SESSION: Final = "a client with a session stays at primary or canary today; that cannot be said"
_ANY_PATH: Final = {"type": "PathPrefix", "value": "/"}


@define
class Rule:
    """One rule: which requests, and what becomes of them."""

    matches: list[Json]
    content: Json = Factory(dict)
    """Everything but the matches."""
    is_grpc: bool = False
    """Whether its backends speak gRPC, and nothing stands before them that a GRPCRoute cannot say."""

    @property
    def takes_one(self) -> bool:
        """Whether it must have no other match: what it does is about the prefix that it has."""
        return "replacePrefixMatch" in str(self.content.get("filters", ""))

    def json(self) -> Json:
        """Return it as the API has it."""
        return {"matches": self.matches, **self.content}


def asking_object(route: Route) -> ObjectId:
    """Return whom remarks about *route* are for: its owner, or the Service of the controller's own default backend."""
    if route.owner is not None:
        return route.owner.id
    return Kind.SERVICE, ObjectKey(route.backend.namespace, route.backend.name)


def namespace_of(route: Route) -> str:
    """Return the namespace in which *route* is asked for."""
    return route.backend.namespace if route.owner is None else route.owner.key.namespace


@define
class RuleSaying:
    """Says routes by rules."""

    options: GatewayOptions
    backends: Backends
    remarks: Remarks

    def rules(self, routes: Sequence[Route], scheme: str, strict: bytes = b"") -> list[Rule]:
        """Return the rules of *routes*, all of one owner and host, for requests that came by *scheme*.

        *strict* is what answers say in Strict-Transport-Security where their filters do not.
        """
        return joined(rule for route in routes for rule in self._of_route(route, scheme, strict))

    def _of_route(self, route: Route, scheme: str, strict: bytes) -> Iterable[Rule]:
        asking = asking_object(route)

        def remark(what: str, why: str, effect: Effect) -> None:
            self.remarks.add(asking, what, why, effect)

        path = self._path(route, remark)
        if path is None:
            return
        to_https = self._to_https(route, scheme, remark)
        if to_https is not None:
            yield Rule(
                [{"path": path}], {"filters": [{"type": "RequestRedirect", "requestRedirect": to_https}]}
            )
            return
        more = (TransportSecurity(strict),) if strict else ()
        parts = self._parts(route, (*route.filters, *more), scheme, remark)
        if parts.root and path in (_ANY_PATH, {"type": "Exact", "value": "/"}):
            redirect = {"path": {"type": "ReplaceFullPath", "replaceFullPath": parts.root}, "statusCode": 302}
            filters = [{"type": "RequestRedirect", "requestRedirect": redirect}]
            yield Rule([{"path": {"type": "Exact", "value": "/"}}], {"filters": filters})
            if path["type"] == "Exact":
                return
        self._remark_others(route, remark)
        weighted = route.weighted or (WeightedBackend(route.backend, secure_backend=route.secure_backend),)
        usual = self._rule([], route, parts, weighted, scheme, remark)
        decided = decided_before(route.variants)
        for variant in in_order(route.variants):
            if has_negated(variant):
                for condition in decided:
                    yield evolve(usual, matches=_matches(path, (condition,)) or [])
                decided = []
            if any(_is_session(one) for one in variant.conditions):
                remark("canary", _NO_SESSION, Effect.LEFT_OUT)
                continue
            matches = _matches(path, variant.conditions)
            if matches is None:
                shown = " and ".join(map(str, variant.conditions))
                remark("canary", f"requests of which {shown} lead elsewhere today", Effect.LEFT_OUT)
                continue
            of_variant = self._parts(route, (*variant.filters, *more), scheme, remark)
            yield self._rule(matches, route, of_variant, variant.weighted, scheme, remark)
        yield evolve(usual, matches=[{"path": path}])

    def _path(self, route: Route, remark: Remark) -> Json | None:
        if route.match is Match.BEGINNING:
            beginnings = route.beginnings
            texts = () if beginnings is None else (*beginnings.prefixes, *beginnings.whole)
            shown = "|".join(re.escape(one.decode("utf-8", "replace")) for one in sorted(texts))
            said = PathSaid({"type": "RegularExpression", "value": f"(?i)(?:{shown}).*"[:1024]})
        else:
            said = said_path(route)
        if said.match is None:
            remark(
                f"path {route.path!a}",
                f"{said.why}; its requests go to what else takes them",
                Effect.LEFT_OUT,
            )
        elif said.why:
            remark(f"path {route.path!a}", said.why, Effect.DIFFERS)
        return said.match

    def _to_https(self, route: Route, scheme: str, remark: Remark) -> Json | None:
        spec = next((one for one in route.filters if isinstance(one, HttpsRedirect)), None)
        if spec is None or scheme != "http":
            return None
        if spec.hosts is not None:
            remark(
                spec.name,
                "hosts that have certificates are redirected today, and others of the route are not",
                Effect.LEFT_OUT,
            )
            return None
        redirect: Json = {"scheme": "https", "statusCode": spec.status}
        if spec.port != HTTPS_PORT:
            redirect["port"] = spec.port
        return redirect

    def _parts(self, route: Route, specs: tuple[FilterSpec, ...], scheme: str, remark: Remark) -> RuleParts:
        left = tuple(one for one in specs if not isinstance(one, HttpsRedirect | NotTerminatedHere))
        saying = FilterSaying(
            route, scheme, remark, experimental=self.options.experimental, unguarded=self.options.unguarded
        )
        return saying.say(left)

    def _rule(
        self,
        matches: list[Json],
        route: Route,
        parts: RuleParts,
        weighted: tuple[WeightedBackend, ...],
        scheme: str,
        remark: Remark,
    ) -> Rule:
        filters = parts.filters(remark)
        if parts.redirect is not None and not parts.is_closed:
            return Rule(matches, {"filters": filters})
        if parts.is_closed:
            return Rule(matches)
        for mirror in parts.mirrors:
            reference = self._reference(mirror, route)
            if reference is not None:
                filters.append({"type": "RequestMirror", "requestMirror": {"backendRef": reference}})
        references = self._references(route, weighted, scheme, remark)
        content = without_empty(
            (
                ("filters", filters),
                ("backendRefs", references),
                ("timeouts", self._timeouts(route, remark)),
                ("sessionPersistence", parts.session),
            )
        )
        is_grpc = all(_is_grpc(_backend(one, scheme)) for one in weighted) and _has_words_of_grpc(content)
        return Rule(matches, content, is_grpc)

    def _references(
        self, route: Route, weighted: tuple[WeightedBackend, ...], scheme: str, remark: Remark
    ) -> list[Json]:
        found = []
        for entry in weighted[:MOST_BACKENDS]:
            for spec in entry.filters:
                remark(spec.name, f"{spec.describe()}, for one backend", Effect.LEFT_OUT)
            reference = self._reference(_backend(entry, scheme), route)
            if reference is None:
                # A part of the requests must not go to the others instead.
                return []
            if len(weighted) > 1:
                reference["weight"] = _scaled(entry.weight, weighted)
            found.append(reference)
        return found

    def _reference(self, backend: BackendReference, route: Route) -> Json | None:
        return self.backends.reference(backend, namespace_of(route), asking_object(route), HTTP_ROUTE)

    def _timeouts(self, route: Route, remark: Remark) -> Json | None:
        asked = route.timeouts
        if asked is None:
            return None
        if asked.connect_seconds is not None or asked.send_seconds is not None:
            remark("timeouts", "proxy-connect-timeout and proxy-send-timeout have no words", Effect.LEFT_OUT)
        if asked.read_seconds is None:
            return None
        why = "proxy-read-timeout is about the silence between two pieces of an answer, backendRequest about all of it"
        remark("timeouts", why, Effect.DIFFERS)
        return {"backendRequest": f"{min(int(asked.read_seconds) or 1, 99999)}s"}

    def _remark_others(self, route: Route, remark: Remark) -> None:
        """Tell of what a route asks for beside its filters."""
        asked = (route.balancing, *(balancing for _, balancing in route.balancing_beside))
        if any(one is not None and one.affinity is None for one in asked):
            remark(
                "balancing",
                "how requests are shared among endpoints is the implementation's",
                Effect.LEFT_OUT,
            )
        if route.retries != DEFAULT_RETRIES:
            remark("retries", "which failures are tried again is the implementation's", Effect.LEFT_OUT)
        if route.stand_in is not None:
            remark(
                "default-backend",
                f"{route.stand_in.backend} gets the requests of a Service without endpoints",
                Effect.LEFT_OUT,
            )
        if route.max_body_bytes and route.max_body_bytes != DEFAULT_MAX_BYTES:
            remark(
                "proxy-body-size",
                f"bodies of above {route.max_body_bytes} bytes are refused",
                Effect.LEFT_OUT,
            )
        if not route.is_logged:
            remark("enable-access-log", "its requests have no lines in the access log", Effect.LEFT_OUT)


def _matches(path: Json, conditions: tuple[RequestCondition, ...]) -> list[Json] | None:
    found = said_conditions(conditions)
    return None if found is None or len(found) > MOST_MATCHES else [{"path": path, **one} for one in found]


def _backend(entry: WeightedBackend, scheme: str) -> BackendReference:
    return entry.secure_backend if scheme == "https" and entry.secure_backend is not None else entry.backend


def _scaled(weight: int, weighted: tuple[WeightedBackend, ...]) -> int:
    """Return *weight* within what the API takes, a million."""
    most = max(one.weight for one in weighted)
    return weight if most <= 1_000_000 else max(1, weight * 1_000_000 // most)


def _is_session(condition: RequestCondition) -> bool:
    """Whether *condition* looks at the cookie that the proxy itself gave a client."""
    return (
        condition.said is Said.COOKIE
        and condition.pattern is not None
        and condition.pattern.text.startswith("[ke]")
    )


def _is_grpc(backend: BackendReference) -> bool:
    return isinstance(backend.protocol, ProtocolAsked) and backend.protocol.is_http2


def _has_words_of_grpc(content: Json) -> bool:
    return set(content) <= {"filters", "backendRefs"} and all(
        one["type"] in ("RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror")
        for one in content.get("filters", ())
    )


def joined(rules: Iterable[Rule]) -> list[Rule]:
    """Join neighbours that do the same."""
    found: list[Rule] = []
    for rule in rules:
        last = found[-1] if found else None
        if (
            last is not None
            and last.content == rule.content
            and last.is_grpc == rule.is_grpc
            and not rule.takes_one
            and len(last.matches) + len(rule.matches) <= MOST_MATCHES
        ):
            last.matches += rule.matches
        else:
            found.append(rule)
    return found

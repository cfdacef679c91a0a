"""An input as objects of the Gateway API.  Pure, and the same for the same input."""

from collections.abc import Container, Iterable, Iterator, Mapping

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.client_certificates.check import HostClosed
from ingress.annotations.hosts.transport_security import transport_security_value
from ingress.ctl.gateway.backends import Backends
from ingress.ctl.gateway.grpc import grpc_rules
from ingress.ctl.gateway.listeners import HTTP, HTTPS, TLS, HostOfTable, Listening, is_hostname
from ingress.ctl.gateway.paths import said_once
from ingress.ctl.gateway.rendering_values import Effect, GatewayOptions, Json, Remarks, Rendering
from ingress.ctl.gateway.routes import GRPC_ROUTE, TLS_ROUTE, Routes, Served
from ingress.ctl.gateway.rules import HTTP_ROUTE, Rule, RuleSaying, asking_object, namespace_of
from ingress.ctl.inputs.input import Input
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.upstream.upstream_tls import ProtocolAsked
from ingress.routing.route import Match, Route
from ingress.translate.age import by_age
from ingress.translate.claims import ParsedObject
from ingress.translate.ownership import wildcard_of
from ingress.translate.readers.gateway.objects.names import GROUP
from ingress.translate.readers.reader import Readers
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.wording import first_of

_NAMED = 5
_MISSING = (GuardMissing.name, HostClosed.name)
_REFERRED_TO = (Kind.SECRET, Kind.CONFIG_MAP)
_NO_CERTIFICATE = (
    "its tls names no Secret, so the controller's own certificate is shown today; a listener needs one"
)


def render_gateway(given: Input, options: GatewayOptions) -> Rendering:
    """Return what *given* serves, as objects of the Gateway API."""
    return _Rendering(given, options).rendering()


class _Rendering:
    """One rendering."""

    def __init__(self, given: Input, options: GatewayOptions) -> None:
        self._given = given
        self._options = options
        self._remarks = Remarks()
        self._backends = Backends(given.state.services, self._remarks)
        self._saying = RuleSaying(options, self._backends, self._remarks)
        self._routes = {
            host: said_once(some.routes) for host, some in given.snapshot.table.by_host() if some.routes
        }
        for host in [one for one in self._routes if one and not is_hostname(one)]:
            for route in self._routes.pop(host):
                why = "it is no hostname of the Gateway API"
                self._remarks.add(asking_object(route), f"host {host!a}", why, Effect.LEFT_OUT)
        self._hosts = sorted(self._routes)
        self._insecure: list[str] = []
        self._secret_of: dict[str, ObjectKey] = {}
        self._isolated: list[str] = []

    def rendering(self) -> Rendering:
        """Return all of it."""
        listening = Listening(self._options, list(self._listened()))
        routes = Routes(self._options)
        made = routes.made([one for host in self._hosts for one in self._served(host, listening)])
        gateways = listening.gateways()
        self._grant_certificates(gateways)
        beside = [*self._backends.policies(), *self._backends.reference_grants()]
        return Rendering(
            (*gateways, *made, *beside), self._remarks.all(), tuple(self._notes(gateways)), routes.owners
        )

    # Hosts and their certificates

    def _listened(self) -> Iterator[HostOfTable]:
        secrets = self._secrets()
        default = self._given.options.default_ssl_certificate
        beside: dict[str, list[str]] = {}
        for shown in secrets:
            if shown not in self._routes:
                above = wildcard_of(shown) or ""
                beside.setdefault(above if above in self._routes else "", []).append(shown)
        isolated: set[str] = set()
        # Those of fewer labels first: who is below a listener that is apart needs one that is nearer.
        for host in sorted(self._hosts, key=lambda one: (one.count("."), one)):
            certificates = {one: secrets[one] for one in beside.get(host, ())}
            own = next((secrets[one] for one in _names_of(host) if one in secrets), default)
            if own is not None:
                certificates[host] = self._secret_of[host] = own
            else:
                self._insecure.append(host)
            is_isolated = bool(host) and (self._needs_isolation(host) or self._is_covered(host, isolated))
            if is_isolated:
                isolated.add(host)
                self._isolated.append(host)
            passes = any(route.passthrough is not None for route in self._routes[host])
            namespaces = frozenset(map(namespace_of, self._routes[host]))
            yield HostOfTable(host, certificates, namespaces, is_isolated, passes)

    def _secrets(self) -> Mapping[str, ObjectKey]:
        """Return the Secret of each host that ``tls`` of an Ingress names, the older Ingress first."""
        found: dict[str, ObjectKey] = {}
        default = self._given.options.default_ssl_certificate
        for parsed in sorted(self._parsed(), key=lambda one: by_age(one.owner)):
            for request in parsed.certificates:
                secret = request.secret or default
                if secret is None:
                    self._remarks.add(parsed.owner.id, request.field, _NO_CERTIFICATE, Effect.LEFT_OUT)
                    continue
                for host in request.hosts or parsed.hosts:
                    if not is_hostname(host.lower()):
                        # A host that no rule can have either.
                        continue
                    known = found.setdefault(host.lower(), secret)
                    if known != secret:
                        why = f"Secret {known} of an older Ingress is the certificate of {host}"
                        self._remarks.add(parsed.owner.id, request.field, why, Effect.LEFT_OUT)
        return found

    def _parsed(self) -> Iterator[ParsedObject]:
        for kind, reader in Readers(ROUTE_KINDS, self._given.options):
            for value in self._given.state.of(kind).values():
                verdict = reader.judge(value, self._given.state)
                if verdict.is_ours:
                    yield reader.read(value, verdict.related)

    def _needs_isolation(self, host: str) -> bool:
        """Whether another host's routes would get what *host* has no path for."""
        takes_all = any(
            route.match is Match.PREFIX and not route.path.strip("/") for route in self._routes[host]
        )
        return not takes_all and self._is_covered(host, self._routes.keys())

    @staticmethod
    def _is_covered(host: str, others: Container[str]) -> bool:
        """Whether one of *others* takes requests of *host* in the Gateway API, where a wildcard is of many labels."""
        return ("" in others and host != "") or any(one in others for one in _names_of(host) if one != host)

    # Routes

    def _served(self, host: str, listening: Listening) -> Iterator[Served]:
        in_clear, secured = listening.sections(HTTP, host), listening.sections(HTTPS, host)
        is_grpc = self._is_grpc(host)
        for asking, some in _by_owner(self._routes[host]).items():
            namespace = namespace_of(some[0])
            passing = next((one for one in some if one.passthrough is not None), None)
            if passing is not None and passing.passthrough is not None and host:
                reference = self._backends.reference(passing.passthrough, namespace, asking, TLS_ROUTE)
                if reference is not None:
                    tls = listening.sections(TLS, host)
                    yield Served(TLS_ROUTE, asking, namespace, host, tls, [{"backendRefs": [reference]}])
            plain = self._saying.rules(some, "http")
            over_tls = self._saying.rules(some, "https", self._strict(host)) if secured else []
            by_scheme = [("http", in_clear, plain), ("https", secured, over_tls)]
            if secured and _json(plain) == _json(over_tls):
                by_scheme = [("", (*in_clear, *secured), plain)]
            differs = len([one for one in by_scheme if one[1]]) > 1
            for scheme, sections, rules in by_scheme:
                if sections and rules:
                    kind, said = self._kind(asking, rules, is_grpc=is_grpc)
                    yield Served(kind, asking, namespace, host, sections, said, scheme if differs else "")

    def _strict(self, host: str) -> bytes:
        """Return what answers of *host* say of HTTPS once its certificate is read, which is not in the input."""
        strict = self._given.options.strict_transport
        secret = self._secret_of.get(host)
        is_unknown = secret is not None and secret not in self._given.state.secrets
        return transport_security_value(strict) if is_unknown and strict is not None else b""

    def _kind(self, asking: ObjectId, rules: list[Rule], *, is_grpc: bool) -> tuple[str, list[Json]]:
        said = grpc_rules(rules) if is_grpc else None
        if said is not None:
            return GRPC_ROUTE, said
        if any(rule.is_grpc for rule in rules):
            why = (
                "an HTTPRoute does not say that its backends speak HTTP/2: the port of the Service needs"
                " appProtocol: kubernetes.io/h2c"
            )
            self._remarks.add(asking, "backend-protocol", why, Effect.LEFT_OUT)
        return HTTP_ROUTE, _json(rules)

    def _is_grpc(self, host: str) -> bool:
        """Whether *host* can have GRPCRoutes, which no HTTPRoute may stand beside for any of its requests."""
        return (
            bool(host)
            and not host.startswith("*")
            and all(_speaks_grpc(route) for route in self._routes[host])
            and not self._is_covered(host, self._routes.keys())
        )

    def _grant_certificates(self, gateways: Iterable[Json]) -> None:
        for gateway in gateways:
            for listener in gateway["spec"]["listeners"]:
                for reference in listener.get("tls", {}).get("certificateRefs", ()):
                    if "namespace" in reference:
                        where = self._options.gateway.namespace
                        granted = (
                            GROUP,
                            "Gateway",
                            where,
                            "Secret",
                            reference["namespace"],
                            reference["name"],
                        )
                        self._backends.grants.add(granted)

    # What is said of all

    def _notes(self, gateways: list[Json]) -> Iterator[str]:
        if self._options.gateway_class == GatewayOptions().gateway_class:
            yield "gatewayClassName is an example: name yours with --gateway-class"
        others = sum(not verdict.is_ours for _, verdict in self._given.route_objects())
        if others:
            yield (
                f"{others} of other classes are left out"
                if others > 1
                else "one of another class is left out"
            )
        if len(gateways) > 1:
            yield f"a Gateway has 64 listeners at most, so there are {len(gateways)}, each with an address of its own"
        wide = [host for host in self._hosts if host.startswith("*")]
        if wide:
            yield f"a wildcard is one label today, and any number of them in the Gateway API: {first_of(wide, _NAMED)}"
        if self._isolated:
            yield (
                f"what {first_of(sorted(self._isolated), _NAMED)} has no path for is 404 today, and no other host's; that takes a Gateway"
                " that keeps its listeners apart (GatewayHTTPListenerIsolation)"
            )
        bare = [host or "all hosts" for host in sorted(self._insecure)]
        if bare:
            yield (
                "no listener for HTTPS, since no certificate is named (the controller shows its own today):"
                f" {first_of(bare, _NAMED)}"
            )
        coverage = self._given.coverage
        is_guarded = any(one.what in _MISSING for one in self._remarks.all())
        if is_guarded and any(coverage.unknown(one) in _REFERRED_TO for one in self._given.snapshot.problems):
            yield "a Secret or ConfigMap that is not in the input counts as missing: what it would guard is closed"
        if self._hosts:
            yield "a backend without endpoints, or none, is answered 503 today, and 500 or 503 in the Gateway API"
            yield "bodies of requests are limited today (proxy-body-size, 1m), and so is silence of endpoints (60s)"


def _by_owner(routes: Iterable[Route]) -> dict[ObjectId, list[Route]]:
    found: dict[ObjectId, list[Route]] = {}
    for route in routes:
        found.setdefault(asking_object(route), []).append(route)
    return found


def _names_of(host: str) -> Iterator[str]:
    """Yield *host* and the wildcards above it, the nearest first."""
    yield host
    labels = host.removeprefix("*.").split(".")
    for at in range(0 if host.startswith("*.") else 1, len(labels)):
        yield f"*.{'.'.join(labels[at:])}"


def _speaks_grpc(route: Route) -> bool:
    asked = route.backend.protocol
    return isinstance(asked, ProtocolAsked) and asked.is_http2


def _json(rules: Iterable[Rule]) -> list[Json]:
    return [rule.json() for rule in rules]

"""The normal form of what is served: plain data, equal for inputs that serve the same.

However objects are ordered, how old they are and how they are written, it is the same: paths and ports have one spelling,
what an Ingress asks for in vain or says as it is anyhow is not in it, and everything is sorted.  Names of route objects stand
where somebody sees them: as owners, in problems, and in settings of filters that count by them.

    {"hosts": {HOST: {"routes": [...], "filters": [...], "certificates": [...], "handshake": {...}}},
     "tables": {NAME: {"hosts": {...}, "streams": {HOST: {...}}}}, "listeners": [...], "settings": {...}, "problems": [...], "endpoints": {...}}

``tables`` are those of other listeners than the command line's; those of streams have ``streams``, where somebody leads them anywhere.  Names of fields stay as they are; new ones may join.
"""

from collections.abc import Iterable
from math import gcd
from typing import Any, Final

from attrs import evolve

from ingress.ctl.inputs.input import Input
from ingress.ctl.served.sealing import SEALED, Seals
from ingress.filters import FilterSpec
from ingress.identity.certificates import Certificate
from ingress.identity.server_names import HandshakeSettings
from ingress.model.cluster.objects import Kind
from ingress.model.cluster.problems import Problem
from ingress.model.serving.limits import AskedTimeouts
from ingress.model.upstream.backends import BackendReference, Endpoint, ManualEndpoint
from ingress.model.upstream.balancing import DEFAULT_BALANCING, Balancing
from ingress.model.upstream.retries import RetryRule
from ingress.model.upstream.upstream_tls import DATAGRAMS, Datagrams, ProtocolAsked, ProtocolRefused
from ingress.plain_data.values import as_data, filter_as_data, settings_as_data, whole, words_of_link
from ingress.routing.beginnings import Beginnings
from ingress.routing.paths import rule_path
from ingress.routing.route import Match, Route
from ingress.routing.streams import StreamRoute
from ingress.routing.table import HostRoutes
from ingress.routing.variants import Variant, WeightedBackend
from ingress.translate.endpoints.backends import backend_fault, is_by_ip, port_of, resolve_backend
from ingress.translate.endpoints.upstream_tls import lookup_in
from ingress.translate.snapshot import ListenerTable

Data = dict[str, Any]

# For what connections must be, which an endpoint says and a Service decides: one that nobody connects to.
_USUAL_BROKEN_STATUS: Final = 503
_ANYWHERE: Final = ManualEndpoint(None, "", Endpoint("192.0.2.1", 80))


def served(given: Input, *, endpoints: bool = False, seals: Seals | None = None) -> Data:
    """Return the normal form of what is served of *given*, which is one layer.

    *endpoints* come and go, and are there only if asked for.  *seals* stand for what is not shown.
    """
    return _Form(given, seals).all(endpoints=endpoints)


def _whole_bounds(asked: AskedTimeouts | None) -> dict[str, float]:
    """Return how long requests and attempts may take as a whole, as far as *asked* bounds that."""
    if asked is None:
        return {}
    bounds = {"request_seconds": asked.request_seconds, "attempt_seconds": asked.attempt_seconds}
    return {name: seconds for name, seconds in bounds.items() if seconds}


class _Form:
    """One normal form while it is made; equal parts of it are made once."""

    def __init__(self, given: Input, seals: Seals | None) -> None:
        self._given = given
        self._seals = seals
        self._filters: dict[FilterSpec, Data] = {}
        self._backends: dict[BackendReference, Data] = {}
        self._certificates: dict[Certificate, Data] = {}
        self._handshakes: dict[HandshakeSettings, Data] = {}
        self._timeouts: dict[AskedTimeouts | None, Data] = {}
        self._retries: dict[RetryRule, Data] = {}
        self._balancings: dict[Balancing | None, Data] = {}
        self._lookup = lookup_in(given.state)
        self._anywhere = evolve(given.state, slices={})
        self._anywhere_options = evolve(
            given.options,
            manual_endpoints=(_ANYWHERE,),
            from_manifests=True,
            allow_external_name=True,
            disable_external_name=False,
        )

    def all(self, *, endpoints: bool) -> Data:
        given = self._given
        tables = dict(given.snapshot.tables())
        main = self._table(tables.pop(""))
        form: Data = {
            "hosts": main,
            "tables": {name: self._other_table(table) for name, table in sorted(tables.items())},
            "listeners": sorted(
                (whole(settings_as_data(one)) for one in given.snapshot.listeners),
                key=lambda one: str(one["description"]),
            ),
            "settings": whole(settings_as_data(given.settings.serving)),
            "problems": [_problem(one) for one in told_problems(given)],
        }
        if endpoints:
            form["endpoints"] = self._endpoints()
        return form

    # Hosts

    def _other_table(self, table: ListenerTable) -> Data:
        streams = {one.host: self._stream(one) for one in table.streams if one.weighted}
        hosts = {"hosts": self._table(table)}
        return {**hosts, "streams": dict(sorted(streams.items()))} if streams else hosts

    def _stream(self, stream: StreamRoute) -> Data:
        return {
            "sort": stream.sort.value,
            "owner": None if stream.owner is None else str(stream.owner),
            "backends": self._shares(stream.weighted),
            "sendsHeader": stream.sends_header,
        }

    def _table(self, table: ListenerTable) -> Data:
        by_host = dict(table.routes.by_host())
        certificates = table.certificates
        names = {*by_host, *(host for host in table.handshake_settings.by_host)}
        names.update(host for host, _ in certificates.shown())
        return {host: self._host(host, by_host.get(host), table) for host in sorted(names)}

    def _host(self, host: str, routes: HostRoutes | None, table: ListenerTable) -> Data:
        found: Data = {
            "routes": [] if routes is None else self._routes(routes),
            "filters": [] if routes is None else self._chain(routes.filters),
            "certificates": [self._certificate(one) for one in table.certificates.find(host or None)],
            "handshake": self._handshake(table.handshake_settings.find(host or None)),
        }
        return found

    def _routes(self, routes: HostRoutes) -> list[Data]:
        realms = _Realms(routes.routes)
        found: dict[tuple[str, str, str, tuple[str, ...]], tuple[int, Data]] = {}
        for route in routes.routes:
            path = route_path(route)
            realm = "" if route.beginnings is None else route.beginnings.realm
            # Of the routes of a Gateway for the same requests, the first has them.
            conditions = tuple(sorted(map(str, route.conditions)))
            key = path, route.match.value, realm, conditions
            known = found.get(key)
            # Of ``/a`` and ``/a/``, which match the same, the longer text is used, unless the order decides.
            length = 0 if route.place else len(rule_path(route.path))
            if known is None or length > known[0]:
                found[key] = length, self._route(route, path, realms)
        return [data for _, (_, data) in sorted(found.items())]

    def _route(self, route: Route, path: str, realms: "_Realms") -> Data:
        data: Data = {
            "path": path,
            "match": route.match.value,
            "owner": None if route.owner is None else str(route.owner),
            "backends": self._shares(
                route.weighted or (WeightedBackend(route.backend, 1, (), route.secure_backend),)
            ),
            "variants": [self._variant(one) for one in route.variants],
            "standIn": None if route.stand_in is None else self._share(route.stand_in, 1),
            "passthrough": None if route.passthrough is None else self._backend(route.passthrough),
            "beside": [self._backend(one)["backend"] for one in route.beside],
            "filters": self._chain(route.filters),
            "timeouts": self._timeouts_of(route.timeouts),
            "retries": self._retries_of(route.retries),
            "balancing": self._balancing_of(route.balancing),
            "maxBodyBytes": route.max_body_bytes,
            "isLogged": route.is_logged,
        }
        if route.balancing_beside:
            data["balancingBeside"] = {
                self._backend(one)["backend"]: self._balancing_of(balancing)
                for one, balancing in route.balancing_beside
            }
        if route.broken_status != _USUAL_BROKEN_STATUS:
            data["brokenStatus"] = route.broken_status
        if route.conditions:
            data["conditions"] = sorted(map(str, route.conditions))
        if route.beginnings is not None:
            data["expression"] = realms.expression(route.beginnings, is_closed=not route.expressions)
        return data

    def _timeouts_of(self, asked: AskedTimeouts | None) -> Data:
        known = self._timeouts.get(asked)
        if known is None:
            usual = self._given.settings.serving.limits.upstream
            completed = usual if asked is None else asked.completed_by(usual)
            known = self._timeouts[asked] = {**whole(settings_as_data(completed)), **_whole_bounds(asked)}
        return known

    def _retries_of(self, rule: RetryRule) -> Data:
        known = self._retries.get(rule)
        if known is None:
            known = self._retries[rule] = whole(settings_as_data(rule))
        return known

    def _balancing_of(self, asked: Balancing | None) -> Data:
        known = self._balancings.get(asked)
        if known is None:
            known = self._balancings[asked] = self._new_balancing(asked)
        return known

    def _new_balancing(self, asked: Balancing | None) -> Data:
        if asked is None:
            asked = evolve(DEFAULT_BALANCING, algorithm=self._given.settings.serving.load_balance)
        if asked.hash_by is None:
            asked = evolve(asked, subset_size=1)
        found: Data = whole(settings_as_data(asked))
        return found

    def _variant(self, variant: Variant) -> Data:
        return {
            "conditions": sorted(map(str, variant.conditions)),
            "backends": self._shares(variant.weighted),
            "filters": self._chain(variant.filters),
        }

    def _shares(self, weighted: tuple[WeightedBackend, ...]) -> list[Data]:
        if len(weighted) == 1:
            return [self._share(weighted[0], 1)]
        divisor = gcd(*(one.weight for one in weighted))
        return [self._share(one, one.weight // divisor) for one in weighted]

    def _share(self, entry: WeightedBackend, weight: int) -> Data:
        secure = entry.secure_backend
        data: Data = {
            **self._backend(entry.backend),
            "weight": weight,
            "overTls": None if secure is None else self._backend(secure),
            "filters": self._chain(entry.filters),
        }
        if entry.stand_in is not None:
            data["standIn"] = self._share(entry.stand_in, 1)
        return data

    # Filters

    def _chain(self, filters: Iterable[FilterSpec]) -> list[Data]:
        return [self._filter(one) for one in filters]

    def _filter(self, spec: FilterSpec) -> Data:
        known = self._filters.get(spec)
        if known is None:
            known = self._filters[spec] = self._sealed(whole(filter_as_data(spec)), spec)
        return known

    def _sealed(self, data: Data, value: object) -> Data:
        """Return *data* of *value* with a seal for what of it is not shown."""
        if self._seals is not None and (seal := self._seals.of(value)):
            data[SEALED] = seal
        return data

    # Backends

    def _backend(self, reference: BackendReference) -> Data:
        known = self._backends.get(reference)
        if known is None:
            known = self._backends[reference] = self._new_backend(reference)
        return known

    def _new_backend(self, reference: BackendReference) -> Data:
        given = self._given
        port = port_of(reference, given.state)
        named = reference._replace(
            port=reference.port if port is None else port.number,
            protocol=DATAGRAMS if isinstance(reference.protocol, Datagrams) else None,
            by_cluster_ip=is_by_ip(reference, given.options) or None,
        )
        data: Data = {"backend": str(named), "protocol": "", "tls": None, "externalName": None, "fault": None}
        fault = backend_fault(reference, given.state, given.options)
        if fault is not None:
            problem = Problem("Service", reference.namespace, reference.name, fault.reason, "")
            data["fault"] = None if given.coverage.unknown(problem) else fault.reason.value
        if isinstance(reference.protocol, ProtocolRefused):
            return {**data, "fault": reference.protocol.why}
        found = resolve_backend(reference, self._anywhere, self._anywhere_options, self._lookup)
        if not found.endpoints:
            return {**data, "fault": data["fault"] or self._tls_fault(reference, found.reason)}
        settings = found.endpoints[0].link_settings
        if isinstance(reference.protocol, Datagrams):
            data["protocol"] = str(reference.protocol)
        else:
            data["protocol"] = words_of_link(settings)
        if settings is not None and settings.tls is not None:
            tls = settings.tls
            data["tls"] = self._sealed(whole(settings_as_data(tls.tls_settings)), tls)
        now = given.snapshot.backends.get(reference)
        if now is not None and now.endpoints:
            at = now.endpoints[0]
            if at.link_settings is not None and at.link_settings.is_external:
                data["externalName"] = str(at)
        return data

    def _tls_fault(self, reference: BackendReference, why: str) -> str | None:
        """Return why the TLS that is asked for cannot be had; None where the input cannot know."""
        tls = None if not isinstance(reference.protocol, ProtocolAsked) else reference.protocol.tls
        secret = None if tls is None else tls.secret
        if secret is None or secret in self._given.state.secrets:
            return why
        return why if self._given.coverage.knows(Kind.SECRET, secret.namespace) else None

    def _endpoints(self) -> Data:
        found: Data = {}
        for reference, state in self._given.snapshot.backends.items():
            name = self._backend(reference)["backend"]
            found[name] = {"endpoints": sorted(map(str, state.endpoints)), "reason": state.reason}
        return dict(sorted(found.items()))

    # TLS

    def _certificate(self, certificate: Certificate) -> Data:
        known = self._certificates.get(certificate)
        if known is None:
            known = self._certificates[certificate] = self._sealed(
                {
                    "secret": str(certificate.secret),
                    "keyType": certificate.key_type,
                    "names": sorted(certificate.names),
                    "notBefore": certificate.not_before.isoformat(),
                    "notAfter": certificate.not_after.isoformat(),
                    "fingerprint": certificate.fingerprint,
                },
                certificate,
            )
        return known

    def _handshake(self, settings: HandshakeSettings) -> Data:
        known = self._handshakes.get(settings)
        if known is None:
            known = self._handshakes[settings] = self._sealed(whole(settings_as_data(settings)), settings)
        return known


def told_problems(given: Input) -> list[Problem]:
    """Return the problems of one layer, and those of options, without those that speak of what the input cannot know."""
    return [*given.problems] + [one for one in given.snapshot.problems if given.coverage.unknown(one) is None]


def _problem(problem: Problem) -> Data:
    return {
        "kind": str(problem.kind),
        "namespace": problem.namespace,
        "name": problem.name,
        "field": problem.field,
        "reason": problem.reason.value,
        "message": problem.message,
    }


def route_path(route: Route) -> str:
    """Return the path of *route* in the one spelling of those that match the same."""
    if route.match in (Match.EXPRESSION, Match.BEGINNING):
        return route.path
    path = rule_path(route.path).decode("utf-8", "backslashreplace")
    return path.rstrip("/") or "/" if route.match is Match.PREFIX else path


class _Realms:
    """What is said of the realms of a host, as far as it matters: who is in one with whom, and which comes first.

    One realm that has all paths of a host is as good as any other.
    """

    def __init__(self, routes: Iterable[Route]) -> None:
        orders: dict[int, str] = {}
        self._is_one = True
        for route in routes:
            if route.beginnings is not None:
                orders[route.beginnings.order] = route.beginnings.realm
            elif route.owner is not None:
                self._is_one = False
        self._is_one = self._is_one and len(set(orders.values())) < 2
        # The age of an Ingress counts between realms, not within one.
        self._places: dict[int, int] = {}
        place, last = -1, None
        for order, realm in sorted(orders.items()):
            place += realm != last
            last = realm
            self._places[order] = place

    def expression(self, beginnings: Beginnings, *, is_closed: bool) -> Data:
        """Return what is said of a route that is an expression, or closed in the place of one."""
        realm = "" if self._is_one else beginnings.realm
        data: Data = {"realm": realm, "place": self._places[beginnings.order], "isClosed": is_closed}
        # Of an expression they follow from its text, as far as no older one has some of them.
        if is_closed or beginnings.own_prefixes or beginnings.own_whole:
            data["beginsWith"] = whole(as_data(tuple(sorted(beginnings.prefixes))))
            data["is"] = whole(as_data(beginnings.whole))
        return data

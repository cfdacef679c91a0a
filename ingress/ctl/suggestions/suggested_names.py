"""What may be meant by names of Services, ports, Secrets and hosts that there are not.  Pure."""

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from ingress.ctl.suggestions.close_names import CloseNames
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.routing.hosts import check_rule_host
from ingress.translate.readers.gateway.objects.routes import AnyRoute, BackendObject, UDPRoute
from ingress.translate.readers.ingress.objects import Ingress, IngressBackend, ingresses_of
from ingress.wording import first_of

_KINDS: Final = {
    Reason.SERVICE_NOT_FOUND: Kind.SERVICE,
    Reason.SERVICE_PORT_NOT_FOUND: Kind.SERVICE,
    Reason.SECRET_NOT_FOUND: Kind.SECRET,
    Reason.CONFIG_MAP_NOT_FOUND: Kind.CONFIG_MAP,
}
_BACKEND: Final = re.compile(
    r"spec\.(?:rules\[(\d+)\]\.http\.paths\[(\d+)\]\.backend|defaultBackend)\.service\."
)
_ROUTE_BACKEND: Final = re.compile(r"(spec\.rules\[\d+\])\.backendRefs\[(\d+)\]\.(?:name|port)")
_TLS: Final = re.compile(r"spec\.tls\[(\d+)\]\.secretName")
_ANNOTATION: Final = re.compile(r"metadata\.annotations\[(.+)\]")
_URL: Final = re.compile(r"\A(?:[A-Za-z]+://)?([^/:?#]*)(?::\d*)?(?:[/?#].*)?\Z", re.DOTALL)
_SHOWN_NAMESPACES: Final = 3


class SuggestedNames:
    """What may be meant in the place of what *state* does not have.

    MainLoop for one name costs little, however many objects there are.
    """

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._found: dict[tuple[Kind, ObjectKey], str] = {}
        self._in_namespace: dict[tuple[Kind, str], CloseNames] = {}

    def advice(self, problem: Problem) -> str:
        """Return what to do about *problem*, a sentence without its full stop; empty where that is not clear."""
        kind = _KINDS.get(problem.reason)
        if kind is None:
            return ""
        if problem.kind != Kind.INGRESS:
            return self._advice_to_route(problem)
        ingress = ingresses_of(self._state).get(ObjectKey(problem.namespace, problem.name))
        if ingress is None:
            return ""
        if problem.reason is Reason.SERVICE_PORT_NOT_FOUND:
            backend = _backend_at(ingress, problem.field)
            return "" if backend is None else self.port(ingress.key.namespace, backend)
        name = _named_at(ingress, problem.field)
        if name is None:
            return ""
        namespace, slash, own = name.rpartition("/")
        return self.object(kind, ObjectKey(namespace if slash else ingress.key.namespace, own))

    def _advice_to_route(self, problem: Problem) -> str:
        """Return what to do about the Service or the port that a route of the Gateway API names; empty for others."""
        route = self._state.of(Kind(problem.kind)).get(ObjectKey(problem.namespace, problem.name))
        backend = _backend_of_route(route, problem.field) if isinstance(route, AnyRoute) else None
        if route is None or backend is None:
            return ""
        service = backend.target.key(route.key)
        if problem.reason is Reason.SERVICE_PORT_NOT_FOUND:
            return self._port_of(service, backend.port, "UDP" if isinstance(route, UDPRoute) else "TCP")
        return self.object(Kind.SERVICE, service) if problem.reason is Reason.SERVICE_NOT_FOUND else ""

    def object(self, kind: Kind, key: ObjectKey) -> str:
        """Return which object of *kind*, a Service, Secret or ConfigMap, may be meant by *key*, in a sentence; or nothing."""
        known = self._found.get((kind, key))
        if known is None:
            known = self._found[kind, key] = self._object(kind, key)
        return known

    def _object(self, kind: Kind, key: ObjectKey) -> str:
        close = self._names(kind, key.namespace).close_to(key.name)
        if close:
            return f"did you mean {' or '.join(close)}?"
        others = sorted(self._namespaces.get((kind, key.name), set()) - {key.namespace})
        if not others:
            return ""
        namespaces = first_of(others, _SHOWN_NAMESPACES)
        return f"there is a {kind} {key.name} in namespace {namespaces}, and none in {key.namespace}"

    def port(self, namespace: str, backend: IngressBackend) -> str:
        """Return which port of its Service may be meant by *backend*, in a sentence; or nothing."""
        wanted = backend.port.name or backend.port.number
        return self._port_of(ObjectKey(namespace, backend.service), wanted)

    def _port_of(self, key: ObjectKey, wanted: int | str, protocol: str = "TCP") -> str:
        service = self._state.services.get(key)
        if service is None:
            return ""
        # No other port can be meant by a backend.
        ports = [port for port in service.ports if port.protocol == protocol]
        if isinstance(wanted, str):
            for name in CloseNames(port.name for port in ports if port.name).close_to(wanted):
                return f"did you mean {name}?"
            if wanted.isdecimal() and any(port.number == int(wanted) for port in ports):
                return f"did you mean number: {wanted}? A name in quotes is no number"
        if len(ports) == 1:
            return (
                f"did you mean {ports[0]}, its only {'' if len(service.ports) == 1 else f'{protocol} '}port?"
            )
        return ""

    def host(self, host: str) -> str:
        """Return which host of a rule may be meant by *host*, in a sentence; empty where none is close, or it is one."""
        if self.has_host(host):
            return ""
        close = self._hosts.close_to(_normal(host))
        return f"did you mean {' or '.join(close)}?" if close else ""

    def has_host(self, host: str) -> bool:
        """Whether *host* is that of a rule."""
        return _normal(host) in self._hosts

    @cached_property
    def _hosts(self) -> CloseNames:
        return CloseNames(
            (rule.host for one in ingresses_of(self._state).values() for rule in one.rules if rule.host), "."
        )

    def _names(self, kind: Kind, namespace: str) -> CloseNames:
        known = self._in_namespace.get((kind, namespace))
        if known is None:
            names = self._by_namespace.get((kind, namespace), ())
            known = self._in_namespace[kind, namespace] = CloseNames(names)
        return known

    @cached_property
    def _by_namespace(self) -> dict[tuple[Kind, str], list[str]]:
        found: dict[tuple[Kind, str], list[str]] = {}
        for kind in set(_KINDS.values()):
            for key in self._keys(kind):
                found.setdefault((kind, key.namespace), []).append(key.name)
        return found

    @cached_property
    def _namespaces(self) -> dict[tuple[Kind, str], set[str]]:
        """By kind and name: where there are objects of it."""
        found: dict[tuple[Kind, str], set[str]] = {}
        for kind in set(_KINDS.values()):
            for key in self._keys(kind):
                found.setdefault((kind, key.name), set()).add(key.namespace)
        return found

    def _keys(self, kind: Kind) -> Iterable[ObjectKey]:
        if kind is Kind.SERVICE:
            return self._state.services
        return self._state.secrets if kind is Kind.SECRET else self._state.of(kind)


def host_of_url(text: str) -> str:
    """Return which host may be meant by *text*, which is none: that of a URL, or the one before a port; empty where that is none."""
    host = _normal(_URL.sub(r"\1", text))
    is_host = host != text and not check_rule_host(host)
    return f"did you mean {host}?" if host and is_host else ""


def _normal(host: str) -> str:
    return host.lower().removesuffix(".")


def _backend_at(ingress: Ingress, field: str) -> IngressBackend | None:
    """Return the backend that *field* is a part of."""
    at = _BACKEND.match(field)
    if at is None:
        return None
    if at[1] is None:
        return ingress.default_backend
    rule, path = int(at[1]), int(at[2])
    paths = ingress.rules[rule].paths if rule < len(ingress.rules) else None
    return paths[path].backend if paths is not None and path < len(paths) else None


def _backend_of_route(route: AnyRoute, field: str) -> BackendObject | None:
    """Return the backend that *field* is a part of."""
    at = _ROUTE_BACKEND.match(field)
    if at is None:
        return None
    number = int(at[2])
    backends = next((rule.backends for rule in route.rules if rule.field == at[1]), ())
    return backends[number].backend if number < len(backends) else None


def _named_at(ingress: Ingress, field: str) -> str | None:
    """Return the name that stands at *field*, of a Service, Secret or ConfigMap; it may begin with a namespace."""
    backend = _backend_at(ingress, field)
    if backend is not None:
        return backend.service
    tls = _TLS.fullmatch(field)
    if tls is not None:
        number = int(tls[1])
        return ingress.tls[number].secret_name if number < len(ingress.tls) else None
    annotation = _ANNOTATION.fullmatch(field)
    return None if annotation is None else ingress.annotations.get(annotation[1])

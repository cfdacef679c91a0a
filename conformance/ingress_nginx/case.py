"""What is compared, as plain data: objects, keys of the ConfigMap, requests, and what is told to be different.

Wherever a case says ``HOST`` its own host is meant, which no other case has, and ``SPACE`` is its namespace.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.cluster import Object
from conformance.ingress_nginx.endpoints import Answer

PREFIX = "nginx.ingress.kubernetes.io/"
CLASS = "nginx"
LONGEST_NAME = 160
FIELDS = (("User-Agent", "parity"), ("Accept", "*/*"))


@dataclass(frozen=True)
class Ask:
    """A request, sent as it stands: nothing is escaped, and nothing added but ``Host`` and two usual fields.

    ``host`` empty is HTTP without the field.  ``raw`` is the whole request instead.  ``preface`` stands before it, and before TLS.  ``highest`` is the version of TLS that the
    client knows at most, as in ``TLSv1_2``.  ``client`` is the last number of the address that it comes
    from.  ``keeps`` is whether cookies that the same case got before are sent.  ``times`` of the same are tallied and compared by shares,
    ``at_once`` all at the same time, by statuses alone.  ``http2`` is a request by HTTP/2, where TLS agrees on it; there a body may be
    ``unsized``, and ``trailers`` come behind it.  ``waits``: the body is sent once an interim answer came, or a second has passed.  ``says`` is sent behind an answer 101.
    ``ipv6``: it comes by that network, from the one address there.
    """

    target: str = "/"
    method: str = "GET"
    host: str = "HOST"
    fields: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    secure: bool = False
    server_name: str = "HOST"
    client: int = 1
    keeps: bool = False
    times: int = 1
    raw: bytes = b""
    certificate: str = ""
    preface: bytes = b""
    highest: str = ""
    http2: bool = False
    unsized: bool = False
    trailers: tuple[tuple[str, str], ...] = ()
    waits: bool = False
    says: bytes = b""
    at_once: bool = False
    ipv6: bool = False

    @property
    def name(self) -> str:
        """How the table calls it."""
        scheme = "https" if self.secure or self.http2 else "http"
        preface = self.preface.strip().partition(b"\r\n")[0].decode("latin-1")
        extra = " ".join(f"{name}:{value}" for name, value in self.fields)
        what = (
            self.raw.split(b"\r\n")[0].decode("latin-1")
            if self.raw
            else f"{self.method} {scheme}://{self.host}{self.target}"
        )
        more = (
            extra,
            preface,
            self.highest,
            f"from .{self.client}" if self.client > 1 else "by IPv6" if self.ipv6 else "",
            f"as {self.certificate}" if self.certificate else "",
            f"by the name {self.server_name!r}"
            if scheme == "https" and self.server_name != self.host
            else "",
            f"{len(self.body)} bytes" if len(self.body) > 100 else "",
            "with cookies" if self.keeps else "",
            "by HTTP/2" if self.http2 else "",
            "without length" if self.unsized else "",
            "with trailers" if self.trailers else "",
            "with the body behind 100" if self.waits else "",
            f"then {len(self.says)} bytes" if self.says else "",
            f"x{self.times}" if self.times > 1 else "",
            "at once" if self.at_once else "",
        )
        whole = " ".join(part for part in (what, *more) if part)
        return whole if len(whole) <= LONGEST_NAME else f"{whole[:LONGEST_NAME]}... of {len(whole)}"


def fields_of(ask: Ask, cookies: str = "") -> list[tuple[str, str]]:
    """The fields of a request besides that of its host: the usual ones that it does not say itself, its own, and of cookies and its length."""
    named = {name.lower() for name, _ in ask.fields}
    usual = [(name, value) for name, value in FIELDS if name.lower() not in named]
    fields = [*usual, *ask.fields]
    if cookies:
        fields.append(("Cookie", cookies))
    if ask.body and not ask.unsized and not named & {"content-length", "transfer-encoding"}:
        fields.append(("Content-Length", str(len(ask.body))))
    return fields


@dataclass(frozen=True)
class Told:
    """A difference that a document tells.  ``what`` is a pattern of what differs; ``asks`` is one of the names of requests, all without.

    ``where`` is ``FILE#heading``, or ``FILE: words`` for words that stand in the file.
    """

    what: str
    where: str
    asks: str = "*"


@dataclass(frozen=True)
class Case:
    """``objects`` are made in a namespace of the case; Services that its Ingresses name are made besides, unless ``missing``.

    ``config`` are keys of the ConfigMap, for all that is compared at the same time.  ``answers`` are what endpoints answer, by Service and
    path; ``replicas`` how many endpoints a Service has, one without a word; ``down`` are Services whose endpoints listen nowhere, ``ipv6`` those
    that have addresses of that network.  ``sessions`` are
    cookies whose values are a controller's own.  ``which_endpoint``: whether the same endpoint of a Service has to be asked.  For ``settles``
    seconds more it is looked what comes to endpoints.  ``once``: asking again would be answered otherwise.  ``alone``: no other case is served
    meanwhile.  ``starts``: keys of its ConfigMap are decided at the start, so ours is started anew with it.  ``options`` of the command line are
    those of both, which are started anew with them.
    """

    name: str
    objects: tuple[Object, ...]
    asks: tuple[Ask, ...]
    config: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, Mapping[str, Answer]] = field(default_factory=dict)
    replicas: Mapping[str, int] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    down: tuple[str, ...] = ()
    ipv6: tuple[str, ...] = ()
    told: tuple[Told, ...] = ()
    sessions: tuple[str, ...] = ()
    which_endpoint: bool = False
    settles: float = 0.0
    once: bool = False
    alone: bool = False
    starts: bool = False
    options: tuple[str, ...] = ()

    @property
    def host(self) -> str:
        return f"{self.name}.test"

    @property
    def namespace(self) -> str:
        return f"parity-{self.name}"


def meant(value: Any, case: Case) -> Any:
    """The same with the names of the case in it."""
    if isinstance(value, str):
        return value.replace("HOST", case.host).replace("SPACE", case.namespace)
    if isinstance(value, bytes):
        return value.replace(b"HOST", case.host.encode()).replace(b"SPACE", case.namespace.encode())
    if isinstance(value, Mapping):
        return {meant(name, case): meant(one, case) for name, one in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(meant(one, case) for one in value)
    return value


def ingress(
    paths: Mapping[str, str] | None = None,
    /,
    *,
    host: str = "HOST",
    name: str = "web",
    kind: str = "Prefix",
    tls: str = "",
    default: str = "",
    **annotations: str,
) -> Object:
    """An Ingress of one host.  ``paths`` are Services, or Services and ports as in ``web:8080``, by path, which may begin with its type as
    in ``Exact:/a``; ``tls`` is a Secret, ``default`` the Service of its default backend; annotations are without prefix."""
    spec: Object = {"ingressClassName": CLASS}
    if paths is None and not default:
        paths = {"/": "web"}
    if paths:
        rule: Object = {"http": {"paths": [path_of(path, service, kind) for path, service in paths.items()]}}
        spec["rules"] = [{"host": host, **rule} if host else rule]
    if tls:
        spec["tls"] = [{"hosts": [host], "secretName": tls}]
    if default:
        spec["defaultBackend"] = backend_of(default)
    given = {f"{PREFIX}{key.replace('_', '-')}": value for key, value in annotations.items()}
    metadata = {"name": name, "annotations": given}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec}


def also(thing: Object, **fields: object) -> Object:
    """An object with further fields in its ``spec``."""
    return {**thing, "spec": {**thing["spec"], **fields}}


def path_of(path: str, service: str, kind: str) -> Object:
    before, colon, after = path.partition(":/")
    if colon and before.isalpha():
        kind, path = before, f"/{after}"
    return {"path": path, "pathType": kind, "backend": backend_of(service)}


def backend_of(service: str) -> Object:
    name, _, port = service.partition(":")
    number: Object = {"number": int(port or 80)} if (port or "80").isdigit() else {"name": port}
    return {"service": {"name": name, "port": number}}


def secret(name: str, kind: str = "Opaque", **data: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": kind,
        "metadata": {"name": name},
        "stringData": {key.replace("__", "."): value for key, value in data.items()},
    }


def config_map(name: str, data: Mapping[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": dict(data)}


def external(name: str, target: str, port: int = 80) -> Object:
    spec = {"type": "ExternalName", "externalName": target, "ports": [{"port": port}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def gets(*targets: str) -> tuple[Ask, ...]:
    return tuple(Ask(target) for target in targets)

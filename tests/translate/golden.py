"""The golden fixtures: manifests beside the routes and problems that they must become.

``tests/fixtures/CASE/`` holds ``manifests.yaml``, perhaps ``options.yaml`` (attributes of
``TranslateOptions``), and ``expected.yaml``.  The name of the case is the rule.  Under
``requests`` of ``expected.yaml`` stand URLs and what answers them: a backend, or a status.

A Secret may say ``generated: [NAME, ...]`` (and ``expired: true``) in place of its data;
it gets a certificate for these names, so that no key is ever committed; ``key_type: rsa`` is
another type of key.  With ``authority:
NAME`` it gets the certificate of an authority, by which clients are judged.

This reads YAML as simply as a test may; it is no model for ``ingress.cluster``.  Many tests read all fixtures: where
libyaml is there, it reads them, in a seventh of the time.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from attrs import asdict, evolve

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.client_certificates.check import ClientCertificateFields, ClientCheck, HostClosed
from ingress.annotations.contract.host_facts import CertifiedHosts
from ingress.annotations.hosts.passthrough import NotTerminatedHere
from ingress.annotations.hosts.transport_security import StrictTransport, TransportSecurity
from ingress.annotations.redirects.https_redirect import HttpsRedirect
from ingress.annotations.requests.path_rewrites import RegexMissing
from ingress.cluster.kinds import KINDS
from ingress.cluster.projecting.project import project
from ingress.filters import FilterSpec, Phase, Reply
from ingress.identity.certificates import Certificate
from ingress.model.cluster.objects import (
    ClusterObject,
    ConfigMap,
    EndpointSlice,
    Kind,
    ObjectId,
    ObjectKey,
    Secret,
    Service,
)
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.secrets import ALL_KEYS
from ingress.model.cluster.state import ClusterState
from ingress.model.requests.client_authentication import NO_EVIDENCE
from ingress.model.upstream.backends import BackendReference, Endpoint, ManualEndpoint
from ingress.model.upstream.balancing import Balancing
from ingress.model.upstream.retries import DEFAULT_RETRIES
from ingress.model.upstream.upstream_tls import TlsSettings
from ingress.options.merging import OptionTexts, merge
from ingress.routing.hosts import normal_host
from ingress.routing.paths import normal_path
from ingress.routing.route import Route
from ingress.settings import Settings
from ingress.translate.endpoints.endpoint_rules import EndpointRules
from ingress.translate.readers.ingress.objects import Ingress, IngressClass
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import TranslateOptions, translate
from tests.fakes.certificates import KeyType, issue, make_authority
from tests.fakes.filter_parts import FakeFacts, FakeServices

FIXTURES = Path(__file__).parent.parent / "fixtures"
NOW = datetime(2026, 7, 1, tzinfo=UTC)
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def cases() -> list[Path]:
    """All fixtures, by name."""
    return sorted(path.parent for path in FIXTURES.glob("*/manifests.yaml"))


def outcome(case: Path, urls: list[str]) -> dict[str, Any]:
    """Translate the manifests of *case* and return what ``expected.yaml`` should hold."""
    snapshot = translate(state_of_case(case), options_of_case(case), NOW)
    result: dict[str, Any] = {
        "routes": [_route(route) for route in snapshot.table.routes],
        "backends": {
            str(reference): [_endpoint(one) for one in found.endpoints] or found.reason
            for reference, found in sorted(snapshot.backends.items(), key=lambda pair: str(pair[0]))
        },
        "certificates": _certificates(snapshot),
        "suites": _suites(snapshot),
        "problems": [str(problem) for problem in snapshot.problems],
        "requests": {url: answer(snapshot, url) for url in urls},
    }
    return {name: value for name, value in result.items() if value or name in ("routes", "problems")}


def state_of_case(case: Path) -> ClusterState:
    """Read the manifests of *case*."""
    return read_state((case / "manifests.yaml").read_text("utf-8"))


def options_of_case(case: Path) -> TranslateOptions:
    """Read the options of *case*, the defaults where it says nothing of them."""
    return read_options(read_mapping(case / "options.yaml"))


def read_mapping(path: Path) -> dict[str, Any]:
    """Read what stands in the file at *path*: nothing where there is none."""
    return yaml.load(path.read_text("utf-8"), LOADER) or {} if path.exists() else {}


def read_state(text: str) -> ClusterState:
    """Project the objects of a YAML text and group them as the store does."""
    objects: list[ClusterObject] = []
    problems: list[Problem] = []
    for raw in yaml.load_all(text, LOADER):
        if raw is None:
            continue
        read = KINDS.written_as(raw["apiVersion"], raw["kind"])
        if read is None:
            raise AssertionError(f"no such kind: {raw['apiVersion']} {raw['kind']}")
        raw["metadata"].setdefault("namespace", "demo")
        if "generated" in raw:
            names = tuple(raw.pop("generated"))
            key_type = raw.pop("key_type", "ec")
            chain, key = generated(names, raw.pop("expired", False), raw["metadata"]["name"], key_type)
            raw["stringData"] = {"tls.crt": chain, "tls.key": key}
        if "authority" in raw:
            raw.setdefault("stringData", {})["ca.crt"] = authority(raw.pop("authority"))
        _, projection = project(read, raw, TranslateOptions().annotations_prefix, ALL_KEYS)
        problems += projection.problems
        if projection.value is not None:
            objects.append(projection.value)
    return state_of(objects, tuple(problems))


def state_of(objects: list[ClusterObject], problems: tuple[Problem, ...] = ()) -> ClusterState:
    """Group *objects* as the store does."""
    slices: dict[ObjectKey, tuple[EndpointSlice, ...]] = {}
    for one in objects:
        if isinstance(one, EndpointSlice):
            slices[one.service] = (*slices.get(one.service, ()), one)
    by_object: dict[ObjectId, tuple[Problem, ...]] = {}
    for problem in problems:
        found = (Kind(problem.kind), ObjectKey(problem.namespace, problem.name))
        by_object[found] = (*by_object.get(found, ()), problem)
    return ClusterState(
        {
            Kind.INGRESS: {one.key: one for one in objects if isinstance(one, Ingress)},
            Kind.INGRESS_CLASS: {one.key: one for one in objects if isinstance(one, IngressClass)},
            Kind.CONFIG_MAP: {one.key: one for one in objects if isinstance(one, ConfigMap)},
        },
        services={one.key: one for one in objects if isinstance(one, Service)},
        slices=slices,
        secrets={one.key: one for one in objects if isinstance(one, Secret)},
        problems_of=by_object,
    )


@cache
def authority(name: str) -> str:
    """Make a certificate authority called *name*."""
    return make_authority(name).pem.decode()


@cache
def issued(names: tuple[str, ...], begins: datetime, ends: datetime) -> dict[str, bytes]:
    """Issue a certificate for *names* with this validity; return the content of its Secret."""
    chain, key = issue(make_authority(), names, not_before=begins, not_after=ends)
    return {"tls.crt": chain, "tls.key": key}


@cache
def generated(
    names: tuple[str, ...], expired: bool, secret: str, key_type: KeyType = "ec"
) -> tuple[str, str]:
    """Issue a certificate for *names*; one for each Secret name, as in a cluster."""
    begins, ends = NOW - timedelta(days=30), NOW + timedelta(days=-1 if expired else 30)
    chain, key = issue(
        make_authority(), names, key_type, not_before=begins, not_after=ends, common_name=secret
    )
    return chain.decode(), key.decode()


def read_options(written: dict[str, Any]) -> TranslateOptions:
    """Read ``options.yaml``: plain attributes, objects as ``namespace/name[:port]``; texts of options by their names in ``said``.

    What makes the rules of endpoints stands there by itself: ``allow_endpoint_networks``,
    ``listeners`` (pairs of address and port), and ``own_addresses``.
    """
    if "default_backend_service" in written:
        written["default_backend_service"] = _reference(written["default_backend_service"])
    if "strict_transport" in written:
        tls_settings = written["strict_transport"]
        written["strict_transport"] = StrictTransport(**tls_settings) if tls_settings else None
    if "default_ssl_certificate" in written:
        written["default_ssl_certificate"] = ObjectKey(*written["default_ssl_certificate"].split("/"))
    if "manual_endpoints" in written:
        written["manual_endpoints"] = tuple(_manual(text) for text in written["manual_endpoints"])
    written["endpoint_rules"] = EndpointRules(
        allowed=tuple(map(ip_network, written.pop("allow_endpoint_networks", ()))),
        allows_local=written.get("from_manifests", False),
        listeners=tuple((address, port) for address, port in written.pop("listeners", ())),
        is_own=frozenset(written.pop("own_addresses", ())).__contains__,
    )
    said = merge(Settings(), (), OptionTexts(written.pop("said", {})))
    assert not said.problems, said.problems
    return evolve(said.settings.translate, **written)


def _reference(text: str) -> BackendReference:
    service, _, port = text.partition(":")
    namespace, name = service.split("/")
    return BackendReference(namespace, name, _port(port))


def _port(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _manual(text: str) -> ManualEndpoint:
    service, _, endpoint = text.partition("=")
    name, _, port = service.partition(":")
    host, _, number = endpoint.rpartition(":")
    key = None if name == "*" else ObjectKey(*name.split("/"))
    return ManualEndpoint(key, _port(port), Endpoint(host, int(number)))


def _route(route: Route) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "host": route.host,
        "path": route.path,
        "match": route.match.value,
        "ingress": str(route.owner.key) if route.owner else None,
        "backend": str(route.backend),
    }
    if route.beginnings is not None:
        shown["begins" if route.expressions else "closed"] = str(route.beginnings)
    if len(route.expressions) > 1:
        shown["expressions"] = [one.text for one in route.expressions]
    if route.secure_backend is not None:
        shown["backend over tls"] = str(route.secure_backend)
    if route.passthrough is not None:
        shown["tls passes to"] = str(route.passthrough)
    verdicts = [_verdict(spec) for spec in route.filters if spec.phase < Phase.EDITS]
    if verdicts:
        shown["policies"] = verdicts
    for spec in route.filters:
        if isinstance(spec, TransportSecurity):
            shown["over tls"] = _transport_security(spec)
    for spec in route.filters:
        if isinstance(spec, ClientCertificateFields):
            shown["upstream is told"] = (
                "the client certificate" if spec.passes_certificate else "what it showed"
            )
    if route.balancing is not None:
        shown["balanced by"] = _balancing(route.balancing)
    if route.weighted:
        shown["shared by"] = [f"{one.weight} {one.backend}" for one in route.weighted]
    if route.variants:
        shown["elsewhere"] = [
            f"{' and '.join(map(str, one.conditions))}: "
            + ", ".join(f"{share.weight} {share.backend}" for share in one.weighted)
            for one in route.variants
        ]
    if route.retries != DEFAULT_RETRIES:
        changed = asdict(route.retries, filter=lambda field, value: value != field.default)
        shown["retries"] = {name: sorted(v) if name == "statuses" else v for name, v in changed.items()}
    if route.timeouts is not None:
        shown["timeouts"] = asdict(route.timeouts, filter=lambda field, value: value is not None)
    return shown


def _balancing(balancing: Balancing) -> str:
    if balancing.affinity is not None:
        return f"cookie {balancing.affinity.cookie.decode()}, {balancing.affinity.mode.value}"
    if balancing.hash_by is None:
        return balancing.algorithm.value
    parts = [f"{part.variable}{part.text.decode()}" for part in balancing.hash_by.parts]
    return f"key of {', '.join(parts)}"


def _endpoint(endpoint: Endpoint) -> str:
    """Return where it is, and the settings of connections to it where there are any."""
    tls_settings = endpoint.link_settings
    if tls_settings is None:
        return str(endpoint)
    said = ["an external name"] if tls_settings.is_external else []
    said += ["HTTP/2"] if tls_settings.is_http2 else []
    said += ["FastCGI"] if tls_settings.is_fastcgi else []
    if tls_settings.tls is not None:
        tls, asked = tls_settings.tls, tls_settings.tls.tls_settings
        said.append("TLS" if asked == TlsSettings() else f"TLS by {asked}")
        said += ["our certificate"] if tls.chain_pem else []
        said += ["their authority"] if tls.ca_pem else []
    return f"{endpoint}, {', '.join(said)}"


def _verdict(policy: FilterSpec) -> str:
    if isinstance(policy, NotTerminatedHere):
        return "421 over TLS, which is not terminated here"
    if isinstance(policy, RegexMissing):
        return "503, for the regular expression is not run"
    if isinstance(policy, GuardMissing):
        return "503, for a guard is missing"
    if isinstance(policy, HostClosed):
        return f"403, for client certificates cannot be judged{_challenges(policy)}"
    if isinstance(policy, ClientCheck):
        return _check(policy)
    if not isinstance(policy, HttpsRedirect):
        return policy.describe()
    if policy.keeps_slash:
        return _verdict(evolve(policy, keeps_slash=False)) + ", with the slash at the end"
    if policy.hosts is None:
        return f"redirect to https, port {policy.port}"
    return f"redirect to https, port {policy.port}, for {_hosts(policy.hosts)}"


def _hosts(hosts: CertifiedHosts) -> str:
    names = [name.decode() for name in sorted(hosts.names)]
    shown = ", ".join([*names, *(f"*{suffix.decode()}" for suffix in sorted(hosts.suffixes))])
    excepted = ", ".join(name.decode() for name in sorted(hosts.excepted))
    return f"{shown}, but not {excepted}" if excepted else shown


def _transport_security(spec: TransportSecurity) -> str:
    line = f"Strict-Transport-Security: {spec.value.decode()}"
    return line if spec.hosts is None else f"{line}, for {_hosts(spec.hosts)}"


def _check(check: ClientCheck) -> str:
    asked = check.authentication
    text = f"client certificate: {asked.mode.value}, by {asked.source}, depth {asked.depth}"
    if asked.crl_pem:
        text += ", with revocation lists"
    if check.names is not None:
        text += f", named {check.names.expression.text}" if check.names.expression else ", of no name"
    if check.error_page:
        text += f", else to {check.error_page.decode()}"
    return text + _challenges(check)


def _challenges(policy: ClientCheck | HostClosed) -> str:
    return ", but for ACME challenges" if policy.serves_challenges else ""


def _certificates(snapshot: Snapshot) -> dict[str, str]:
    table = snapshot.certificates
    found: dict[str, tuple[Certificate, ...]] = {**table.exact}
    found |= {f"*{suffix}": one for suffix, one in table.wildcard.items()}
    shown = {host: ", ".join(str(one.secret) for one in found[host]) or "(default)" for host in sorted(found)}
    return shown if table.default is None else {**shown, "(default)": str(table.default.secret)}


def _suites(snapshot: Snapshot) -> dict[str, str]:
    shown = {}
    for host, tls_settings in sorted(snapshot.handshake_settings.by_host.items()):
        if tls_settings.ciphers:
            shown[host] = ":".join(tls_settings.ciphers)
    return shown


def answer(snapshot: Snapshot, url: str) -> str:
    """Say what answers a request for *url*: a backend's name, or a status of our own."""
    parts = urlsplit(url)
    host, _ = normal_host(parts.netloc.encode())
    path = normal_path(parts.path.encode() or b"/")
    route = snapshot.table.find(host, path)
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    evidence = NO_EVIDENCE if parts.scheme == "https" else None
    facts = FakeFacts(
        scheme=parts.scheme.encode(), host=host, target=target.encode(), path=path, client_evidence=evidence
    )
    for spec in snapshot.table.host_filters(host) if route is None else route.filters:
        reply = spec.make(FakeServices()).on_request(facts)
        if isinstance(reply, Reply):
            location = dict(reply.fields).get(b"Location", b"by policy")
            return f"{reply.status} {location.decode()}"
    if route is None:
        return "404"
    backend = route.backend
    if route.secure_backend is not None and parts.scheme == "https":
        backend = route.secure_backend
    state = snapshot.backends[backend]
    return str(backend) if state.endpoints else f"503 {state.reason}"

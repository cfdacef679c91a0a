"""The golden fixtures: manifests beside the routes and problems that they must become.

``tests/fixtures/CASE/`` holds ``manifests.yaml``, perhaps ``options.yaml`` (attributes of
``TranslateOptions``), and ``expected.yaml``.  The name of the case is the rule.  Under
``requests`` of ``expected.yaml`` stand URLs and what answers them: a backend, or a status.

A Secret may say ``generated: [NAME, ...]`` (and ``expired: true``) in place of its data;
it gets a certificate for these names, so that no key is ever committed.

This reads YAML as simply as a test may; it is no model for ``ingress.cluster``.
"""

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from attrs import frozen

from ingress.certificates import Certificate
from ingress.cluster.project import kind_of, project
from ingress.model.backends import BackendReference, Endpoint
from ingress.model.objects import (
    ClusterObject,
    EndpointSlice,
    Ingress,
    IngressClass,
    Kind,
    ObjectId,
    ObjectKey,
    Secret,
    Service,
)
from ingress.model.policy import Policy
from ingress.model.problems import Problem
from ingress.model.state import ClusterState
from ingress.policy.guards import GuardMissing
from ingress.policy.redirects import HttpsRedirect
from ingress.routing.hosts import normal_host
from ingress.routing.paths import normal_path
from ingress.routing.route import Route
from ingress.settings import ManualEndpoint
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import TranslateOptions, translate
from tests.fakes.certificates import issue, make_authority

FIXTURES = Path(__file__).parent.parent / "fixtures"
NOW = datetime(2026, 7, 1, tzinfo=UTC)


@frozen
class Facts:
    """What a policy sees of a request."""

    scheme: bytes
    host: bytes
    target: bytes
    path: bytes


def cases() -> list[Path]:
    """All fixtures, by name."""
    return sorted(path.parent for path in FIXTURES.glob("*/manifests.yaml"))


def outcome(case: Path, urls: list[str]) -> dict[str, Any]:
    """Translate the manifests of *case* and return what ``expected.yaml`` should hold."""
    state = read_state((case / "manifests.yaml").read_text("utf-8"))
    written = case / "options.yaml"
    options = read_options(yaml.safe_load(written.read_text("utf-8")) if written.exists() else {})
    snapshot = translate(state, options, NOW)
    result: dict[str, Any] = {
        "routes": [_route(route) for route in snapshot.table.routes],
        "backends": {
            str(reference): [str(one) for one in found.endpoints] or found.reason
            for reference, found in sorted(snapshot.backends.items(), key=lambda pair: str(pair[0]))
        },
        "certificates": _certificates(snapshot),
        "problems": [str(problem) for problem in snapshot.problems],
        "requests": {url: answer(snapshot, url) for url in urls},
    }
    return {name: value for name, value in result.items() if value or name in ("routes", "problems")}


def read_state(text: str) -> ClusterState:
    """Project the objects of a YAML text and group them as the store does."""
    objects: list[ClusterObject] = []
    problems: list[Problem] = []
    for raw in yaml.safe_load_all(text):
        if raw is None:
            continue
        kind = kind_of(raw["apiVersion"], raw["kind"])
        if kind is None:
            raise AssertionError(f"no such kind: {raw['apiVersion']} {raw['kind']}")
        raw["metadata"].setdefault("namespace", "demo")
        if "generated" in raw:
            names = tuple(raw.pop("generated"))
            chain, key = generated(names, raw.pop("expired", False), raw["metadata"]["name"])
            raw["stringData"] = {"tls.crt": chain, "tls.key": key}
        _, projection = project(kind, raw, TranslateOptions().annotations_prefix)
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
        ingresses={one.key: one for one in objects if isinstance(one, Ingress)},
        ingress_classes={one.key.name: one for one in objects if isinstance(one, IngressClass)},
        services={one.key: one for one in objects if isinstance(one, Service)},
        slices=slices,
        secrets={one.key: one for one in objects if isinstance(one, Secret)},
        problems_of=by_object,
    )


@cache
def generated(names: tuple[str, ...], expired: bool, secret: str) -> tuple[str, str]:
    """Issue a certificate for *names*; one for each Secret name, as in a cluster."""
    begins, ends = NOW - timedelta(days=30), NOW + timedelta(days=-1 if expired else 30)
    chain, key = issue(make_authority(), names, not_before=begins, not_after=ends, common_name=secret)
    return chain.decode(), key.decode()


def read_options(written: dict[str, Any]) -> TranslateOptions:
    """Read ``options.yaml``: plain attributes, objects as ``namespace/name[:port]``."""
    if "default_backend_service" in written:
        written["default_backend_service"] = _reference(written["default_backend_service"])
    if "default_ssl_certificate" in written:
        written["default_ssl_certificate"] = ObjectKey(*written["default_ssl_certificate"].split("/"))
    if "manual_endpoints" in written:
        written["manual_endpoints"] = tuple(_manual(text) for text in written["manual_endpoints"])
    return TranslateOptions(**written)


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
        "ingress": str(route.ingress) if route.ingress else None,
        "backend": str(route.backend),
    }
    if route.policies:
        shown["policies"] = [_policy(policy) for policy in route.policies]
    return shown


def _policy(policy: Policy) -> str:
    if isinstance(policy, GuardMissing):
        return "503, for a guard is missing"
    assert isinstance(policy, HttpsRedirect)
    if policy.hosts is None:
        return f"redirect to https, port {policy.port}"
    hosts = [name.decode() for name in sorted(policy.hosts.names)]
    hosts += [f"*{suffix.decode()}" for suffix in sorted(policy.hosts.suffixes)]
    return f"redirect to https, port {policy.port}, for {', '.join(hosts)}"


def _certificates(snapshot: Snapshot) -> dict[str, str]:
    table = snapshot.certificates
    found: dict[str, Certificate] = {**table.exact}
    found |= {f"*{suffix}": one for suffix, one in table.wildcard.items()}
    shown = {host: str(found[host].secret) for host in sorted(found)}
    return shown if table.default is None else {**shown, "(default)": str(table.default.secret)}


def answer(snapshot: Snapshot, url: str) -> str:
    """Say what answers a request for *url*: a backend's name, or a status of our own."""
    parts = urlsplit(url)
    host, _ = normal_host(parts.netloc.encode())
    path = normal_path(parts.path.encode() or b"/")
    route = snapshot.table.find(host, path)
    if route is None:
        return "404"
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    facts = Facts(parts.scheme.encode(), host, target.encode(), path)
    for policy in route.policies:
        reply = policy.judge(facts)
        if reply is not None:
            location = dict(reply.fields).get(b"Location", b"by policy")
            return f"{reply.status} {location.decode()}"
    state = snapshot.backends[route.backend]
    return str(route.backend) if state.endpoints else f"503 {state.reason}"

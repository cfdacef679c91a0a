"""What is rendered leads requests where the route table leads them."""

from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ingress.annotations.redirects.https_redirect import HttpsRedirect
from ingress.annotations.redirects.slash_redirect import SlashRedirect
from ingress.ctl.gateway.rendering import render_gateway
from ingress.ctl.gateway.rendering_values import GatewayOptions, Json
from ingress.ctl.inputs.input import Input
from tests.ctl.gateway.gateway_case import GatewayCase, given_by, ingress
from tests.ctl.gateway.model import rule_of
from tests.ctl.gateway.schemas import faults
from tests.properties import examples

HOSTS = ("a.example.com", "b.example.com", "*.example.com", "c.a.example.com", "*.a.example.com", "")
PATHS = ("/", "/a", "/a/", "/a/b", "/ab", "/a/b/c")
ASKED_HOSTS = (
    "a.example.com",
    "b.example.com",
    "other.example.com",
    "c.a.example.com",
    "d.a.example.com",
    "net.test",
)
ASKED_PATHS = ("/", "/a", "/a/", "/a/b", "/ab", "/a/b/", "/a/b/c/d", "/x")

TLS_HOSTS = ("a.example.com", "*.example.com", "other.example.com", "*.a.example.com", "net.test")

_PATH = st.tuples(st.sampled_from(PATHS), st.sampled_from(("Exact", "Prefix", "ImplementationSpecific")))
_INGRESS = st.tuples(
    st.sampled_from(HOSTS),
    st.lists(_PATH, min_size=1, max_size=3),
    st.sampled_from(("shop", "desk")),
    st.lists(st.sampled_from(TLS_HOSTS), max_size=2),
    st.booleans(),
)


def made(drawn: list[Any]) -> list[Json]:
    """The Ingresses that were drawn; each path has a Service of its own."""
    found = []
    for number, (host, paths, namespace, secured, redirects) in enumerate(drawn):
        asked: dict[str, Any] = {} if redirects else {"ssl_redirect": "false"}
        one = ingress(
            f"web-{number}",
            host=host,
            namespace=namespace,
            created=f"2026-01-0{number + 1}T00:00:00Z",
            **asked,
        )
        if secured:
            one["spec"]["tls"] = [{"hosts": secured, "secretName": f"tls-{number}"}]
        entries = [
            {
                "path": path,
                "pathType": kind,
                "backend": {"service": {"name": f"s-{number}-{index}", "port": {"number": 80}}},
            }
            for index, (path, kind) in enumerate(paths)
        ]
        one["spec"]["rules"][0]["http"]["paths"] = entries
        found.append(one)
    return found


def by_table(read: Input, scheme: str, host: str, path: str) -> str:
    """Where the route table leads a request: a Service, ``https``, the same path with a ``slash``, ``nothing``, or ``none`` for no route."""
    route = read.snapshot.table.find(host.encode(), path.encode())
    if route is None:
        return "none"
    if scheme == "http" and any(isinstance(one, HttpsRedirect) and not one.hosts for one in route.filters):
        return "https"
    if any(isinstance(one, SlashRedirect) for one in route.filters):
        return "slash"
    return route.backend.name or "nothing"


def by_gateway(objects: tuple[Json, ...], scheme: str, host: str, path: str) -> str:
    """The same by the rendering."""
    rule = rule_of(objects, scheme, host, path)
    if rule is None:
        return "none"
    if "requestRedirect" in str(rule.get("filters")):
        return "https" if "'scheme': 'https'" in str(rule["filters"]) else "slash"
    return str(rule["backendRefs"][0]["name"]) if "backendRefs" in rule else "nothing"


def is_the_same_in_both(read: Input, host: str) -> bool:
    """Whether wildcards of one label, and of any number, are the same for *host*, which is so unless one is further away."""
    labels = host.split(".")
    known = {name for name, _ in read.snapshot.table.by_host()}
    if host in known or f"*.{'.'.join(labels[1:])}" in known:
        return True
    return not any(f"*.{'.'.join(labels[at:])}" in known for at in range(2, len(labels)))


class SameBackendTests(GatewayCase):
    @given(st.lists(_INGRESS, min_size=1, max_size=5))
    @settings(derandomize=True, deadline=None, max_examples=examples(40))
    def test_a_request_gets_the_same_backend(self, drawn: list[Any]) -> None:
        """Whose a host is, exact before prefix, the longer prefix, redirects to HTTPS: all as the table has it."""
        read = given_by(*made(drawn))
        rendering = render_gateway(read, GatewayOptions())
        self.assertEqual([fault for one in rendering.objects for fault in faults(one)], [])
        for host, path, scheme in product(ASKED_HOSTS, ASKED_PATHS, ("http", "https")):
            if not is_the_same_in_both(read, host):
                continue
            found = by_gateway(rendering.objects, scheme, host, path)
            if scheme == "https" and found == "none":
                # A host without certificate has no listener there, which is told.
                continue
            self.assertEqual(found, by_table(read, scheme, host, path), (scheme, host, path))

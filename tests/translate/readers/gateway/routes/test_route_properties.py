"""Any routes: the rule that the API says takes a request, and the same along any history as all at once."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import examples
from tests.translate.readers.gateway.route_cluster import (
    INFRA,
    Request,
    answer,
    gateway,
    grant,
    listener,
    match,
    route,
    rule,
    service,
)
from tests.translate.readers.gateway.routes.test_http_matching import MatchingCase

HOSTS = ("a.test", "b.a.test", "*.test", "*.a.test")
PATHS = ("/", "/a", "/a/", "/a/b", "/ab", "/a/b/c")
VALUES = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from(["1", "2"]), max_size=2)


def _match(
    path: str, type: str, method: str, headers: dict[str, str], query: dict[str, str]
) -> dict[str, Any]:
    named = {key: value for key, value in (("headers", headers), ("query", query)) if value}
    return match(path, type, method, **named)


MATCHES = st.builds(
    _match,
    st.sampled_from(PATHS),
    st.sampled_from(["Exact", "PathPrefix"]),
    st.sampled_from(["", "", "GET", "POST"]),
    VALUES,
    VALUES,
)
RULES = st.lists(st.lists(MATCHES, max_size=3), min_size=1, max_size=3)
CREATED = st.sampled_from(["", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"])
ROUTES = st.dictionaries(
    st.sampled_from(["one", "two", "three"]),
    st.tuples(RULES, st.lists(st.sampled_from(HOSTS), max_size=2, unique=True), CREATED),
    max_size=3,
)
REQUESTS = st.builds(
    lambda host, path, query, method, fields: Request(
        host, path + "?" + "&".join(map("=".join, query.items())), method, tuple(fields.items())
    ),
    st.sampled_from(["a.test", "b.a.test", "c.b.a.test", "x.test", "test", "other"]),
    st.sampled_from([*PATHS, "/c", "/a/b/"]),
    VALUES,
    st.sampled_from([b"GET", b"POST"]),
    VALUES,
)


def _covers(hostname: str, host: str) -> bool:
    return hostname in ("", host) or (hostname.startswith("*") and host.endswith(hostname[1:]))


def _exactness(hostname: str) -> tuple[int, int]:
    return 0 if hostname.startswith("*") else len(hostname), len(hostname)


def naive(routes: list[dict[str, Any]], request: Request) -> str:
    """Return which Service of *routes*, manifests, a request goes to: each rule of route N and number M leads to ``N-M``."""
    found: list[tuple[Any, str]] = []
    for one in routes:
        covering = [host for host in one["spec"].get("hostnames", [""]) if _covers(host, request.host)]
        if not covering:
            continue
        own = max(covering, key=_exactness)
        metadata = one["metadata"]
        age = metadata.get("creationTimestamp", ""), metadata["namespace"], metadata["name"]
        for number, written in enumerate(one["spec"]["rules"]):
            for asked in written.get("matches", [{}]):
                if _takes(asked, request):
                    path = asked.get("path", {"type": "PathPrefix", "value": "/"})
                    rank = (
                        *(-number for number in _exactness(own)),
                        path["type"] != "Exact",
                        # To the letter: "the largest number of characters", a slash at the end among them.
                        -len(path["value"]),
                        "method" not in asked,
                        -len(asked.get("headers", [])),
                        -len(asked.get("queryParams", [])),
                    )
                    found.append(((rank, age, number), f"{metadata['name']}-{number}"))
    return min(found)[1] if found else "404"


def _takes(asked: dict[str, Any], request: Request) -> bool:
    path, query = request.target.split("?")
    parameters = dict(part.split("=") for part in query.split("&") if part)
    wanted = asked.get("path", {"type": "PathPrefix", "value": "/"})
    prefix = wanted["value"].rstrip("/")
    return (
        (path == wanted["value"] if wanted["type"] == "Exact" else f"{path}/".startswith(f"{prefix}/"))
        and asked.get("method", request.method.decode()) == request.method.decode()
        and all(dict(request.fields).get(one["name"]) == one["value"] for one in asked.get("headers", []))
        and all(parameters.get(one["name"]) == one["value"] for one in asked.get("queryParams", []))
    )


def _manifest(name: str, rules: list[list[dict[str, Any]]], hosts: list[str], created: str) -> dict[str, Any]:
    made = [rule(f"{name}-{number}", *matches) for number, matches in enumerate(rules)]
    return route(name, *made, hostnames=hosts, created=created)


class PrecedenceProperties(MatchingCase):
    """Whatever routes there are, a request goes where the simplest reading of the API sends it."""

    def setUp(self) -> None:
        super().setUp()
        names = [f"{name}-{number}" for name in ("one", "two", "three") for number in range(3)]
        self.cluster.write("services", *map(service, names), _CLASS)

    @settings(max_examples=examples(150), deadline=None)
    @given(ROUTES, st.lists(REQUESTS, min_size=1, max_size=8))
    def test_same_as_naive(
        self, made: dict[str, tuple[list[list[dict[str, Any]]], list[str], str]], requests: list[Request]
    ) -> None:
        """Of hosts, paths, methods, headers, parameters, ages and places."""
        routes = [_manifest(name, *one) for name, one in made.items()]
        snapshot = self.cluster.write("routes", *routes)
        for request in requests:
            self.assertEqual(answer(snapshot, request), naive(routes, request), (request, routes))


_CLASS = """
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: ours}
spec: {controllerName: txingress.dev/gateway}
"""

GATEWAYS = st.dictionaries(
    st.sampled_from(["main", "other"]),
    st.dictionaries(
        st.sampled_from(["one", "two"]),
        st.tuples(
            st.sampled_from(["", "a.test", "*.test", "b.a.test"]),
            st.sampled_from([80, 8080]),
            st.sampled_from(["All", "Same", "None"]),
        ),
        min_size=1,
        max_size=2,
    ),
    max_size=2,
)
STEPS = st.one_of(
    st.tuples(st.just("gateways"), GATEWAYS),
    st.tuples(st.just("routes"), ROUTES),
    st.tuples(st.just("grants"), st.sets(st.sampled_from([INFRA, "web"]))),
    st.tuples(st.just("services"), st.sets(st.sampled_from(["one-0", "one-1", "two-0"]))),
    st.tuples(st.just("class"), st.booleans()),
)


class HistoryProperties(MatchingCase):
    """Along any history of all that decides about routes, what is kept up to date is what a full translation makes."""

    @settings(max_examples=examples(40), deadline=None)
    @given(st.lists(STEPS, min_size=2, max_size=8), st.sampled_from([INFRA, "web"]))
    def test_histories(self, steps: list[tuple[str, Any]], namespace: str) -> None:
        """``write`` compares both after each step."""
        for name, state in steps:
            self.cluster.write(name, *self._objects(name, state, namespace))

    def _objects(self, name: str, state: Any, namespace: str) -> list[dict[str, Any] | str]:
        match name:
            case "gateways":
                return [
                    gateway(
                        one,
                        *(
                            listener(at, host, port, allowedRoutes={"namespaces": {"from": scope}})
                            for at, (host, port, scope) in listeners.items()
                        ),
                    )
                    for one, listeners in state.items()
                ]
            case "routes":
                return [
                    self._route(one, rules, hosts, created, namespace)
                    for one, (rules, hosts, created) in state.items()
                ]
            case "grants":
                return [grant(f"from-{source}", source, "shop") for source in state]
            case "services":
                return [service(one, "shop") for one in state]
            case _:
                return [_CLASS] if state else []

    def _route(
        self,
        name: str,
        rules: list[list[dict[str, Any]]],
        hosts: list[str],
        created: str,
        namespace: str,
    ) -> dict[str, Any]:
        parents: list[dict[str, Any]] = [
            {"name": "main", "namespace": INFRA},
            {"name": "other", "namespace": INFRA, "port": 80},
        ]
        made = [
            rule([{"name": f"{name}-{number}", "namespace": "shop", "port": 8080}], *matches)
            for number, matches in enumerate(rules)
        ]
        kind = "GRPCRoute" if name == "three" and not any(matches for matches in rules) else "HTTPRoute"
        return route(
            name, *made, hostnames=hosts, created=created, parents=parents, namespace=namespace, kind=kind
        )

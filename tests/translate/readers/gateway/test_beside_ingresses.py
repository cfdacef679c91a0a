"""Gateways and ListenerSets beside Ingresses on a port of the command line: the same along any history as all at once."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.problems import Reason
from ingress.model.network.listeners import Listener
from tests.properties import examples
from tests.translate.readers.gateway.route_cluster import (
    GATEWAY_CLASS,
    INFRA,
    GatewayCluster,
    gateway,
    listener,
    route,
    rule,
    service,
)

_HOSTS = ("", "a.test", "*.test", "b.a.test")
_LISTENERS = st.dictionaries(
    st.sampled_from(["one", "two"]),
    st.tuples(st.sampled_from(_HOSTS), st.sampled_from([80, 81])),
    min_size=1,
    max_size=2,
)
_AGES = st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"])
_STEPS = st.one_of(
    st.tuples(st.just("ingresses"), st.dictionaries(st.sampled_from("xy"), st.sampled_from(_HOSTS))),
    st.tuples(
        st.just("gateways"),
        st.dictionaries(
            st.sampled_from(["main", "other"]), st.tuples(_LISTENERS, _AGES, st.sampled_from(["All", "None"]))
        ),
    ),
    st.tuples(
        st.just("sets"), st.dictionaries(st.sampled_from(["main", "other"]), st.tuples(_LISTENERS, _AGES))
    ),
    st.tuples(
        st.just("routes"),
        st.dictionaries(
            st.sampled_from("rs"), st.lists(st.sampled_from(_HOSTS[1:]), max_size=2, unique=True)
        ),
    ),
    st.tuples(st.just("class"), st.booleans()),
)


def _ingress(name: str, host: str) -> dict[str, Any]:
    backend = {"service": {"name": "web", "port": {"number": 8080}}}
    paths = {"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": INFRA},
        "spec": {"ingressClassName": "nginx", "rules": [{**({"host": host} if host else {}), **paths}]},
    }


def _gateway(name: str, of: tuple[dict[str, tuple[str, int]], str, str]) -> dict[str, Any]:
    listeners, created, scope = of
    made = gateway(name, *(listener(at, host, port) for at, (host, port) in listeners.items()))
    made["metadata"]["creationTimestamp"] = created
    made["spec"]["allowedListeners"] = {"namespaces": {"from": scope}}
    return made


def _set(name: str, of: tuple[dict[str, tuple[str, int]], str]) -> dict[str, Any]:
    listeners, created = of
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "ListenerSet",
        "metadata": {"name": name, "namespace": INFRA, "creationTimestamp": created},
        "spec": {
            "parentRef": {"name": name},
            "listeners": [listener(at, host, port) for at, (host, port) in listeners.items()],
        },
    }


def _objects(name: str, state: Any) -> list[dict[str, Any] | str]:
    match name:
        case "ingresses":
            return [_ingress(one, host) for one, host in state.items()]
        case "gateways":
            return [_gateway(one, of) for one, of in state.items()]
        case "sets":
            return [_set(one, of) for one, of in state.items()]
        case "routes":
            parents = [
                {"name": one, "kind": kind}
                for one in ("main", "other")
                for kind in ("Gateway", "ListenerSet")
            ]
            return [route(one, rule("web"), hostnames=hosts, parents=parents) for one, hosts in state.items()]
        case _:
            return [GATEWAY_CLASS] if state else []


class BesideIngressesTests(SynchronousTestCase):
    """One port for both."""

    @settings(max_examples=examples(60), deadline=None)
    @given(st.lists(_STEPS, min_size=2, max_size=9))
    def test_histories(self, steps: list[tuple[str, Any]]) -> None:
        """``write`` compares what is kept up to date with a full translation after each step."""
        cluster = GatewayCluster(listeners=(Listener("tcp:80", is_required=True),))
        cluster.write("services", service("web", INFRA), GATEWAY_CLASS)
        for name, state in steps:
            cluster.write(name, *_objects(name, state))

    def test_told_as_long_as_it_lasts(self) -> None:
        """A route is told of a host that an Ingress has, whichever came first, and not any more when one of them goes."""
        cluster = GatewayCluster(listeners=(Listener("tcp:80", is_required=True),))
        cluster.write("base", service("web", INFRA), GATEWAY_CLASS)
        listeners = {"one": ("", 80)}

        def told(snapshot: Any) -> list[str]:
            return [one.name for one in snapshot.problems if one.reason is Reason.HOST_CONFLICT]

        gateways = _objects("gateways", {"main": (listeners, "2026-01-01T00:00:00Z", "None")})
        routes = [route("r", rule("web"), hostnames=["a.test"], parents=[{"name": "main"}])]
        cluster.write("gateways", *gateways)
        self.assertEqual(told(cluster.write("routes", *routes)), [])
        self.assertEqual(told(cluster.write("ingresses", _ingress("x", "a.test"))), ["r"])
        self.assertEqual(told(cluster.write("routes")), [])
        self.assertEqual(told(cluster.write("routes", *routes)), ["r"])
        self.assertEqual(told(cluster.write("ingresses", _ingress("x", "*.test"))), [])
        self.assertEqual(told(cluster.write("ingresses", _ingress("x", "a.test"))), ["r"])
        self.assertEqual(told(cluster.write("gateways")), [])

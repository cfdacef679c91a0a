"""Random objects of all kinds that are read, with few names, hosts and ports, so that they meet each other."""

from __future__ import annotations

import base64
from collections.abc import Callable
from random import Random
from typing import Any

from tests.translate.golden import generated

Json = dict[str, Any]

NAMESPACES = ("shop", "blog")
_ANNOTATIONS = "nginx.ingress.kubernetes.io"
_GATEWAY = "gateway.networking.k8s.io"
_SERVICES = ("web", "api", "ext")
_HOSTS = ("a.test", "b.test", "*.test", "A.test", "x.a.test", "", "bad host")
_CREATED = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z")
_PORTS = {
    "HTTP": (80, 8080),
    "HTTPS": (443, 8443),
    "TLS": (443, 8443),
    "TCP": (9000, 9001),
    "UDP": (80, 9000),
}


class AnyObjects:
    """Makes one after the other, as *random* has it."""

    def __init__(self, random: Random) -> None:
        self._random = random
        # Those of which much depends come more often.
        self._makers: list[Callable[[], Json]] = [
            *[self._ingress] * 4,
            *[self._route] * 4,
            *[self._slice] * 3,
            *[self._service, self._secret, self._gateway] * 2,
            self._config_map,
            self._ingress_class,
            self._namespace,
            self._gateway_class,
            self._listener_set,
            self._grant,
            self._policy,
        ]

    def any(self) -> Json:
        """Return an object as the API has it."""
        return self._random.choice(self._makers)()

    def _one(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _mostly(self, usual: str, other: str) -> str:
        return other if self._is(0.15) else usual

    def _is(self, share: float) -> bool:
        return self._random.random() < share

    def _some(self, most: int, make: Callable[[], Any], least: int = 0) -> list[Any]:
        return [make() for _ in range(self._random.randint(least, most))]

    def _namespaced(self) -> str:
        return self._random.choice(NAMESPACES)

    # Ingresses

    def _ingress(self) -> Json:
        spec: Json = {"rules": self._some(2, self._rule)}
        if not spec["rules"] or self._is(0.3):
            spec["defaultBackend"] = self._backend()
        annotations = self._annotations()
        class_name = self._one("nginx", "nginx", "nginx", "fast", "other", "")
        if class_name:
            spec["ingressClassName"] = class_name
        elif self._is(0.5):
            annotations["kubernetes.io/ingress.class"] = self._one("nginx", "fast")
        if self._is(0.5):
            spec["tls"] = self._some(2, self._tls, 1)
        more = {"annotations": annotations, "creationTimestamp": self._one(*_CREATED)}
        name = self._one("i1", "i2", "i3", "i4")
        return _object("networking.k8s.io/v1", "Ingress", name, self._namespaced(), more, spec=spec)

    def _rule(self) -> Json:
        host = self._one(*_HOSTS)
        return {**({"host": host} if host else {}), "http": {"paths": self._some(2, self._path, 1)}}

    def _path(self) -> Json:
        kind = self._one("Prefix", "Exact", "ImplementationSpecific")
        return {
            "path": self._one("/", "/a", "/a/", "/b", "/a/b"),
            "pathType": kind,
            "backend": self._backend(),
        }

    def _backend(self) -> Json:
        if self._is(0.1):
            return {"resource": {"apiGroup": "example.com", "kind": "Bucket", "name": "b"}}
        port = self._one({"number": 80}, {"name": "http"}, {"number": 81}, {"name": "web"})
        return {"service": {"name": self._one(*_SERVICES, "gone"), "port": port}}

    def _tls(self) -> Json:
        host = self._one(*_HOSTS)
        return {
            "hosts": [host] if host else [],
            "secretName": self._one("first", "second", "opaque", "gone"),
        }

    def _annotations(self) -> Json:
        known = {
            "auth-secret": self._one("auth", "gone", "blog/auth"),
            "auth-tls-secret": self._one("shop/ca", "blog/ca"),
            "custom-headers": self._one("shop/fields", "gone"),
            "default-backend": self._one("web", "api", "gone"),
            "server-alias": self._one("a.test", "alias.test"),
            "from-to-www-redirect": "true",
            "ssl-redirect": self._one("true", "false"),
            "ssl-passthrough": "true",
            "canary": "true",
            "canary-weight": "20",
            "use-regex": "true",
            "rewrite-target": "/$1",
            "service-upstream": "true",
            "backend-protocol": self._one("HTTPS", "GRPC"),
            "proxy-ssl-secret": "shop/ca",
        }
        names = self._random.sample(sorted(known), self._one(0, 0, 1, 2, 3))
        if "auth-secret" in names:
            known["auth-type"] = "basic"
            names.append("auth-type")
        return {f"{_ANNOTATIONS}/{name}": known[name] for name in names}

    def _ingress_class(self) -> Json:
        name, controller = self._one("nginx", "fast", "other"), self._mostly("k8s.io/ingress-nginx", "other")
        return _object("networking.k8s.io/v1", "IngressClass", name, spec={"controller": controller})

    # What they refer to

    def _service(self) -> Json:
        name = self._one(*_SERVICES)
        spec: Json = {"type": "ClusterIP", "clusterIP": self._one("10.0.0.1", "None", "fd00::1")}
        if name == "ext" and self._is(0.7):
            spec = {"type": "ExternalName", "externalName": self._one("www.example.com", "x.example.com")}
        spec["ports"] = self._some(2, self._service_port, 1)
        return _object("v1", "Service", name, self._namespaced(), spec=spec)

    def _service_port(self) -> Json:
        return {
            "name": self._one("http", "web", ""),
            "port": self._one(80, 80, 81),
            "protocol": self._one("TCP", "TCP", "TCP", "UDP"),
            "targetPort": self._one(8080, "web"),
            "appProtocol": self._one(None, None, "kubernetes.io/h2c"),
        }

    def _slice(self) -> Json:
        family, addresses = self._one(
            ("IPv4", ("10.1.0.1", "10.1.0.2")), ("IPv6", ("fd00::1", "fd00::2")), ("FQDN", ("a.example.com",))
        )

        def endpoint() -> Json:
            conditions = {name: self._one(True, False, None) for name in ("ready", "serving", "terminating")}
            return {"addresses": [self._one(*addresses)], "conditions": conditions}

        def port() -> Json:
            return {"name": self._one("http", "web", ""), "port": self._one(8080, 8081, None)}

        labels = {"kubernetes.io/service-name": self._one(*_SERVICES)} if self._is(0.9) else {}
        return _object(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            self._one("s1", "s2", "s3", "s4"),
            self._namespaced(),
            {"labels": labels},
            addressType=family,
            endpoints=self._some(3, endpoint),
            ports=self._some(2, port),
        )

    def _secret(self) -> Json:
        name = self._one("first", "second", "opaque", "auth", "ca")
        if name == "auth":
            content = {"auth": f"user{self._one(1, 2)}:{{PLAIN}}x\n"}
        elif name == "ca":
            content = {"ca.crt": generated(("ca.test",), True, self._one("one", "two"))[0]}
        else:
            hosts = self._one(("a.test",), ("*.test",), ("b.test", "a.test"), ("x.a.test",))
            chain, key = generated(hosts, False, self._one("one", "two"))
            content = {"tls.crt": chain, "tls.key": key}
        data = {key: base64.b64encode(text.encode()).decode() for key, text in content.items()}
        secret_type = "kubernetes.io/tls" if name in ("first", "second") else "Opaque"
        return _object("v1", "Secret", name, self._namespaced(), type=secret_type, data=data)

    def _config_map(self) -> Json:
        data = {f"X-{self._one('A', 'B')}": self._one("1", "2")}
        return _object("v1", "ConfigMap", "fields", self._namespaced(), data=data)

    def _namespace(self) -> Json:
        return _object("v1", "Namespace", self._namespaced(), more={"labels": {"team": self._one("x", "y")}})

    # The Gateway API

    def _gateway_class(self) -> Json:
        controller = self._mostly("txingress.dev/gateway", "example.com/other")
        return self._of_gateways(
            "GatewayClass", self._mostly("ours", "theirs"), "", controllerName=controller
        )

    def _gateway(self) -> Json:
        allowed = {"namespaces": {"from": self._one("All", "Same", "None")}}
        return self._of_gateways(
            "Gateway",
            self._one("g1", "g2"),
            gatewayClassName=self._mostly("ours", "theirs"),
            listeners=self._listeners(),
            allowedListeners=allowed,
        )

    def _listener_set(self) -> Json:
        parent = {"name": self._one("g1", "g2"), "namespace": self._namespaced()}
        return self._of_gateways(
            "ListenerSet", self._one("l1", "l2"), parentRef=parent, listeners=self._listeners()
        )

    def _listeners(self) -> list[Json]:
        return [{"name": f"l{at}", **one} for at, one in enumerate(self._some(3, self._listener, 1))]

    def _listener(self) -> Json:
        protocol = self._one("HTTP", "HTTP", "HTTPS", "TLS", "TCP", "UDP")
        labels = {"from": "Selector", "selector": {"matchLabels": {"team": "x"}}}
        scope = self._one({"from": "All"}, {"from": "Same"}, labels)
        found: Json = {
            "protocol": protocol,
            "port": self._one(*_PORTS[protocol]),
            "allowedRoutes": {"namespaces": scope},
        }
        if protocol not in ("TCP", "UDP") and self._is(0.7):
            found["hostname"] = self._one("a.test", "*.test", "b.test")
        if protocol == "TLS" and self._is(0.5):
            found["tls"] = {"mode": "Passthrough"}
        elif protocol in ("HTTPS", "TLS"):
            reference = {
                "name": self._one("first", "second", "opaque", "gone"),
                "namespace": self._namespaced(),
            }
            found["tls"] = {"certificateRefs": [reference]}
        return found

    def _route(self) -> Json:
        kind = self._one("HTTPRoute", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute")
        spec: Json = {"parentRefs": self._some(2, self._parent, 1)}
        if kind not in ("TCPRoute", "UDPRoute"):
            spec["hostnames"] = self._some(2, lambda: self._one("a.test", "*.test", "b.test"))
        is_stream = kind in ("TLSRoute", "TCPRoute", "UDPRoute")
        spec["rules"] = self._some(1 if is_stream else 2, lambda: self._route_rule(kind), 1)
        more = {"creationTimestamp": self._one(*_CREATED)}
        return self._of_gateways(kind, self._one("r1", "r2", "r3"), more=more, **spec)

    def _parent(self) -> Json:
        kind, name = self._one(("Gateway", "g1"), ("Gateway", "g2"), ("ListenerSet", "l1"))
        found: Json = {"kind": kind, "name": name, "namespace": self._namespaced()}
        if self._is(0.3):
            found["sectionName"] = self._one("l0", "l1")
        return found

    def _route_rule(self, kind: str) -> Json:
        found: Json = {"backendRefs": self._some(2, self._reference, 1)}
        if kind == "HTTPRoute" and self._is(0.7):
            path = {"type": self._one("PathPrefix", "Exact"), "value": self._one("/", "/a", "/b")}
            found["matches"] = [{"path": path}]
        if kind == "HTTPRoute" and self._is(0.3):
            mirror = {"backendRef": self._reference()}
            found["filters"] = [self._one({"type": "RequestMirror", "requestMirror": mirror}, {"type": "No"})]
        return found

    def _reference(self) -> Json:
        found = {"name": self._one(*_SERVICES), "port": self._one(80, 81)}
        return {**found, "namespace": self._namespaced()} if self._is(0.5) else found

    def _grant(self) -> Json:
        kind = self._one(
            "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "Gateway", "ListenerSet"
        )
        source = {"group": _GATEWAY, "kind": kind, "namespace": self._namespaced()}
        target = {"group": "", "kind": "Secret" if kind in ("Gateway", "ListenerSet") else "Service"}
        spec = {"from": [source], "to": [target]}
        name, namespace = self._one("p1", "p2"), self._namespaced()
        return _object(f"{_GATEWAY}/v1", "ReferenceGrant", name, namespace, spec=spec)

    def _policy(self) -> Json:
        authorities = self._one(
            {"wellKnownCACertificates": "System"},
            {"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": "fields"}]},
        )
        return self._of_gateways(
            "BackendTLSPolicy",
            self._one("p1", "p2"),
            more={"creationTimestamp": self._one(*_CREATED)},
            targetRefs=[{"group": "", "kind": "Service", "name": self._one(*_SERVICES)}],
            validation={"hostname": "web.test", **authorities},
        )

    def _of_gateways(
        self, kind: str, name: str, namespace: str | None = None, more: Json | None = None, **spec: Any
    ) -> Json:
        where = self._namespaced() if namespace is None else namespace
        return _object(f"{_GATEWAY}/v1", kind, name, where, more, spec=spec)


def _object(
    version: str, kind: str, name: str, namespace: str = "", more: Json | None = None, **content: Any
) -> Json:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {}), **(more or {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}

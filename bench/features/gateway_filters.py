"""What filters of the Gateway API cost a GET, in calls, beside an Ingress that has none: ``make bench-gateway-filters`` prints it.

All routes are of one Gateway, which is served beside Ingresses on the port of the command line, as most are.
"""

from types import MappingProxyType
from typing import Final

from attrs import frozen

from bench.requests.calls import PORT, Conversation, Measured, measure_here
from bench.setup.own_process import forked_processes

CALL_ROUNDS = 9
_EDITS = "{type: %s, %s: {set: [{name: X-A, value: a}, {name: X-B, value: b}], add: [{name: X-C, value: c}], remove: [X-D]}}"
_ORIGIN = b"https://page.bench.test"


@frozen
class GatewayRule:
    """A rule with filters; those of a backend stand behind its name."""

    title: str
    filters: str = ""
    more: str = ""
    backends: str = "[{name: one, port: 80}]"

    @property
    def name(self) -> str:
        """That of its HTTPRoute, and of its host."""
        return self.title.replace(" ", "-").replace(",", "").lower()

    @property
    def manifest(self) -> str:
        """Its HTTPRoute."""
        return f"""
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {{name: {self.name}, namespace: bench}}
spec:
  parentRefs: [{{name: gateway}}]
  hostnames: [{self.name}.gateway.bench.test]
  rules:
  - {{matches: [{{path: {{type: PathPrefix, value: /}}}}], filters: [{self.filters}], backendRefs: {self.backends}{self.more}}}
"""


_REWRITE = "{type: URLRewrite, urlRewrite: {hostname: a.test, path: {type: ReplacePrefixMatch, replacePrefixMatch: /a}}}"
RULES: Final = MappingProxyType(
    {
        rule.name: rule
        for rule in (
            GatewayRule("no filter"),
            GatewayRule("fields of requests", _EDITS % ("RequestHeaderModifier", "requestHeaderModifier")),
            GatewayRule("fields of answers", _EDITS % ("ResponseHeaderModifier", "responseHeaderModifier")),
            GatewayRule("a rewrite", _REWRITE),
            GatewayRule("CORS for everybody", "{type: CORS, cors: {allowOrigins: ['*']}}"),
            GatewayRule("CORS of a list", "{type: CORS, cors: {allowOrigins: ['https://*.bench.test']}}"),
            GatewayRule("timeouts", more=", timeouts: {request: 10s, backendRequest: 2s}"),
            GatewayRule("two backends", backends="[{name: one, port: 80}, {name: one, port: 80, weight: 2}]"),
        )
    }
)
"""By name."""
_INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: ingress, namespace: bench, annotations: {kubernetes.io/ingress.class: nginx}}
spec:
  rules:
  - host: ingress.gateway.bench.test
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: one, port: {number: 80}}}}]}
"""
_GATEWAY = f"""
apiVersion: v1
kind: Service
metadata: {{name: one, namespace: bench}}
spec: {{ports: [{{port: 80}}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {{name: bench}}
spec: {{controllerName: txingress.dev/gateway}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: gateway, namespace: bench}}
spec: {{gatewayClassName: bench, listeners: [{{name: http, port: {PORT}, protocol: HTTP}}]}}
"""
INGRESS: Final = "ingress"
MANIFESTS: Final = "---".join((_GATEWAY, _INGRESS, *(rule.manifest for rule in RULES.values())))


def request_of(name: str) -> bytes:
    """Return the GET of a browser for a page of another origin."""
    host = f"{name}.gateway.bench.test".encode()
    return b"GET / HTTP/1.1\r\nHost: %b\r\nAccept: */*\r\nOrigin: %b\r\n\r\n" % (host, _ORIGIN)


def count_here() -> list[Measured]:
    """Count the calls of a GET of an Ingress and of all rules, in this process."""
    names = [INGRESS, *RULES]
    conversations = [Conversation(name, over_http2=False, request=request_of(name)) for name in names]
    return measure_here(conversations, CALL_ROUNDS, (), MANIFESTS)


def count() -> dict[str, dict[str, int]]:
    """Return the calls of a GET by the name of its rule, in a process of their own."""
    with forked_processes() as pool:
        return {one.conversation.title: one.figures() for one in pool.submit(count_here).result()}


def main() -> None:
    """Print the table."""
    print(f"{'':24}{'calls in':>9}{'out':>5}")
    for name, figures in count().items():
        title = RULES[name].title if name in RULES else "an Ingress beside them"
        print(f"{title:24}{figures['in']:9}{figures['out']:5}")


if __name__ == "__main__":
    main()

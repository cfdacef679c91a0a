"""What is known of Services in other namespaces than that of whoever names them."""

from tests.ctl.inputs.files.files_case import FilesCase, an_ingress

TCP_SERVICES = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: tcp-services, namespace: ingress-nginx}
data:
  "5432": shop/database:5432
  "6379": bank/cache:redis
"""
NAMED = "tcp-services-configmap=ingress-nginx/tcp-services"
SERVICE = """\
---
apiVersion: v1
kind: Service
metadata: {{name: web, namespace: {}}}
spec: {{ports: [{{port: 80}}]}}
"""
CLASS = """\
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: ours}
spec: {controllerName: txingress.dev/gateway}
"""
ROUTE = (
    CLASS
    + """\
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main, namespace: infra}
spec:
  gatewayClassName: ours
  listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web, namespace: front}
spec:
  parentRefs: [{name: main, namespace: infra}]
  hostnames: [shop.example.com]
  rules: [{backendRefs: [{name: absent, namespace: shop, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: front, namespace: shop}
spec:
  from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: front}]
  to: [{group: "", kind: Service}]
"""
)
HTTPS = (
    CLASS
    + """\
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: main, namespace: infra}
spec:
  gatewayClassName: ours
  listeners:
    - {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: made, namespace: shop}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: infra, namespace: shop}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: infra}]
  to: [{group: "", kind: Secret}]
"""
)
SECRET = """\
---
apiVersion: v1
kind: Secret
metadata: {{name: {}, namespace: shop}}
type: kubernetes.io/tls
data: {{tls.crt: "", tls.key: ""}}
"""


class CertificatesTests(FilesCase):
    """The Secrets of listeners, which manifests mostly lack."""

    def test_one_that_is_not_there_is_missing_where_others_are(self) -> None:
        """As of Ingresses: else it is not checked, and one that is there and has no certificate is an error."""
        for secret, status, told in (
            ("", 0, "whether Secrets exist in shop: none of there was read"),
            (SECRET.format("other"), 0, "warning  there is no Secret shop/made that holds a certificate"),
            (SECRET.format("made"), 1, "error    Secret shop/made: "),
        ):
            found = self.run_command("lint", self.manifest(HTTPS + secret))
            self.assertEqual(found.exit_code, status, found.stdout)
            self.assertIn(told, found.stdout)


class ElsewhereTests(FilesCase):
    """A Service is missing where its own namespace has others, whatever is known of the namespace that names it."""

    def test_tcp_services(self) -> None:
        """Of a namespace without any Service nothing is known, and that is the namespace which is told."""
        for namespace, missing, unknown in (
            ("shop", ["ServiceNotFound"], "bank"),
            ("ingress-nginx", [], "bank, shop"),
        ):
            path = self.manifest(TCP_SERVICES + SERVICE.format(namespace))
            given = self.read(options=(NAMED,))
            known = [one.reason.value for one in given.snapshot.problems if not given.coverage.unknown(one)]
            self.assertEqual(known, missing)
            told = self.run_command("lint", "-o", NAMED, path).stdout
            self.assertIn(f"whether Services exist in {unknown}: none of there was read", told)
            self.assertEqual("warning  Service shop/database is not in the manifests" in told, bool(missing))

    def test_routes_of_gateways(self) -> None:
        """So it is for what lint finds, and for what explain and diff cannot know."""
        known = self.manifest(ROUTE + SERVICE.format("shop"), "known.yaml")
        found = self.run_command("lint", known)
        self.assertNotIn("Not checked", found.stdout)
        self.assertIn("warning  Service shop/absent is not in the manifests", found.stdout)
        unknown = self.manifest(ROUTE + SERVICE.format("front"), "unknown.yaml")
        found = self.run_command("lint", unknown)
        self.assertNotIn("warning", found.stdout)
        self.assertIn("whether Services exist in shop: none of there was read", found.stdout)
        found = self.run_command("diff", unknown, self.manifest(an_ingress(), "another.yaml"))
        self.assertIn("whether Services exist in shop: neither side has any of there", found.stdout)
        found = self.run_command("explain", "http://shop.example.com/", unknown)
        self.assertIn("no Service of namespace shop is given", " ".join(found.stdout.split()))

"""Sessions and canaries in the proxy: from manifests to the endpoints that clients meet."""

from datetime import UTC, datetime

from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.translate.options import TranslateOptions
from ingress.translate.translate import translate
from tests.proxy.playing import FOUR, OK, ONE, THREE, TWO, ProxyCase
from tests.translate.golden import read_state

PRIMARY = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  namespace: demo
  annotations:
    nginx.ingress.kubernetes.io/affinity: cookie
    nginx.ingress.kubernetes.io/session-cookie-name: route
    nginx.ingress.kubernetes.io/session-cookie-max-age: "172800"
    nginx.ingress.kubernetes.io/MODE
spec:
  ingressClassName: nginx
  rules:
  - host: shop.test
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
"""
CANARY = """
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: canary
  namespace: demo
  annotations:
    nginx.ingress.kubernetes.io/canary: "true"
    nginx.ingress.kubernetes.io/CANARY-BY
spec:
  ingressClassName: nginx
  rules:
  - host: shop.test
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: new, port: {number: 80}}}}]}
"""
HASHING = """
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: plain
  namespace: demo
spec:
  ingressClassName: nginx
  rules:
  - host: shop.test
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
"""
OLD = BackendReference("demo", "web", 80)
NEW = BackendReference("demo", "new", 80)


class SessionTests(ProxyCase):
    """``affinity: cookie``."""

    def publish(
        self,
        mode: str,
        *endpoints: Endpoint,
        canary: bool = False,
        of_canary: tuple[Endpoint, ...] = (FOUR,),
        by: str = "canary-by-header: x-new",
    ) -> None:
        """Serve the Ingress with a further annotation; the canary, if any, gets requests *by*, and has the endpoints *of_canary*."""
        manifest = PRIMARY.replace("MODE", mode) + (CANARY.replace("CANARY-BY", by) if canary else "")
        snapshot = translate(read_state(manifest), TranslateOptions(), datetime.now(UTC))
        states = {OLD: BackendState(endpoints), NEW: BackendState(of_canary)}
        self.stage.resource.publish(snapshot.table, {one: states[one] for one in snapshot.backends})

    def visit(self, cookie: bytes = b"", *lines: bytes) -> tuple[Endpoint, bytes]:
        """Send a request on a new connection; return the endpoint that answered it, and the cookie that was told."""
        head = [b"GET / HTTP/1.1", b"Host: shop.test", *lines, b"Connection: close"]
        head += [b"Cookie: a=1; " + cookie] * bool(cookie)
        client = self.stage.open()
        client.say(b"\r\n".join(head) + b"\r\n\r\n")
        upstream = self.upstream()
        self.assertIn(b"Cookie: a=1" if cookie else b"GET /", upstream.take())
        upstream.say(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        answer = client.take()
        self.assert_status(answer, 200)
        told = [line for line in answer.split(b"\r\n") if line.startswith(b"Set-Cookie: ")]
        self.assertLess(len(told), 2)
        found = self.stage.connector.asked[-1]
        return found, told[0].removeprefix(b"Set-Cookie: ").partition(b";")[0] if told else b""

    def test_stays(self) -> None:
        """A client is told a cookie once, and stays where it leads, in both modes."""
        for mode in ("affinity-mode: balanced", "affinity-mode: persistent"):
            self.publish(mode, ONE, TWO, THREE)
            for _ in range(4):
                first, cookie = self.visit()
                self.assertTrue(cookie.startswith(b"route="))
                for _ in range(3):
                    self.assertEqual(self.visit(cookie), (first, b""))

    def test_second_field(self) -> None:
        """A cookie is found whichever ``Cookie`` field has it, as proxies that speak HTTP/2 may send several."""
        self.publish("affinity-mode: persistent", ONE, TWO, THREE, canary=True, by="canary-by-cookie: new")
        for _ in range(3):
            first, cookie = self.visit()
            self.assertEqual(self.visit(cookie, b"Cookie: b=2"), (first, b""))
        self.assertEqual(self.visit(b"new=always", b"Cookie: b=2")[0], FOUR)

    def test_new_clients_are_shared(self) -> None:
        """Clients without cookie do not all go to one endpoint."""
        self.publish("affinity-mode: persistent", ONE, TWO, THREE)
        self.assertEqual({self.visit()[0] for _ in range(3)}, {ONE, TWO, THREE})

    def test_endpoints_come(self) -> None:
        """Where clients are persistent, none moves when endpoints come."""
        self.publish("affinity-mode: persistent", ONE, TWO)
        clients = [self.visit() for _ in range(4)]
        self.publish("affinity-mode: persistent", THREE, ONE, FOUR, TWO)
        for endpoint, cookie in clients:
            self.assertEqual(self.visit(cookie), (endpoint, b""))

    def test_endpoint_goes(self) -> None:
        """A client whose endpoint is gone is told another one, once."""
        self.publish("affinity-mode: persistent", ONE, TWO)
        _, cookie = next(one for one in (self.visit() for _ in range(2)) if one[0] == ONE)
        self.publish("affinity-mode: persistent", TWO)
        endpoint, moved = self.visit(cookie)
        self.assertEqual(endpoint, TWO)
        self.assertEqual(self.visit(moved), (TWO, b""))

    def test_failure(self) -> None:
        """A client whose endpoint fails is served by another one, and stays there only if it is to move."""
        for changes in ("false", "true"):
            self.publish(f'session-cookie-change-on-failure: "{changes}"', ONE, TWO)
            self.stage.connector.unreachable.clear()
            first, cookie = self.visit()
            self.stage.connector.unreachable[first] = "refused"
            other, told = self.visit(cookie)
            self.assertNotEqual(other, first)
            self.stage.connector.unreachable.clear()
            self.assertEqual(self.visit(told or cookie)[0], other if changes == "true" else first)

    def test_forged(self) -> None:
        """Whatever a cookie says, the endpoint is one of the Service."""
        self.publish("affinity-mode: persistent", ONE, TWO)
        for value in (
            b"10.9.9.9:80",
            b"e" + b"0" * 16,
            b"\xff" * 20,
            b"k" * 4000,
            b"e0000000000000000.00000000",
        ):
            self.assertIn(self.visit(b"route=" + value)[0], (ONE, TWO))

    def test_canary(self) -> None:
        """A client that met the canary stays with it, and one that did not stays away."""
        self.publish("affinity-mode: balanced", ONE, TWO, canary=True)
        found, cookie = self.visit(b"", b"X-New: always")
        self.assertEqual(found, FOUR)
        self.assertEqual(self.visit(cookie), (FOUR, b""))
        found, cookie = self.visit()
        self.assertIn(found, (ONE, TWO))
        self.assertEqual(self.visit(cookie, b"X-New: always"), (found, b""))

    def test_canary_without_endpoint(self) -> None:
        """While a canary has none, the primary answers, and its clients stay there; those that the canary had come back to it."""
        self.publish("affinity-mode: balanced", ONE, TWO, canary=True)
        _, of_canary = self.visit(b"", b"X-New: always")
        self.publish("affinity-mode: balanced", ONE, TWO, canary=True, of_canary=())
        found, cookie = self.visit(b"", b"X-New: always")
        self.assertIn(found, (ONE, TWO))
        self.assertEqual(self.visit(cookie, b"X-New: always"), (found, b""))
        found, _ = self.visit(of_canary)
        self.assertIn(found, (ONE, TWO))
        self.publish("affinity-mode: balanced", ONE, TWO, canary=True)
        self.assertEqual(self.visit(of_canary), (FOUR, b""))


class BalancingOfCanariesTests(ProxyCase):
    """``upstream-hash-by`` of a canary."""

    def test_requests_of_one_key_go_to_one_endpoint_of_the_canary(self) -> None:
        """Those that the primary gets go to its endpoints in turn."""
        hashing = "canary-by-header: x-new\n    nginx.ingress.kubernetes.io/upstream-hash-by: $arg_user"
        manifest = HASHING + CANARY.replace("CANARY-BY", hashing)
        snapshot = translate(read_state(manifest), TranslateOptions(), datetime.now(UTC))
        states = {OLD: BackendState((ONE, TWO)), NEW: BackendState((THREE, FOUR))}
        self.stage.resource.publish(snapshot.table, {one: states[one] for one in snapshot.backends})
        for field, count in ((b"X-New: always", 1), (b"X-New: never", 2)):
            self.assertEqual(len({self.endpoint(b"ann", field) for _ in range(4)}), count, field)
        found = {self.endpoint(str(number).encode(), b"X-New: always") for number in range(16)}
        self.assertEqual(found, {THREE, FOUR})

    def endpoint(self, user: bytes, field: bytes) -> Endpoint:
        """Send a request of *user* on a new connection; return the endpoint that was asked."""
        client = self.stage.open()
        lines = [b"GET /?user=" + user + b" HTTP/1.1", b"Host: shop.test", field, b"Connection: close"]
        client.say(b"\r\n".join(lines) + b"\r\n\r\n")
        self.upstream().say(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        self.assert_status(client.take(), 200)
        return self.stage.connector.asked[-1]

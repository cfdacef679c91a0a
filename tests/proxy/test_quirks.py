"""Quirks of ingress-nginx that are our defaults for all: Q9, Q10 and Q13, from manifests to answers.

Q1 to Q6 are in ``tests.translate.test_quirks``, Q7, Q8 and Q11 in ``tests.proxy.downstream.test_added_fields``, Q12 in
``tests.annotations.passwords.test_family``.
"""

from datetime import UTC, datetime

from ingress.annotations.hosts.transport_security import TransportSecurity
from ingress.model.cluster.objects import ClusterObject
from ingress.model.upstream.backends import BackendState
from ingress.translate.options import TranslateOptions
from ingress.translate.translate import translate
from tests.proxy.playing import GET, OK, ONE, ProxyCase
from tests.translate.following import NOW, asking, tls_secret
from tests.translate.golden import read_state, state_of

MANIFEST = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: demo, annotations: {%s}}
spec:
  ingressClassName: nginx
  rules:
  - host: shop.test
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
"""
MEBIBYTE = 1024 * 1024


class DefaultQuirksTests(ProxyCase):
    """What holds without being asked for."""

    def serve(self, annotations: str = "") -> None:
        """Serve the manifest."""
        snapshot = translate(read_state(MANIFEST % annotations), TranslateOptions(), datetime.now(UTC))
        self.stage.resource.publish(snapshot.table, {one: BackendState((ONE,)) for one in snapshot.backends})

    def test_q9_bodies_up_to_a_mebibyte_and_they_stream(self) -> None:
        """A larger request body is 413 at once; one that may pass goes on before it is whole, other than in ingress-nginx."""
        self.serve()
        head = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n"
        client = self.stage.open()
        client.say(head % (MEBIBYTE + 1))
        self.assert_status(client.take(), 413)
        client = self.stage.open()
        client.say(head % MEBIBYTE + b"x" * 1000)
        upstream = self.upstream()
        self.assertTrue(upstream.take().endswith(b"x" * 1000))
        upstream.say(OK)
        self.assert_status(client.take(), 200)

    def test_q10_hosts_with_tls_insist_on_it_for_a_year_with_subdomains(self) -> None:
        """Answers of a host that has a good certificate say so, and those of others do not."""
        insisting = TransportSecurity(b"max-age=31536000; includeSubDomains")
        objects: list[ClusterObject] = [
            asking("a", "a.test", secret="tls"),
            asking("b", "b.test"),
            tls_secret("tls", "a.test"),
        ]
        snapshot = translate(state_of(objects), TranslateOptions(), NOW)
        self.assertEqual(
            {route.host: insisting in route.filters for route in snapshot.table.routes},
            {"a.test": True, "b.test": False},
        )

    def test_q13_requests_beyond_a_limit_are_503(self) -> None:
        """Not 429: that is what clients of ingress-nginx know."""
        prefix = "nginx.ingress.kubernetes.io"
        self.serve(f'{prefix}/limit-rps: "1", {prefix}/limit-burst-multiplier: "1"')
        for _ in range(2):
            client = self.stage.open()
            client.say(GET)
            self.upstream().say(OK)
            self.assert_status(client.take(), 200)
        client = self.stage.open()
        client.say(GET)
        self.assert_status(client.take(), 503)

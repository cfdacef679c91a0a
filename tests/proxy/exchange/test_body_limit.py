"""How large a request body may be on its way through the proxy."""

from __future__ import annotations

from ingress.model.upstream.backends import BackendState
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.routing.route import Match, Route
from ingress.routing.table import RouteTable
from tests.proxy.playing import BACKEND, OK, ONE, OWNER, ProxyCase

POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\n"


def limit(resource: IngressProxyResource, largest: int) -> None:
    """Publish one route that takes bodies of at most *largest* bytes."""
    route = Route("shop.test", "/", Match.PREFIX, OWNER, BACKEND, largest)
    resource.publish(RouteTable([route]), {BACKEND: BackendState((ONE,))})


class BodyLimitTests(ProxyCase):
    """``Route.max_body_bytes``."""

    def setUp(self) -> None:
        super().setUp()
        limit(self.stage.resource, 10)
        self.down = self.stage.open()

    def test_announced(self) -> None:
        """A length beyond the limit is refused at once, and upstream learns nothing of it."""
        self.down.say(POST + b"Content-Length: 11\r\n\r\n")
        self.assert_status(self.down.take(), 413)
        self.assertEqual(self.stage.connector.peers, [])

    def test_largest(self) -> None:
        """A body of just the limit passes, in either framing."""
        self.down.say(POST + b"Content-Length: 10\r\n\r\n0123456789")
        self.upstream().say(OK)
        self.assert_status(self.down.take(), 200)
        self.down.say(POST + b"Transfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n0\r\n\r\n")
        self.upstream().say(OK)
        self.assert_status(self.down.take(), 200)

    def test_with_the_head(self) -> None:
        """A chunked body that has passed the limit when its head is read is refused before upstream is asked."""
        self.down.say(POST + b"Transfer-Encoding: chunked\r\n\r\nb\r\n0123456789A\r\n")
        self.assert_status(self.down.take(), 413)
        self.assertEqual(self.stage.connector.peers, [])

    def test_when_passed(self) -> None:
        """A chunked body is refused when it passes the limit, and upstream never sees its end."""
        self.down.say(POST + b"Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n")
        upstream = self.upstream()
        self.assertTrue(upstream.take().endswith(b"5\r\n01234\r\n"))
        self.down.say(b"6\r\n56789A\r\n0\r\n\r\n")
        self.assert_status(self.down.take(), 413)
        self.assertEqual(upstream.take(), b"")
        self.assertTrue(upstream.saw_reset)

    def test_no_limit(self) -> None:
        """A limit of 0 is none."""
        limit(self.stage.resource, 0)
        self.down.say(POST + b"Content-Length: 2000000\r\n\r\n" + b"x" * 2_000_000)
        self.upstream().say(OK)
        self.assert_status(self.down.take(), 200)

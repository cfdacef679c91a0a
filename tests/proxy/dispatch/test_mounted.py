"""Plain ``twisted.web`` resources on the data path."""

from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Request
from twisted.web.static import Data
from twisted.web.util import Redirect

from ingress.proxy.dispatch.mounted import MAX_COLLECTED
from tests.fakes.http2_frames import reset
from tests.proxy.h2_upstream_case import Http2UpstreamCase
from tests.proxy.playing import GET, OK, ProxyCase, body_of


class Later(Resource):
    """Answers when its test says so."""

    isLeaf = True

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Request] = []

    def render_GET(self, request: Request) -> int:
        self.requests.append(request)
        return NOT_DONE_YET


class MountedResourceTests(ProxyCase):
    """``ProxySite.mount``."""

    def setUp(self) -> None:
        super().setUp()
        self.root = Resource()
        self.stage.site.mount(b"/.well-known/own", self.root)
        self.down = self.stage.open()

    def get(self, path: bytes, *lines: bytes) -> bytes:
        head = b"\r\n".join([b"GET " + path + b" HTTP/1.1", b"Host: shop.test", *lines])
        self.down.say(head + b"\r\n\r\n")
        return self.down.take()

    def test_child(self) -> None:
        """A child of a mounted resource answers, on a connection that goes on."""
        self.root.putChild(b"page", Data(b"hello", "text/plain"))
        answer = self.get(b"/.well-known/own/page")
        self.assert_status(answer, 200)
        self.assertEqual(body_of(answer), b"hello")
        self.assertIn(b"\r\nContent-Length: 5\r\n", answer)
        self.assert_status(self.get(b"/.well-known/own/none"), 404)

    def test_other_paths(self) -> None:
        """Other paths are proxied as ever, also one that only begins like it."""
        self.down.say(GET.replace(b"GET /", b"GET /.well-known/owner"))
        self.upstream().say(OK)
        self.assert_status(self.down.take(), 200)

    def test_redirect(self) -> None:
        """A resource sets status and fields as it does on a site of its own."""
        self.root.putChild(b"old", Redirect(b"/new"))
        answer = self.get(b"/.well-known/own/old")
        self.assert_status(answer, 302)
        self.assertIn(b"\r\nLocation: /new\r\n", answer)

    def test_request(self) -> None:
        """A resource sees method, path, query and fields of the request."""
        later = Later()
        self.root.putChild(b"later", later)
        self.assertEqual(self.get(b"/.well-known/own/later?a=1&a=2", b"X-Note: 7"), b"")
        [request] = later.requests
        self.assertEqual(request.args, {b"a": [b"1", b"2"]})
        self.assertEqual(request.getHeader("x-note"), "7")
        self.assertEqual(request.getRequestHostname(), b"shop.test")
        request.setHeader("X-Own", "yes")
        request.write(b"one ")
        request.write(b"two")
        request.finish()
        answer = self.down.take()
        self.assertIn(b"\r\nX-Own: yes\r\n", answer)
        self.assertEqual(body_of(answer), b"one two")

    def test_too_much(self) -> None:
        """An answer that is not collected for its size becomes a 500."""
        self.root.putChild(b"much", Data(b"x" * (MAX_COLLECTED + 1), "text/plain"))
        self.assert_status(self.get(b"/.well-known/own/much"), 500)

    def test_client_left(self) -> None:
        """An answer for a client that has left goes nowhere, and counts for nothing; so does an error."""
        later = Later()
        self.root.putChild(b"later", later)
        self.get(b"/.well-known/own/later")
        self.down.finish()
        self.assert_ended(499)
        [request] = later.requests
        request.write(b"x" * (MAX_COLLECTED + 1))
        request.finish()
        self.assertEqual(self.down.received, b"")
        self.assert_ended(499)


class Http2MountedResourceTests(Http2UpstreamCase):
    """The same for a client that speaks HTTP/2."""

    def test_stream_was_reset(self) -> None:
        """An answer for a stream that its client has reset goes nowhere, and counts for nothing."""
        later = Later()
        self.stage.site.mount(b"/later", later)
        client = self.client()
        client.send(client.request(1, path=b"/later"), reset(1), client.request(3, path=b"/later"))
        client.look()
        self.assert_ended(499)
        first, second = later.requests
        first.write(b"late")
        first.finish()
        self.assert_ended(499)
        second.write(b"in time")
        second.finish()
        client.look()
        self.assertEqual((client.statuses(1), client.body(3)), ([], b"in time"))
        self.assert_ended(499, 200)

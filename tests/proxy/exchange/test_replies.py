"""Tests for ``ingress.proxy.exchange.replies``."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.http.response_head import parse_response_head
from ingress.model.exchanges.reply import Reply
from ingress.proxy.exchange.replies import Replies, accepts_html, head_of, text_of

RUNBOOK = Path(__file__).parents[3] / "docs" / "runbook.md"
STATUSES = (400, 404, 405, 408, 414, 417, 431, 501, 502, 503, 504, 505)


class RepliesTests(SynchronousTestCase):
    """The proxy's own answers."""

    def test_plain(self) -> None:
        """Programs get one line of text."""
        for status in STATUSES:
            reply = Replies().of(status, for_browser=False)
            self.assertEqual(reply.status, status)
            self.assertRegex(reply.body, rb"\A%d [A-Z][\w -]+\n\Z" % status)
            self.assertIn((b"Content-Type", b"text/plain; charset=utf-8"), reply.fields)

    def test_page(self) -> None:
        """Browsers get a small page."""
        for status in STATUSES:
            reply = Replies().of(status, for_browser=True)
            self.assertIn(b"<h1>%d " % status, reply.body)
            self.assertIn((b"Content-Type", b"text/html; charset=utf-8"), reply.fields)

    def test_no_kind_of_object(self) -> None:
        """No text names Ingresses: routes of Gateways have the same answers.  The runbook says what a browser shows for want of a route."""
        self.assertEqual([status for status in STATUSES if "Ingress" in text_of(status)], [])
        page = Replies().of(404, for_browser=True).body.decode()
        quoted = "No rule matches this host and path."
        self.assertIn(f"<p>{quoted}</p>", page)
        self.assertIn(f'the page says "{quoted}"', RUNBOOK.read_text("utf-8"))

    def test_made_once(self) -> None:
        """A reply is made once."""
        replies = Replies()
        self.assertIs(replies.of(404, True), replies.of(404, True))

    def test_own_page(self) -> None:
        """The operator's page takes the place of ours for 404, and only there."""
        replies = Replies(b"<p>own</p>")
        self.assertEqual(replies.of(404, True).body, b"<p>own</p>")
        self.assertNotEqual(replies.of(502, True).body, b"<p>own</p>")

    def test_head(self) -> None:
        """The head of a reply has its fields and its length, where it may have one."""
        reply = Reply(308, ((b"Location", b"https://a/"), (b"X", b"y")), b"body")
        head = parse_response_head(head_of(reply).start.rstrip(b"\r\n"))
        self.assertEqual(
            head.start,
            b"HTTP/1.1 308 Permanent Redirect\r\nLocation: https://a/\r\nX: y\r\nContent-Length: 4\r\n",
        )
        self.assertNotIn(b"Content-Length", head_of(Reply(204)).start)


class AcceptsHtmlTests(SynchronousTestCase):
    """Whether a peer is a browser."""

    def test_accept(self) -> None:
        """Only an Accept field that names HTML counts."""
        for forward, expected in (
            (b"Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n", True),
            (b"A: b\r\naccept:TEXT/HTML\r\nC: d\r\n", True),
            (b"Accept: */*\r\n", False),
            (b"Accept: application/json\r\nX: text/html\r\n", False),
            (b"X-Accept: text/html\r\n", False),
            (b"X-Accept: a\r\nAccept: text/html\r\n", True),
            (b"X: accept: text/html\r\n", False),
            (b"Accept-Language: text/html\r\n", False),
            (b"", False),
        ):
            self.assertEqual(accepts_html(forward), expected, forward)

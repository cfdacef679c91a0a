"""The webhook over HTTP: who posts a review has his answer, and whoever posts anything else harms nobody."""

import json
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.testing import StringTransport

from ingress.admin.port.connections import REQUEST_SECONDS
from ingress.admission.reviews import DEADLINE_SECONDS, MOST_WAITING, REST_SECONDS
from ingress.admission.site import MOST_CONTENT, MOST_HELD
from tests.admission.asking import UID, ingress, posted, review
from tests.admission.site_case import WebhookCase, answers, response


class AnswerTests(WebhookCase):
    """What is answered."""

    def test_warned(self) -> None:
        """An Ingress with problems is allowed, with a warning for each."""
        status, content = self.ask(posted(review(ingress())))
        self.assertEqual(status, 200)
        warning = "txingress: spec: there is no Service demo/web (ServiceNotFound)"
        self.assertEqual(response(content), {"uid": UID, "allowed": True, "warnings": [warning]})
        self.assertEqual(self.counts(), {"warned": 1})

    def test_without_words(self) -> None:
        """One without problems, one that is not ours, and what is no Ingress, is allowed without a word."""
        self.problems = ()
        silent = {"uid": UID, "allowed": True}
        self.assertEqual(response(self.ask(posted(review(ingress())))[1]), silent)
        self.problems = None
        self.assertEqual(response(self.ask(posted(review(ingress(), "UPDATE")))[1]), silent)
        self.assertEqual(response(self.ask(posted(review(None, "DELETE")))[1]), silent)
        self.assertEqual(self.counts(), {"clean": 1, "foreign": 2})

    def test_not_ready(self) -> None:
        """Before the first sync nothing is known, so nothing is said."""
        self.is_ready = False
        self.assertEqual(response(self.ask(posted(review(ingress())))[1]), {"uid": UID, "allowed": True})
        self.assertEqual(self.counts(), {"unread": 1})
        self.assertEqual(self.judged, [])

    def test_dry_run(self) -> None:
        """Whether it is only tried makes no difference."""
        status, content = self.ask(posted(review(ingress(), dryRun=True)))
        self.assertEqual((status, len(response(content)["warnings"])), (200, 1))

    def test_bug(self) -> None:
        """A bug of ours is logged, and the Ingress allowed; the next one is judged again."""
        self.error = ValueError("oops")
        _, content = self.ask(posted(review(ingress())))
        (warning,) = response(content)["warnings"]
        self.assertIn("was not looked at", warning)
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)
        self.error = None
        self.ask(posted(review(ingress())))
        self.assertEqual(self.counts(), {"unread": 1, "warned": 1})

    def test_too_large(self) -> None:
        """An Ingress that is too large to be read is allowed, and told so."""
        large = ingress(tls=[{"hosts": ["a"] * 60_000}])
        _, content = self.ask(posted(review(large)))
        (warning,) = response(content)["warnings"]
        self.assertEqual(warning, "txingress: this Ingress was not looked at: it is too large")

    def test_one_connection(self) -> None:
        """A connection goes on with another review, and pieces of any size make a request."""
        connection, transport = self.connect()
        octets = posted(review(ingress())) * 2
        for at in range(0, len(octets), 7):
            connection.dataReceived(octets[at : at + 7])
        self.turn(60)
        self.assertEqual([status for status, _ in answers(transport.value())], [200, 200])


class RefusedTests(WebhookCase):
    """What is no review."""

    def check(self, expected: int, *parts: bytes) -> None:
        """See that *parts* are refused by one line of text."""
        status, content = self.ask(*parts)
        self.assertEqual(status, expected, content)
        self.assertEqual(content.count(b"\n"), 1, content)
        self.assertTrue(content.endswith(b"\n"))
        self.assertEqual(self.counts(), {})

    def test_methods(self) -> None:
        """A review is posted."""
        for method in (b"GET", b"PUT", b"DELETE"):
            self.check(405, method + b" / HTTP/1.1\r\nHost: a\r\n\r\n")

    def test_places(self) -> None:
        """It is posted to the root, as JSON."""
        self.check(404, posted(review(ingress()), "/validate"))
        self.check(415, posted(review(ingress()), content_type="application/yaml"))
        self.check(415, posted(review(ingress()), content_type="multipart/form-data; boundary=x"))
        status, _ = self.ask(posted(review(ingress()), content_type="application/json; charset=utf-8"))
        self.assertEqual(status, 200)

    def test_no_review(self) -> None:
        """What is no JSON, or no review, is refused."""
        for content in (
            b"",
            b"{",
            b"[]",
            b'"\xff"',
            b"\x00",
            b"{} {}",
            b'{"a":NaN}',
            json.dumps(review(ingress(), uid=None)).encode(),
            json.dumps({**review(ingress()), "kind": "Ingress"}).encode(),
        ):
            self.check(400, posted(content))

    def test_deep(self) -> None:
        """However deep it is nested, there is an answer, and no error."""
        for content in (b"[" * 2_000_000, b'{"a":' * 500_000, b'{"request":' + b"[" * 100_000):
            self.check(413, posted(content))

    def test_too_much(self) -> None:
        """More than a review has is refused before it is sent, or once it has come, and the connection ends."""
        self.check(
            413,
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (MOST_CONTENT + 1),
        )
        chunk = b"100000\r\n%b\r\n" % (b" " * 0x100000)
        self.check(
            413,
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
            *[chunk] * (MOST_CONTENT // 0x100000 + 1),
        )


class BusyTests(WebhookCase):
    """Many at once."""

    def test_one_at_a_time(self) -> None:
        """They are judged one after the other, in their order, a slice in each turn; the others wait."""
        self.steps = 5
        found: list[bytes] = []
        for name in ("a", "b"):
            answered = self.reviews.review(json.dumps(review(ingress(name))).encode())
            answered.addCallback(found.append)
        self.turn(4)
        self.assertEqual((self.judged, found), (["a"], []))
        self.turn(20)
        self.assertEqual((self.judged, len(found)), (["a", "b"], 2))

    def test_rest(self) -> None:
        """Between two slices the reactor has a rest of the reviews."""
        self.reviews.review(json.dumps(review(ingress())).encode())
        (turn,) = (one for one in self.clock.getDelayedCalls() if one.getTime() < DEADLINE_SECONDS)
        self.assertEqual(turn.getTime(), REST_SECONDS)

    def test_queue(self) -> None:
        """Those that find too many others waiting are allowed at once, and told that they were not looked at."""
        self.steps = 1000
        found: list[bytes] = []
        for _ in range(1 + MOST_WAITING + 2):
            self.reviews.review(json.dumps(review(ingress())).encode()).addCallback(found.append)
        self.turn(1 + MOST_WAITING + 2)
        self.assertEqual(len(found), 2)
        for content in found:
            self.assertEqual(
                response(content)["warnings"],
                ["txingress: this Ingress was not looked at: too many others wait"],
            )

    def test_deadline(self) -> None:
        """One that takes too long is allowed in time, and told so; nothing more is done for it."""
        self.steps = 10**9
        found: list[bytes] = []
        self.reviews.review(json.dumps(review(ingress())).encode()).addCallback(found.append)
        self.clock.advance(0.1)
        self.turn(10)
        self.clock.advance(DEADLINE_SECONDS)
        (content,) = found
        self.assertIn("4 seconds", response(content)["warnings"][0])
        self.assertEqual(self.clock.getDelayedCalls(), [])
        self.assertEqual(self.counts(), {"unread": 1})

    def test_unread_in_time(self) -> None:
        """One that was not even read in time has no uid to be answered by: it is refused."""
        connection, transport = self.connect()
        connection.dataReceived(posted(review(ingress())))
        for call in self.clock.getDelayedCalls():
            if call.getTime() <= REST_SECONDS:
                call.delay(DEADLINE_SECONDS + 1)
        self.clock.advance(DEADLINE_SECONDS)
        ((status, _),) = answers(transport.value())
        self.assertEqual(status, 503)

    def test_gone(self) -> None:
        """Who leaves is not judged."""
        connection, _ = self.connect()
        connection.dataReceived(posted(review(ingress())))
        self.lose(connection)
        self.turn(10)
        self.assertEqual(self.judged, [])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_gone_meanwhile(self) -> None:
        """Who leaves while he is judged is not judged any more."""
        self.steps = 10**9
        answered: Deferred[Any] = self.reviews.review(json.dumps(review(ingress())).encode())
        answered.addErrback(lambda _: None)
        self.turn(3)
        answered.cancel()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def fill(self, rest: bytes = b"") -> list[tuple[Any, StringTransport]]:
        """Connect as often as it takes to have no room left, and send all but the last byte of a content, or *rest* after it."""
        head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        found = []
        for _ in range(MOST_HELD // MOST_CONTENT):
            connection, transport = self.connect()
            connection.dataReceived(head % MOST_CONTENT)
            connection.dataReceived(b" " * (MOST_CONTENT - 1))
            connection.dataReceived(rest)
            found.append((connection, transport))
        return found

    def test_held(self) -> None:
        """Of all that is sent so much is kept, and of more nothing; what was answered or given up makes room again."""
        whole = self.fill(b"1")
        small = posted(review(ingress()))
        connection, transport = self.connect()
        connection.dataReceived(small)
        self.assertEqual([status for status, _ in answers(transport.value())], [503])
        self.lose(whole[0][0])
        self.assertEqual(self.ask(small)[0], 200)
        self.assertEqual([transport.value()[:12] for _, transport in whole[1:]], [b"HTTP/1.1 400"] * 3)
        self.fill(b"1")

    def test_half_sent(self) -> None:
        """Contents that do not come to an end make way for others, the one that has been coming for longest first."""
        slow = self.fill()
        status, _ = self.ask(posted(review(ingress())))
        self.assertEqual(status, 200)
        ((status, why),) = answers(slow[0][1].value())
        self.assertEqual(
            (status, why), (503, b"this review came too slowly, while others waited for its room\n")
        )
        self.assertTrue(slow[0][1].disconnecting)
        self.assertEqual([transport.value() for _, transport in slow[1:]], [b""] * 3)
        # What it goes on to send is not kept, and the others may end.
        slow[0][0].dataReceived(b"1")
        slow[1][0].dataReceived(b"1")
        self.turn(60)
        ((status, _),) = answers(slow[1][1].value())
        self.assertEqual(status, 400)

    def test_half_sent_again(self) -> None:
        """However often one of them comes again, each that is sent at once is answered."""
        for _ in range(3):
            self.fill()
            self.assertEqual(self.ask(posted(review(ingress())))[0], 200)

    def test_too_slow_for_itself(self) -> None:
        """The one that has been coming for longest is refused where there is no room for the rest of it."""
        (slow, transport), *others = self.fill()
        for connection, _ in others:
            connection.dataReceived(b"1")
        last, _ = self.connect()
        last.dataReceived(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1")
        slow.dataReceived(b"1")
        ((status, why),) = answers(transport.value())
        self.assertEqual((status, why), (503, b"too many reviews are sent at once\n"))

    def test_slow(self) -> None:
        """Who does not send all of it in time is cut, however often a byte comes."""
        connection, transport = self.connect()
        connection.dataReceived(posted(review(ingress()))[:-20])
        for _ in range(REQUEST_SECONDS):
            self.assertFalse(transport.disconnecting)
            self.clock.advance(1)
            connection.dataReceived(b" ")
        self.assertTrue(transport.disconnecting)

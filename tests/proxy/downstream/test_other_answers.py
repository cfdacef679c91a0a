"""Tests of endpoints that answer in another protocol: 502 at the first byte that tells, and the log says what came."""

from twisted.logger import capturedLogs

from tests.proxy.playing import GET, OK, ProxyCase

ALERT = b"\x15\x03\x01\x00\x02\x02\x46"
SETTINGS = b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + bytes(18)


class OtherAnswerTests(ProxyCase):
    """What is no HTTP/1.1, on a connection where that is spoken."""

    def told(self, said: bytes) -> str:
        """Have the endpoint say something; check that this is 502 with no time gone by; return what is logged."""
        down = self.stage.open()
        with capturedLogs() as events:
            down.say(GET)
            self.upstream().say(said)
            self.assert_status(down.take(), 502)
        self.assertTrue(self.upstream().closed)
        self.reactor.advance(11)
        return " ".join(str(event["why"]) for event in events if "why" in event)

    def test_at_once(self) -> None:
        """A byte is enough where it decides, and the log names what came."""
        for said, words in (
            (ALERT, "a TLS alert, number 70"),
            (SETTINGS, "HTTP/2"),
            (b"S", "'S'"),
            (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", "LF alone"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\n", "LF alone"),
            (b"HTTP/2", "'HTTP/2'"),
        ):
            self.assertIn(words, self.told(said))

    def test_trickle(self) -> None:
        """Heads in single bytes are heads, and heads behind interim ones, too."""
        down = self.stage.open()
        down.say(GET)
        interim = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
        for octet in interim + interim + OK:
            self.upstream().say(bytes((octet,)))
        self.assertEqual(down.take().count(b"HTTP/1.1 "), 3)

    def test_behind_an_interim_head(self) -> None:
        """What follows an interim head is looked at as closely."""
        down = self.stage.open()
        down.say(GET)
        self.upstream().say(b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\n")
        self.assertTrue(down.take().endswith(b"\r\n\r\n502 Bad Gateway\n"))
        self.assert_ended(502)

    def test_quiet(self) -> None:
        """Whatever else comes each time, it is the same trouble, and told once."""
        with capturedLogs() as events:
            for number in range(30):
                down = self.stage.open()
                down.say(GET)
                self.upstream().say(b"%d nonsense" % number)
                down.take()
        self.assertEqual(sum("why" in event for event in events), 1)


class OtherAnswerTestsOnEpoll(OtherAnswerTests):
    """The same on the epoll set."""

    on_epoll = True

"""The id of a request, by which its lines in both logs and its record are found."""

from collections.abc import Callable
from itertools import chain, repeat
from unittest.mock import Mock

from twisted.logger import capturedLogs

from ingress.filters import Phase
from tests.proxy.exchange.test_causes import Refuse
from tests.proxy.playing import GET, ONE, ProxyCase


class IdentityTests(ProxyCase):
    """Lines of the program's log beside records."""

    def told(self, play: Callable[[], None]) -> None:
        """Fail unless the log tells of the request that *play* has fail, and names it as its record does."""
        with capturedLogs() as events:
            play()
        named = [event["request"] for event in events if event.get("request")]
        self.assertEqual(named, [self.metrics.records[-1].id.decode()])
        self.assertRegex(named[0], "^[0-9a-f]{32}$")

    def test_upstream(self) -> None:
        """Where no endpoint can be reached, where there is none, and where an answer breaks off."""
        self.connector.unreachable[ONE] = "connection refused"
        self.told(lambda: self.stage.open().say(GET))
        self.stage.publish((), "nobody is ready")
        self.told(lambda: self.stage.open().say(GET))
        del self.connector.unreachable[ONE]
        self.stage.publish((ONE,))

        def breaks_off() -> None:
            self.stage.open().say(GET)
            self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
            self.upstream().finish()

        self.told(breaks_off)

    def test_filter(self) -> None:
        """Where a filter fails."""
        self.stage.publish((ONE,), filters=(Refuse(Phase.ACCESS, raises=True),))
        self.told(lambda: self.stage.open().say(GET))
        self.flushLoggedErrors(ZeroDivisionError)

    def test_bug(self) -> None:
        """Where a bug of ours ends it."""

        def breaks() -> None:
            self.stage.open().say(GET)
            seconds = chain([RuntimeError("a bug")], repeat(self.reactor.seconds()))
            with_bug = self.patch(self.stage.site.context, "clock", Mock(seconds=Mock(side_effect=seconds)))
            self.upstream().say(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
            with_bug.restore()

        self.told(breaks)
        self.flushLoggedErrors(RuntimeError)

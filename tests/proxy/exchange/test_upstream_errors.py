"""Tests for ``ingress.proxy.exchange.upstream_errors``."""

from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.exchange.upstream_errors import QUIET_SECONDS, UpstreamErrorLog


class UpstreamErrorLogTests(SynchronousTestCase):
    """Upstream trouble in the log."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.upstream_errors = UpstreamErrorLog(self.clock)

    def told(self, *upstream_errors: tuple[object, str]) -> list[str]:
        """Tell *upstream_errors*; return the lines of the log."""
        with capturedLogs() as events:
            for subject, why in upstream_errors:
                self.upstream_errors.warn(502, b"a.test", b"/p", subject, why)
        return [formatEvent(event) for event in events]

    def test_first(self) -> None:
        """The first of its sort is told at once."""
        self.assertEqual(self.told(("one", "refused")), ["502 for a.test/p: one: refused"])

    def test_quiet(self) -> None:
        """The same is told again after a while, with how often it came meanwhile."""
        same = ("one", "refused")
        self.assertEqual(len(self.told(same, same, same)), 1)
        self.clock.advance(QUIET_SECONDS)
        self.assertEqual(self.told(same), ["502 for a.test/p: one: refused (2 more since it was last told)"])
        self.assertEqual(self.told(same), [])

    def test_request(self) -> None:
        """The line names the request that it tells of, also as a value of its own, which does not make it another sort."""
        with capturedLogs() as events:
            for request in (b"17", b"18"):
                self.upstream_errors.warn(502, b"a.test", b"/p", "one", "refused", request)
            self.clock.advance(QUIET_SECONDS)
            self.upstream_errors.warn(502, b"a.test", b"/p", "one", "refused", b"{19}")
        line = "502 for a.test/p: one: refused"
        self.assertEqual(
            [formatEvent(event) for event in events],
            [f"{line} (request 17)", f"{line} (request {{19}}, 1 more since it was last told)"],
        )
        self.assertEqual([event["request"] for event in events], ["17", "{19}"])

    def test_sorts(self) -> None:
        """Another subject or another reason is another sort."""
        self.assertEqual(len(self.told(("one", "refused"), ("two", "refused"), ("one", "reset"))), 3)

    def test_bounded(self) -> None:
        """However many sorts there are, only so many are remembered."""
        self.told(*((number, "refused") for number in range(5000)))
        self.assertLessEqual(len(self.upstream_errors), 1024)

    def test_hostile_path(self) -> None:
        """A path cannot forge a line."""
        with capturedLogs() as events:
            self.upstream_errors.warn(502, b"a.test", b"/\n\x1b[0m\xff{why}", "one", "refused")
        self.assertEqual(formatEvent(events[0]), "502 for a.test/\\n\\x1b[0m\\xff{why}: one: refused")

"""What the reflector tells: the log, and what is counted."""

from collections.abc import Callable
from functools import partial

from twisted.logger import capturedLogs, formatEvent

from ingress.cluster.api.api_status import SILENT, UNREACHABLE
from ingress.errors import KubernetesError
from tests.cluster.watching.reflector_case import (
    EXPIRED,
    ReflectorTestCase,
    added,
    bookmark,
    event,
    page,
    service,
)


class LogTests(ReflectorTestCase):
    """What is said."""

    def lines(self, action: Callable[[], object]) -> list[str]:
        with capturedLogs() as events:
            action()
        return [formatEvent(e) for e in events]

    def test_sync_and_relist(self) -> None:
        """The first list is one line with its count, a later one names its cause."""
        self.assertEqual(self.lines(lambda: self.sync("a", "b")), ["Service: synced, 2 objects"])
        self.turn(EXPIRED)
        self.assertEqual(
            self.lines(lambda: self.turn(bookmark("9", ends=True))),
            ["Service: listed again, 0 objects: the resource version expired"],
        )

    def test_silence_again(self) -> None:
        """A watch that stays silent is renewed without a word, until something came meanwhile."""
        self.sync("a")
        silent = KubernetesError(0, SILENT, "no byte")

        def turns(version: str) -> None:
            self.turn(bookmark(version), silent)
            for _ in range(9):
                self.turn(lambda: self.clock.advance(75), silent)
                self.turn(page(version, []))

        for version in "67":
            self.assertEqual(len(self.lines(partial(turns, version))), 1)

    def test_no_streaming_list(self) -> None:
        """An API server without streaming lists is no news."""
        lines = self.lines(
            lambda: (self.turn(KubernetesError(422, "Invalid", "x")), self.turn(page("5", [("a", "1")])))
        )
        self.assertEqual(lines, ["Service: synced, 1 object"])

    def test_contact(self) -> None:
        """Losing and regaining contact are one line each."""
        self.sync("a")
        lines = self.lines(
            lambda: (
                self.turn(KubernetesError(0, UNREACHABLE, "Connection refused")),
                self.turn(KubernetesError(0, UNREACHABLE, "Connection refused")),
                self.turn(bookmark("6")),
            )
        )
        self.assertEqual(len(lines), 2)

    def test_repr(self) -> None:
        """A reflector shows where it is."""
        self.sync("a")
        self.assertEqual(repr(self.reflector), "<Reflector Service version=5 objects=1>")


class CountTests(ReflectorTestCase):
    """What the metrics get to see."""

    def test_objects_and_events(self) -> None:
        """Each object of a list and each change is an event; objects are those that exist."""
        self.sync("a", "b")
        self.assertEqual((self.counts.objects, self.counts.events), (2, 2))
        self.turn(added("c", "6"), event("DELETED", service("a", "7")), event("DELETED", service("b", "8")))
        self.assertEqual((self.counts.objects, self.counts.events), (1, 5))

    def test_pages_count_alike(self) -> None:
        """Objects that come in pages are counted like those that come in a stream."""
        self.turn(KubernetesError(422, "Invalid", "sendInitialEvents"))
        self.turn(page("5", [("a", "1"), ("b", "2")]))
        self.assertEqual((self.counts.objects, self.counts.events), (2, 2))
        self.turn(bookmark("6"))
        self.assertEqual(self.counts.reconnects, 0)

    def test_reconnects(self) -> None:
        """Every request after one that ended is a reconnect, also when it fails."""
        self.sync("a")
        self.assertEqual(self.counts.reconnects, 0)
        self.turn(bookmark("6"))
        self.turn(KubernetesError(0, UNREACHABLE, "refused"))
        self.turn(bookmark("7"))
        self.assertEqual(self.counts.reconnects, 3)

    def test_relists(self) -> None:
        """Relists are counted by their cause."""
        self.sync("a")
        self.turn(EXPIRED)
        self.sync("a")
        for _ in range(3):
            self.turn(b"<html>\n")
        self.assertEqual(self.counts.relists, {"expired": 1, "broken": 1, "bug": 0})

    def test_contact(self) -> None:
        """Contact is whenever the API server sends something, and not when it fails."""
        self.assertIsNone(self.counts.last_contact)
        self.sync("a")
        self.clock.advance(100)
        self.turn(KubernetesError(0, UNREACHABLE, "refused"))
        self.assertEqual((self.counts.last_contact, self.reflector.trouble), (0.0, "refused"))
        self.turn(bookmark("6"), lambda: self.clock.advance(5), bookmark("7"))
        self.assertEqual((self.counts.last_contact, self.reflector.trouble), (165.0, ""))

"""Tests for ``ingress.cluster.watching.reflector``: the watch, one turn after the other, by script and without threads."""

from twisted.logger import capturedLogs, formatEvent

from ingress.cluster.api.api_status import BROKEN, SILENT, UNREACHABLE
from ingress.errors import KubernetesError
from tests.cluster.watching.reflector_case import (
    EXPIRED,
    ReflectorTestCase,
    added,
    bookmark,
    error_event,
    event,
    page,
    service,
)


class WatchTests(ReflectorTestCase):
    """The watch."""

    def test_changes(self) -> None:
        """Added, modified and deleted objects are handed over in their order."""
        self.sync("a")
        self.turn(
            added("b", "6"),
            event("MODIFIED", service("a", "7", "NodePort")),
            event("DELETED", service("b", "8")),
        )
        self.assertEqual(self.received.content, {"a": "NodePort"})

    def test_known_versions_are_not_handed_over(self) -> None:
        """A relist hands over only what differs from what is known."""
        self.sync("a", "b")
        self.received.told.clear()
        self.turn(EXPIRED)
        self.turn(added("a", "1a"), added("b", "9", "NodePort"), bookmark("9", ends=True))
        self.assertEqual(self.received.told, ["+b", "synced Service"])

    def test_proper_end(self) -> None:
        """A watch that ended after a while begins again at once, at the same version."""
        self.sync("a")
        self.assertEqual(self.turn(lambda: self.clock.advance(300)), 0.0)
        self.assertEqual(self.turn(added("b", "6")), 0.0)
        self.turn()
        self.assertEqual([q.get("resourceVersion") for q in self.script.queries], [None, "5", "5", "6"])

    def test_short_watches(self) -> None:
        """A watch that ends at once is an error, and three of them at one version lead to a list."""
        self.sync("a")
        self.assertEqual([self.turn() for _ in range(3)], [0.8, 1.6, 3.2])
        self.assertNotIn("sendInitialEvents", self.last_query())
        self.turn(bookmark("5", ends=True))
        self.assertIn("sendInitialEvents", self.last_query())

    def test_progress_forgives(self) -> None:
        """Troubles count only as long as the version stays where it is."""
        self.sync("a")
        for version in "6789":
            self.turn()
            self.turn()
            self.turn(bookmark(version))
        self.assertNotIn("sendInitialEvents", self.last_query())

    def test_expired(self) -> None:
        """410 as a status and as an event, by code or by reason, leads to a list at once."""
        for steps in ([EXPIRED], [error_event(410, "Expired")], [error_event(500, "Gone")]):
            self.setUp()
            self.sync("a")
            self.assertEqual(self.turn(*steps), 0.0)
            self.turn(bookmark("9", ends=True))
            self.assertIn("sendInitialEvents", self.last_query())

    def test_expired_again_and_again(self) -> None:
        """A version that expires as soon as it was listed is no reason to hurry."""
        self.sync("a")
        self.assertEqual(self.turn(EXPIRED), 0.0)
        self.turn(bookmark("6", ends=True))
        self.assertEqual(self.turn(EXPIRED), 0.8)

    def test_expired_behind_events(self) -> None:
        """So it is where an event or a bookmark comes first each time: lists of everything are not asked for without a pause."""
        self.sync("a")
        pauses = []
        for version in range(10, 30, 2):
            pauses.append(self.turn(bookmark(str(version)), error_event(410, "Expired")))
            self.assertEqual(self.turn(bookmark(str(version + 1), ends=True)), 0.0)
        self.assertEqual(pauses, [0.0, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0])
        # However long a list takes.
        for later in ("32", "34"):
            self.assertEqual(self.turn(bookmark(later), error_event(410, "Expired")), 30.0)
            self.turn(lambda: self.clock.advance(60), bookmark(later, ends=True))
        # Once a version has lasted for a while, as before an outage, there is no reason to wait.
        self.clock.advance(300)
        self.assertEqual(self.turn(bookmark("40"), error_event(410, "Expired")), 0.0)

    def test_ending_behind_events(self) -> None:
        """Watches that each end at once behind an event or a bookmark, as by something in between, do not follow each other without a pause."""
        self.sync("a")
        pauses = [self.turn(bookmark(str(version))) for version in range(10, 17)]
        self.assertEqual(pauses, [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
        self.assertEqual(self.turn(bookmark("20"), lambda: self.clock.advance(2)), 0.0)
        self.assertEqual(self.turn(bookmark("21")), 0.0)

    def test_errors_in_the_stream(self) -> None:
        """An ERROR event is retried at its version; the third one leads to a list."""
        self.sync("a")
        for _ in range(3):
            self.assertGreater(self.turn(error_event(500, "InternalError")), 0.0)
            self.assertEqual(self.last_query()["resourceVersion"], "5")
        self.turn(bookmark("9", ends=True))
        self.assertIn("sendInitialEvents", self.last_query())

    def test_error_asks_for_time(self) -> None:
        """The wait that an ERROR event or a refusal asks for is kept."""
        self.sync("a")
        self.assertEqual(self.turn(error_event(429, "TooManyRequests", retryAfterSeconds=17)), 17.0)
        self.assertEqual(self.turn(KubernetesError(503, "x", "x", 23.0)), 23.0)

    def test_broken_lines(self) -> None:
        """What is not JSON, or no event, is not used; what came before it is."""
        self.sync("a")
        for line in (
            b"{\n",
            b"\xff\n",
            b"[]\n",
            b'{"type": "ADDED", "object": {}}\n',
            b"[" * 100_000 + b"\n",
        ):
            self.setUp()
            self.sync("a")
            self.assertEqual(self.turn(added("b", "6") + line + added("c", "7")), 0.8)
            self.assertEqual(set(self.received.content), {"a", "b"})
            self.turn(bookmark("9"))
            self.assertEqual(self.last_query()["resourceVersion"], "6")

    def test_half_a_line(self) -> None:
        """A line without its end is not used, even when it is complete JSON."""
        self.sync("a")
        self.turn(added("b", "6"), added("c", "7").rstrip(b"\n"))
        self.assertEqual(set(self.received.content), {"a", "b"})
        self.turn(added("c", "7"))
        self.assertEqual(self.last_query()["resourceVersion"], "6")

    def test_silence(self) -> None:
        """A watch that fell silent is dead or quiet; the next one begins at once, without a list or a word."""
        self.sync("a")
        with capturedLogs() as events:
            self.assertEqual(self.turn(bookmark("6"), KubernetesError(0, SILENT, "no byte in time")), 0.0)
        (event,) = events
        self.assertIn("Service: nothing came", formatEvent(event))
        self.assertEqual(self.reflector.trouble, "")
        self.turn(bookmark("7"))
        self.assertEqual(self.last_query()["resourceVersion"], "6")

    def test_gone_back(self) -> None:
        """Behind a watch that sent nothing at all the present version is asked for: where that is an older one, all is listed anew."""
        silence = (lambda: self.clock.advance(75), KubernetesError(0, SILENT, "no byte in time"))
        self.sync("a", "b")
        for present in ("5", "6", "10", "x"):
            self.assertEqual(self.turn(*silence), 0.0)
            self.assertEqual(self.turn(page(present, [("a", "1a")], "t")), 0.0)
            self.assertEqual(self.last_query(), {"limit": "1"})
        self.turn(bookmark("100"), *silence)
        self.assertEqual(self.turn(*silence), 0.0)
        self.assertEqual(self.last_query()["resourceVersion"], "100")
        self.assertEqual(self.turn(page("99", [("a", "1a")])), 0.0)
        self.assertEqual(set(self.received.content), {"a", "b"})
        self.turn(added("a", "1a"), bookmark("99", ends=True))
        self.assertIn("sendInitialEvents", self.last_query())
        self.assertEqual(set(self.received.content), {"a"})
        self.turn(bookmark("101"))
        self.assertEqual(self.last_query()["resourceVersion"], "99")

    def test_same_version_after_going_back(self) -> None:
        """Behind that a list hands over each object: another change may have got the version that we know; then versions count again."""
        for steps in (
            [[bookmark("4")]],
            [[KubernetesError(504, "Timeout", "Too large resource version: 5, current: 4")]] * 3,
        ):
            self.setUp()
            self.sync("a", "b")
            for one in steps:
                self.turn(*one)
            self.received.told.clear()
            self.turn(added("a", "1a", "NodePort"), bookmark("4", ends=True))
            self.assertEqual(self.received.content, {"a": "NodePort"})
            self.turn(EXPIRED)
            self.turn(added("a", "1a"), bookmark("5", ends=True))
            self.assertEqual(self.received.told, ["+a", "-b", "synced Service", "synced Service"])

    def test_reconnects_of_a_quiet_kind(self) -> None:
        """A kind that is quiet is one reconnect for each watch, and not another for the question behind it."""
        self.sync("a")
        before = self.counts.reconnects
        for _ in range(3):
            self.turn(lambda: self.clock.advance(75), KubernetesError(0, SILENT, "no byte in time"))
            self.turn(page("5", []))
        self.turn(bookmark("6"))
        self.assertEqual(self.counts.reconnects - before, 4)

    def test_doubt_that_stays(self) -> None:
        """Where the present version cannot be had, for whatever reason, the watch goes on, and it is asked for behind the next silence."""
        silence = (lambda: self.clock.advance(75), KubernetesError(0, SILENT, "no byte in time"))
        self.sync("a")
        for answer, pause in (
            (KubernetesError(0, UNREACHABLE, "refused"), 0.8),
            (KubernetesError(500, "InternalError", "unable to transform key"), 0.8),
            (b"<html>", 0.8),
            (page("5", []), 0.0),
        ):
            self.turn(*silence)
            self.assertEqual(self.turn(answer), pause)
            self.assertEqual(self.last_query(), {"limit": "1"})
        self.turn(added("b", "6"))
        self.assertEqual(self.last_query()["resourceVersion"], "5")
        self.assertEqual(set(self.received.content), {"a", "b"})

    def test_list_that_is_forbidden(self) -> None:
        """Where a kind may be watched and not listed, which a streaming list does without, nothing is said of it, and the watch goes on."""
        silence = (lambda: self.clock.advance(75), KubernetesError(0, SILENT, "no byte in time"))
        self.sync("a")
        for _ in range(3):
            self.turn(*silence)
            self.assertEqual(self.turn(KubernetesError(403, "Forbidden", "cannot list")), 0.0)
            self.assertEqual((self.reflector.trouble, self.counts.refused_since), ("", None))
        self.turn(added("b", "6"))
        self.assertEqual(self.last_query()["resourceVersion"], "5")
        self.assertEqual(set(self.received.content), {"a", "b"})

    def test_bookmark_of_the_past(self) -> None:
        """So it is where a bookmark says so."""
        self.sync("a")
        self.assertEqual(self.turn(bookmark("4")), 0.0)
        self.turn(bookmark("4", ends=True))
        self.assertIn("sendInitialEvents", self.last_query())
        self.assertEqual(set(self.received.content), set())

    def test_reset(self) -> None:
        """A connection that breaks or cannot be made is tried again after a while, without a list."""
        self.sync("a")
        self.assertEqual(self.turn(bookmark("6"), KubernetesError(0, BROKEN, "reset")), 0.8)
        delays = [self.turn(KubernetesError(0, UNREACHABLE, "refused")) for _ in range(6)]
        self.assertEqual(delays, [1.6, 3.2, 6.4, 12.8, 25.6, 30.0])
        self.turn(bookmark("7"))
        self.assertEqual(self.last_query()["resourceVersion"], "6")
        self.assertEqual(set(self.received.content), {"a"})

    def test_version_of_the_future(self) -> None:
        """A version that the server refuses three times is left."""
        self.sync("a")
        for _ in range(3):
            self.turn(KubernetesError(504, "Timeout", "Too large resource version"))
        self.turn(bookmark("2", ends=True))
        self.assertIn("sendInitialEvents", self.last_query())
        self.assertEqual(self.received.content, {})

    def test_server_errors_keep_the_version(self) -> None:
        """However often the server fails, the watch is tried at its version."""
        self.sync("a")
        for _ in range(9):
            self.turn(KubernetesError(500, "InternalError", "etcd"))
        self.assertEqual(self.last_query()["resourceVersion"], "5")

    def test_bad_objects(self) -> None:
        """An object that cannot be used, or has no name, does not stop the stream."""
        self.sync("a")
        bad = service("b", "6")
        bad["spec"] = None
        nameless = service("", "7")
        with capturedLogs() as events:
            self.turn(event("MODIFIED", bad), event("ADDED", nameless), added("c", "8"))
        self.assertEqual(self.received.content, {"a": "ClusterIP", "b": "unusable", "c": "ClusterIP"})
        self.assertIn("without a name", " ".join(formatEvent(e) or "" for e in events))
        self.turn()
        self.assertEqual(self.last_query()["resourceVersion"], "8")

    def test_deletion_of_the_unknown(self) -> None:
        """The deletion of an object that was never handed over is not handed over."""
        self.sync("a")
        self.received.told.clear()
        self.turn(event("DELETED", service("z", "6")))
        self.assertEqual(self.received.told, [])


class StopTests(ReflectorTestCase):
    """The end."""

    def test_in_the_middle(self) -> None:
        """A stop while a stream is read ends the turn; nothing read after it is used or complained of."""
        self.sync("a")
        with capturedLogs() as events:
            self.assertEqual(self.turn(added("b", "6"), self.reflector.stop, added("c", "7")), 0.0)
        self.assertEqual(set(self.received.content), {"a", "b"})
        self.assertTrue(self.script.is_interrupted)
        self.assertEqual(events, [])

    def test_errors_of_the_interruption(self) -> None:
        """The error that breaking off causes is no loss of contact."""
        self.sync("a")
        with capturedLogs() as events:
            self.turn(self.reflector.stop, KubernetesError(0, BROKEN, "shut down"))
        self.assertEqual(events, [])

    def test_stopped_before_it_started(self) -> None:
        """A reflector that never ran has ended."""
        self.reflector.stop()
        self.assertTrue(self.reflector.join(0.0))


class BugTests(ReflectorTestCase):
    """Errors of our own."""

    def test_bug(self) -> None:
        """An exception that nobody expected is logged, and everything is listed again after a while."""
        self.sync("a")

        def fail() -> None:
            raise ZeroDivisionError

        self.assertEqual(self.turn(fail), 0.8)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.turn(added("a", "1a"), bookmark("6", ends=True))
        self.assertEqual(set(self.received.content), {"a"})

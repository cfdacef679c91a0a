"""What the reflector does when the API server refuses."""

from threading import Event

from twisted.logger import LogLevel, capturedLogs, formatEvent

from ingress.errors import KubernetesError
from ingress.model.cluster.objects import Kind
from tests.cluster.watching.reflector_case import ReflectorTestCase, added, bookmark, event


class RefusalTests(ReflectorTestCase):
    """Refused requests."""

    def test_unauthorized(self) -> None:
        """401 asks for new credentials, and waits."""
        self.assertEqual(self.turn(KubernetesError(401, "Unauthorized", "x")), 0.8)
        self.assertEqual(self.script.renewals, 1)

    def test_regained(self) -> None:
        """The first answer after errors is told."""
        self.turn(KubernetesError(503, "ServiceUnavailable", "x"))
        self.assertEqual(self.received.told_others, 0)
        self.turn(added("a", "1"), bookmark("5", ends=True))
        self.turn()
        self.assertEqual(self.received.told_others, 1)

    def test_roused(self) -> None:
        """The wait after an error ends when somebody else got an answer."""
        asked = Event()
        self.script.answers.append([KubernetesError(503, "ServiceUnavailable", "x")])
        self.reflector = self.make_reflector(backoff_seconds=60.0)
        self.script.answers.append([asked.set, self.reflector.stop])
        self.reflector.start()
        self.reflector.rouse()
        self.assertTrue(asked.wait(30))
        self.assertTrue(self.reflector.join(30))
        # The end of the thread closes the connection, which is the same object here.
        self.script.open_answers += 1

    def test_forbidden(self) -> None:
        """403 on a kind that is needed is tried again and holds back the sync."""
        for _ in range(9):
            self.assertLessEqual(self.turn(KubernetesError(403, "Forbidden", "x")), 60.0)
        self.assertEqual(self.received.told, [])

    def test_forbidden_while_watching(self) -> None:
        """When a right is taken away, the last state is kept."""
        self.sync("a")
        for _ in range(9):
            self.turn(KubernetesError(403, "Forbidden", "x"))
        self.assertEqual(set(self.received.content), {"a"})


class OptionalKindTests(ReflectorTestCase):
    """Kinds that we can do without."""

    kind = Kind.SECRET

    def test_forbidden(self) -> None:
        """403 counts as an empty list, with one warning, and is tried again at least twice a minute."""
        with capturedLogs() as events:
            delays = []
            for _ in range(10):
                delays.append(self.turn(KubernetesError(403, "Forbidden", "no")))
                self.clock.advance(100)
        self.assertEqual(delays, [0.8, 1.6, 3.2, 6.4, 12.8, 15.0, 15.0, 15.0, 15.0, 15.0])
        self.assertEqual(self.received.told[:2], ["+Secret", "refused Secret"])
        self.assertEqual([e["log_level"] for e in events], [LogLevel.warn])
        self.assertIn("403 Forbidden", formatEvent(events[0]))

    def test_forbidden_and_not_needed(self) -> None:
        """Where nobody needs the kind, that is no warning and no trouble, and said once."""
        self.reflector = self.make_reflector(is_dispensable=True)
        with capturedLogs() as events:
            for _ in range(10):
                self.turn(KubernetesError(403, "Forbidden", "no"))
                self.clock.advance(100)
        self.assertEqual(self.received.told[:1], ["refused Secret"])
        self.assertEqual([e["log_level"] for e in events], [LogLevel.info])
        self.assertIn("not needed", formatEvent(events[0]))
        self.assertEqual(self.reflector.trouble, "")

    def test_forbidden_for_a_moment(self) -> None:
        """One refusal does not stand for an empty list: an API server that has just started denies all."""
        self.turn(KubernetesError(403, "Forbidden", "no"))
        self.assertEqual(self.received.told, [])
        self.turn(KubernetesError(403, "Forbidden", "no"))
        self.assertEqual(self.received.told, ["refused Secret"])

    def test_allowed_later(self) -> None:
        """When the right is given, the objects come, and it is said again that the list is complete."""
        self.turn(KubernetesError(403, "Forbidden", "no"))
        self.turn(KubernetesError(403, "Forbidden", "no"))
        secret = {"metadata": {"name": "t", "namespace": "shop", "resourceVersion": "1"}, "data": {}}
        self.turn(event("ADDED", secret), bookmark("5", ends=True))
        self.assertEqual(self.received.told, ["refused Secret", "+t", "synced Secret"])

    def test_watch_allowed_later(self) -> None:
        """So it is where the list was permitted all the time, and the watch behind it is now."""
        secret = {"metadata": {"name": "t", "namespace": "shop", "resourceVersion": "1"}, "data": {}}
        self.turn(event("ADDED", secret), bookmark("5", ends=True))
        self.turn(KubernetesError(403, "Forbidden", "no"))
        self.turn(KubernetesError(403, "Forbidden", "no"))
        self.turn(bookmark("6"))
        self.turn(bookmark("7"))
        self.assertEqual(self.received.told, ["+t", "synced Secret", "refused Secret", "synced Secret"])

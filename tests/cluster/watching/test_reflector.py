"""Tests for ``ingress.cluster.watching.reflector``: one turn after the other, by script and without threads."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from threading import Event, Lock
from typing import Any, cast

from attrs import Factory, define
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_client import ApiConnection
from ingress.cluster.api.api_status import BROKEN, SILENT, UNREACHABLE
from ingress.cluster.api.backoff import Backoff
from ingress.cluster.kinds import KINDS
from ingress.cluster.watching.reflector import Reflector
from ingress.errors import KubernetesError
from ingress.metrics.watch import ReflectorCounts
from ingress.model.objects import Batch, Kind, Projection, Service

Step = bytes | KubernetesError | Callable[[], None]
EXPIRED = KubernetesError(410, "Expired", "too old resource version")


@define
class Script:
    """A connection that answers each request with what the test wrote down.

    An answer is a list of steps: bytes to read, an error to raise, or something to do; an
    error as the first step refuses the request.
    """

    answers: list[list[Step]] = Factory(list)
    queries: list[dict[str, str]] = Factory(list)
    renewals: int = 0
    is_interrupted: bool = False
    _steps: list[Step] = Factory(list)
    open_answers: int = 0

    def get(self, path: str, query: list[tuple[str, str]]) -> "Script":
        self.queries.append(dict(query))
        self._steps = self.answers.pop(0)
        if self._steps and isinstance(self._steps[0], KubernetesError):
            raise self._steps[0]
        self.open_answers += 1
        return self

    def read_chunk(self) -> bytes:
        while self._steps:
            step = self._steps.pop(0)
            if isinstance(step, KubernetesError):
                raise step
            if isinstance(step, bytes):
                return step
            step()
        return b""

    def read_all(self) -> bytes:
        return b"".join(iter(self.read_chunk, b""))

    def close(self) -> None:
        self.open_answers -= 1

    def renew_credentials(self) -> None:
        self.renewals += 1

    def interrupt(self) -> None:
        self.is_interrupted = True


@define
class Received:
    """What was handed over."""

    content: dict[str, str] = Factory(dict)
    told: list[str] = Factory(list)
    told_others: int = 0
    is_behind: bool = False

    def put(self, changes: Batch) -> None:
        for (kind, key), projection in changes.items():
            if projection is None:
                self.told.append(f"-{key.name}")
                del self.content[key.name]
            else:
                value = projection.value
                self.content[key.name] = value.type if isinstance(value, Service) else "unusable"
                self.told.append(f"+{key.name}")
            assert kind is Kind.SERVICE or projection is None or isinstance(projection, Projection)

    def synced(self, name: str) -> None:
        self.told.append(f"synced {name}")

    def regained(self) -> None:
        self.told_others += 1


def service(name: str, version: str, service_type: str = "ClusterIP") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "shop", "resourceVersion": version},
        "spec": {"type": service_type, "clusterIP": "10.0.0.1", "ports": [{"port": 80}]},
    }


def event(event_type: str, raw: dict[str, Any]) -> bytes:
    return json.dumps({"type": event_type, "object": raw}).encode() + b"\n"


def added(name: str, version: str, service_type: str = "ClusterIP") -> bytes:
    return event("ADDED", service(name, version, service_type))


def bookmark(version: str, *, ends: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if ends else {}
    return event("BOOKMARK", {"metadata": {"resourceVersion": version, "annotations": annotations}})


def error_event(code: int, reason: str, **details: object) -> bytes:
    return event("ERROR", {"kind": "Status", "code": code, "reason": reason, "details": details})


def page(version: str, names: Iterable[tuple[str, str]], following: str = "") -> bytes:
    return json.dumps(
        {
            "metadata": {"resourceVersion": version, "continue": following},
            "items": [service(name, object_version) for name, object_version in names],
        }
    ).encode()


class ReflectorTestCase(SynchronousTestCase):
    """A reflector on a script."""

    kind = Kind.SERVICE

    def setUp(self) -> None:
        self.clock = Clock()
        self.script = Script()
        self.received = Received()
        self.counts = ReflectorCounts(self.kind, "", self.clock.seconds)
        self.reflector = Reflector(
            KINDS[self.kind],
            "",
            cast(ApiConnection, self.script),
            self.received,
            "nginx.ingress.kubernetes.io",
            decoding=Lock(),
            clock=self.clock.seconds,
            random=lambda: 0.0,
            counts=self.counts,
            regained=self.received.regained,
        )

    def tearDown(self) -> None:
        self.assertEqual(self.script.open_answers, 0, "an answer was not closed")

    def turn(self, *steps: Step) -> float:
        """Make a turn whose request is answered so."""
        self.script.answers.append(list(steps))
        return self.reflector.turn()

    def last_query(self) -> dict[str, str]:
        return self.script.queries[-1]

    def sync(self, *names: str) -> None:
        """Bring these Services, at version 5, and leave the reflector before its first watch."""
        self.turn(*(added(name, f"1{name}") for name in names), bookmark("5", ends=True))
        self.clock.advance(60)


class StreamingListTests(ReflectorTestCase):
    """The list that is a watch."""

    def test_list_then_watch(self) -> None:
        """The stream goes on after the initial events, and the next watch begins at its last version."""
        delay = self.turn(
            added("a", "3"), added("b", "1"), bookmark("5", ends=True), added("c", "6"), bookmark("8")
        )
        self.assertEqual(delay, 0.0)
        self.assertEqual(self.received.told, ["+a", "+b", "synced Service", "+c"])
        self.turn()
        self.assertEqual(self.last_query()["resourceVersion"], "8")
        self.assertNotIn("sendInitialEvents", self.last_query())

    def test_one_chunk(self) -> None:
        """How the events are cut into chunks does not matter."""
        self.turn(added("a", "3") + bookmark("5", ends=True) + event("DELETED", service("a", "6")))
        self.assertEqual(self.received.told, ["+a", "synced Service", "-a"])
        stream = added("b", "7") + b"\n" + added("c", "8")
        self.turn(*(stream[at : at + 1] for at in range(len(stream))))
        self.assertEqual(set(self.received.content), {"b", "c"})

    def test_broken_off(self) -> None:
        """A list that broke off deletes nothing and is not continued but begun again."""
        self.sync("a", "b")
        self.turn(EXPIRED)
        self.assertGreater(self.turn(added("c", "7"), KubernetesError(0, BROKEN, "reset")), 0)
        self.assertEqual(set(self.received.content), {"a", "b", "c"})
        self.turn(added("a", "1a"), bookmark("9", ends=True))
        self.assertEqual(self.script.queries[-1].get("sendInitialEvents"), "true")
        self.assertEqual(set(self.received.content), {"a"})

    def test_initial_events_do_not_move_the_version(self) -> None:
        """After a broken initial list the reflector does not watch from one of its events."""
        self.turn(added("a", "3"), KubernetesError(0, BROKEN, "reset"))
        self.turn()
        self.assertNotIn("resourceVersion", self.last_query())

    def test_refused(self) -> None:
        """Where streaming lists are invalid, the list comes in pages, at once and from then on."""
        self.assertEqual(self.turn(KubernetesError(422, "Invalid", "sendInitialEvents")), 0.0)
        self.turn(page("5", [("a", "3")]))
        self.assertEqual(self.last_query(), {"limit": "250"})
        self.turn(EXPIRED)
        self.turn(page("6", [("a", "3")]))
        self.assertEqual(self.last_query(), {"limit": "250"})

    def test_other_refusals_do_not_count(self) -> None:
        """Missing rights, overload, expiry and server errors say nothing about streaming lists."""
        for status in (401, 403, 410, 429, 500, 503):
            self.turn(KubernetesError(status, "x", "x"))
            self.turn(KubernetesError(500, "x", "x"))
            self.assertIn("sendInitialEvents", self.last_query())

    def test_no_end(self) -> None:
        """Silence, a proper end or a plain bookmark instead of the end lead to pages."""
        for steps in ([KubernetesError(0, SILENT, "x")], [], [bookmark("4")]):
            self.setUp()
            self.turn(added("a", "3"), *steps)
            self.turn(page("5", []))
            self.assertEqual(self.last_query(), {"limit": "250"})
            self.assertEqual(self.received.told, ["+a", "-a", "synced Service"])

    def test_garbage_again_and_again(self) -> None:
        """A streaming list that comes to nothing three times is given up for pages."""
        for _ in range(3):
            self.assertIn("sendInitialEvents", (self.turn(b"<html>\n"), self.last_query())[1])
        self.turn(page("5", []))
        self.assertEqual(self.last_query(), {"limit": "250"})


class PagedListTests(ReflectorTestCase):
    """The list in pages."""

    def setUp(self) -> None:
        super().setUp()
        self.turn(KubernetesError(422, "Invalid", "sendInitialEvents"))

    def pages(self, *pages: Step) -> float:
        """Make a turn that asks for these pages one by one."""
        self.script.answers.extend([step] for step in pages)
        return self.reflector.turn()

    def test_pages(self) -> None:
        """Pages are handed over as they come; the last one's version is watched from."""
        self.pages(page("5", [("a", "1")], "t1"), page("5", [("b", "2")], "t2"), page("6", [("c", "3")]))
        self.assertEqual([query.get("continue") for query in self.script.queries[1:]], [None, "t1", "t2"])
        self.assertEqual(self.received.told, ["+a", "+b", "+c", "synced Service"])
        self.turn()
        self.assertEqual(self.last_query()["resourceVersion"], "6")

    def test_expired_page(self) -> None:
        """A page that expired begins the list again, without its token and with nothing deleted."""
        self.pages(page("5", [("a", "1"), ("b", "2")]))
        self.turn(EXPIRED)
        self.assertEqual(self.pages(page("7", [("c", "3")], "t"), EXPIRED), 0.8)
        self.assertEqual(set(self.received.content), {"a", "b", "c"})
        self.pages(page("8", [("b", "2"), ("c", "3")]))
        self.assertNotIn("continue", self.last_query())
        self.assertEqual(set(self.received.content), {"b", "c"})

    def test_pages_expire_again(self) -> None:
        """When pages expire twice in a row, the whole list is asked for; pages come back after it."""
        for _ in range(2):
            self.pages(page("7", [], "t"), EXPIRED)
        self.pages(page("8", []))
        self.assertEqual(self.last_query(), {})
        self.turn(bookmark("9"))
        self.turn(EXPIRED)
        self.pages(page("10", []))
        self.assertEqual(self.last_query(), {"limit": "250"})

    def test_incomplete_page(self) -> None:
        """A page that broke off, or is no list, changes nothing and is asked for again after a while."""
        self.pages(page("5", [("a", "1")]))
        self.turn(EXPIRED)
        for broken in (b'{"items": [', b"[]", b'{"items": []}'):
            self.assertGreater(self.pages(broken), 0.0)
        self.assertEqual(set(self.received.content), {"a"})


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
        self.script.answers.append([asked.set, self.reflector.stop])
        self.reflector._backoff = Backoff(self.clock.seconds, lambda: 0.0, first_seconds=60.0)
        self.reflector.start()
        self.reflector.rouse()
        self.assertTrue(asked.wait(5))
        self.assertTrue(self.reflector.join(5))
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
        self.assertTrue(self.reflector.is_refused)
        self.assertEqual(delays, [0.8, 1.6, 3.2, 6.4, 12.8, 15.0, 15.0, 15.0, 15.0, 15.0])
        self.assertEqual(self.received.told[:2], ["+Secret", "synced Secret"])
        self.assertEqual([e["log_level"] for e in events], [LogLevel.warn])
        self.assertIn("403 Forbidden", formatEvent(events[0]))

    def test_forbidden_for_a_moment(self) -> None:
        """One refusal does not stand for an empty list: an API server that has just started denies all."""
        self.turn(KubernetesError(403, "Forbidden", "no"))
        self.assertEqual(self.received.told, [])
        self.turn(KubernetesError(403, "Forbidden", "no"))
        self.assertEqual(self.received.told, ["synced Secret"])

    def test_allowed_later(self) -> None:
        """When the right is given, the objects come, and it is said again that the list is complete."""
        self.turn(KubernetesError(403, "Forbidden", "no"))
        self.turn(KubernetesError(403, "Forbidden", "no"))
        secret = {"metadata": {"name": "t", "namespace": "shop", "resourceVersion": "1"}, "data": {}}
        self.turn(event("ADDED", secret), bookmark("5", ends=True))
        self.assertEqual(self.received.told, ["synced Secret", "+t", "synced Secret"])
        self.assertFalse(self.reflector.is_refused)


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

        for version in "67":
            self.assertEqual(len(self.lines(partial(turns, version))), 1)

    def test_no_streaming_list(self) -> None:
        """An API server without streaming lists is no news."""
        lines = self.lines(
            lambda: (self.turn(KubernetesError(422, "Invalid", "x")), self.turn(page("5", [("a", "1")])))
        )
        self.assertEqual(lines, ["Service: synced, 1 objects"])

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

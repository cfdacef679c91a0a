"""Tests for ``ingress.cluster.secrets.secret_reader``: its schedule, with threads that stand still."""

from collections.abc import Callable
from threading import Lock
from typing import Any, cast

from twisted.internet.task import Clock
from twisted.logger import capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_client import ApiConnection
from ingress.cluster.kinds import KINDS
from ingress.cluster.secrets.secret_reader import (
    RECALLED_AT_ONCE,
    RETRIES_PER_SECOND,
    ObjectReader,
    _Request,
)
from ingress.cluster.secrets.watched_secrets import WatchedObjects
from ingress.errors import KubernetesError
from ingress.model.cluster.objects import Kind, ObjectKey, Projection, Secret
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.secrets import TLS_KEYS

KEY = ObjectKey("shop", "tls")
FOUND = Projection(Secret(KEY, "Opaque", {"tls.crt": b"1"}))
FORBIDDEN = KubernetesError(403, "Forbidden", "no")
UNREACHABLE = KubernetesError(0, "Unreachable", "refused")


class StillReader(ObjectReader):
    """A reader whose threads never start: the test takes requests from the queue and answers them."""

    def _start_threads(self) -> None:
        pass

    def requests(self) -> list[_Request]:
        found = []
        while not self._queue.empty():
            request = self._queue.get()
            assert request is not None
            found.append(request)
        return found

    def answer(self, outcome: Projection | KubernetesError | None) -> _Request:
        (request,) = self.requests()
        self.answered(request, outcome)
        return request


class ObjectReaderTests(SynchronousTestCase):
    """When a Secret is asked for."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.watched = WatchedObjects()
        self.delivered: list[Projection | None] = []
        self.changes: list[int] = []
        self.reader = StillReader(
            self.clock,
            cast(Callable[[], ApiConnection], None),
            KINDS[Kind.SECRET],
            self.watched,
            deliver=lambda key, projection: self.delivered.append(projection),
            changed=lambda: self.changes.append(self.reader.unread),
            decoding=Lock(),
            clock=self.clock.seconds,
            random=lambda: 0.0,
        )
        self.addCleanup(self.check_clean)

    def check_clean(self) -> None:
        self.reader.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def read(self, outcome: Any = FOUND) -> _Request:
        self.watched.need(KEY, TLS_KEYS)
        self.reader.read(KEY, TLS_KEYS)
        return self.reader.answer(outcome)

    def asked_after(self, seconds: float) -> None:
        """Nothing is asked before so many seconds, and something then."""
        self.clock.advance(seconds - 0.01)
        self.assertEqual(self.reader.requests(), [])
        self.clock.advance(0.02)
        self.assertEqual(len(self.reader.requests()), 1)

    def test_found(self) -> None:
        """A Secret is asked for at once, with the keys needed, delivered, and refreshed after minutes."""
        request = self.read()
        self.assertEqual(request.keys, TLS_KEYS)
        self.assertEqual((self.delivered, self.changes, self.reader.unread), ([FOUND], [0], 0))
        self.asked_after(240)

    def test_passwords_are_refreshed_sooner(self) -> None:
        """A Secret of which other keys are needed than those of certificates is read again each minute."""
        self.watched.need(KEY, frozenset({"auth"}))
        self.reader.read(KEY, frozenset({"auth"}))
        self.reader.answer(FOUND)
        self.asked_after(48)

    def test_many_are_refreshed_less_often(self) -> None:
        """Ten are read again in a second; of hundreds each waits its turn, and none for more than half a minute."""
        self.reader = StillReader(
            self.clock,
            cast(Callable[[], ApiConnection], None),
            KINDS[Kind.CONFIG_MAP],
            self.watched,
            deliver=lambda key, projection: None,
            changed=lambda: None,
            decoding=Lock(),
            clock=self.clock.seconds,
            random=lambda: 0.5,
            refresh_seconds=10.0,
        )
        for count, seconds in ((1, 10.0), (199, 20.0), (1000, 30.0)):
            for number in range(count):
                self.reader.read(ObjectKey("shop", f"map-{count}-{number}"), frozenset())
            *_, last = self.reader.requests()
            for request in (*self.reader.requests(), last):
                self.reader.answered(request, FOUND)
            self.clock.advance(seconds - 0.01)
            self.assertNotIn(last.reading, [request.reading for request in self.reader.requests()])
            self.clock.advance(0.02)
            self.assertIn(last.reading, [request.reading for request in self.reader.requests()])

    def test_missing(self) -> None:
        """A Secret that does not exist is delivered as that, and looked for again soon, then less and less often."""
        self.read(None)
        self.assertEqual(self.delivered, [None])
        for seconds in (2, 4, 8, 16, 32, 64, 128, 256, 300, 300):
            # The random factor is the smallest here, 0.8.
            self.clock.advance(seconds * 0.8 - 0.01)
            self.assertEqual(self.reader.requests(), [])
            self.clock.advance(0.02)
            self.reader.answer(None)
        self.clock.advance(240.1)
        self.reader.answer(FOUND)
        self.assertEqual(self.delivered[-1], FOUND)
        self.asked_after(240)

    def test_missing_and_touched(self) -> None:
        """When the Ingress changes, a missing Secret is looked for at once, and then as soon as at first."""
        self.read(None)
        for seconds in (2, 4, 8, 16):
            self.clock.advance(seconds)
            self.reader.answer(None)
        self.reader.touch(KEY)
        self.clock.advance(1.01)
        self.reader.answer(None)
        self.clock.advance(1.61)
        self.reader.answer(None)

    def test_many_missing(self) -> None:
        """However many Secrets are missing, so many a second are looked for; other namespaces do not wait for them."""
        for number in range(3_000):
            key = ObjectKey("many", f"t{number}")
            self.reader.read(key, TLS_KEYS)
        for request in self.reader.requests():
            self.reader.answered(request, None)
        asked = 0
        for _ in range(60):
            self.clock.pump([0.025] * 40)
            requests = self.reader.requests()
            self.assertLessEqual(len(requests), RETRIES_PER_SECOND + 1)
            asked += len(requests)
            for request in requests:
                self.reader.answered(request, None)
        self.assertGreater(asked, 2_000)
        self.reader.read(KEY, TLS_KEYS)
        self.reader.answer(None)
        self.clock.pump([0.025] * 80)
        self.assertEqual([r.reading.key for r in self.reader.requests()].count(KEY), 1)

    def test_errors(self) -> None:
        """An error delivers nothing, keeps the first sync waiting, and is tried again ever later."""
        self.read(UNREACHABLE)
        for seconds in (0.8, 1.6, 3.2):
            self.clock.advance(seconds + 0.01)
            self.reader.answer(UNREACHABLE)
        self.assertEqual((self.delivered, self.changes, self.reader.unread), ([], [], 1))
        self.assertIn("refused", self.reader.trouble)
        self.clock.advance(6.5)
        self.reader.answer(FOUND)
        self.assertEqual((self.delivered, self.changes, self.reader.trouble), ([FOUND], [0], ""))

    def test_error_keeps_what_was_read(self) -> None:
        """An error after a success takes nothing away."""
        self.read()
        self.clock.advance(241)
        self.reader.answer(KubernetesError(500, "InternalError", "etcd"))
        self.assertEqual(self.delivered, [FOUND])

    def test_forbidden(self) -> None:
        """A Secret that is forbidden twice is told as that, once, and asked for at least twice a minute."""
        with capturedLogs() as events:
            self.read(FORBIDDEN)
        self.assertEqual((self.delivered, self.changes, self.reader.unread), ([], [], 1))
        self.clock.advance(0.81)
        self.reader.answer(FORBIDDEN)
        (projection,) = self.delivered
        assert projection is not None
        self.assertEqual([problem.reason for problem in projection.problems], [Reason.SECRET_FORBIDDEN])
        self.assertEqual((self.changes, self.reader.forbidden), ([0], {KEY}))
        for seconds in (1.6, 3.2, 6.4, 12.8, 15.0, 15.0):
            self.clock.advance(seconds + 0.01)
            self.reader.answer(FORBIDDEN)
        self.assertEqual((len(self.delivered), len(self.changes)), (1, 1))
        # It is a problem of that Secret, and no trouble of the API server.
        self.assertEqual((events, self.reader.trouble), ([], ""))

    def forbid(self, *keys: ObjectKey) -> None:
        """Have these read, and refused twice."""
        for key in keys:
            self.reader.read(key, TLS_KEYS)
        for _ in range(2):
            self.clock.pump([0.1] * 10)
            for request in self.reader.requests():
                self.reader.answered(request, FORBIDDEN)
        self.assertEqual(self.reader.forbidden, set(keys))

    def test_permitted(self) -> None:
        """When one Secret comes to be permitted, the others of its namespace are asked for at once, and awaited."""
        keys = [ObjectKey("shop", f"t{number}") for number in range(100)]
        self.forbid(*keys, ObjectKey("other", "t"))
        self.assertEqual(self.reader.unread, 0)
        while not (requests := self.reader.requests()):
            self.clock.advance(0.1)
        self.changes.clear()
        self.reader.answered(requests[0], FOUND)
        asked = {request.reading.key for request in [*requests, *self.reader.requests()]}
        self.assertEqual(asked, set(keys))
        self.assertEqual(
            (self.reader.forbidden, self.reader.unread), ({ObjectKey("other", "t")} | set(keys[1:]), 99)
        )
        self.assertEqual(self.changes, [99])

    def test_very_many_permitted(self) -> None:
        """Of very many some are asked for in a turn, each once, but for those of which there is word meanwhile, or that nobody needs."""
        keys = [ObjectKey("shop", f"t{number}") for number in range(3 * RECALLED_AT_ONCE)]
        self.forbid(*keys)
        while not (requests := self.reader.requests()):
            self.clock.advance(0.1)
        self.reader.answered(requests[0], FOUND)
        self.assertEqual(self.reader.unread, len(keys) - 1)
        first = self.reader.requests()
        self.assertLessEqual(len(first), RECALLED_AT_ONCE)
        asked = [request.reading.key for request in [*requests, *first]]
        seen, forgotten = [key for key in keys if key not in asked][:2]
        self.watched.need(seen, TLS_KEYS)
        self.watched.present(seen)
        self.reader.seen(seen)
        self.reader.forget(forgotten)
        # All turns that follow: for a clock that stands still they are one.
        self.clock.advance(0)
        asked += [request.reading.key for request in self.reader.requests()]
        self.assertEqual(len(asked), len(set(asked)))
        self.assertEqual(set(asked), set(keys) - {seen, forgotten})

    def test_permitted_alone(self) -> None:
        """When the only Secret that was forbidden comes to be permitted, whoever waits learns of it."""
        self.forbid(KEY)
        self.changes.clear()
        self.clock.advance(2)
        self.reader.answer(None)
        self.assertEqual((self.reader.forbidden, self.changes), (set(), [0]))

    def test_forbidden_and_watched(self) -> None:
        """A Secret that is forbidden by name and comes by a watch is not asked for any more."""
        self.watched.need(KEY, TLS_KEYS)
        self.forbid(KEY)
        self.changes.clear()
        self.watched.present(KEY)
        self.reader.seen(KEY)
        self.assertEqual((self.reader.forbidden, self.changes), (set(), [0]))
        self.clock.advance(1000)
        self.assertEqual(self.reader.requests(), [])

    def test_refusal_overtaken_by_the_watch(self) -> None:
        """A refusal that comes after the watch brought the Secret says nothing."""
        self.watched.need(KEY, TLS_KEYS)
        self.reader.read(KEY, TLS_KEYS)
        self.watched.present(KEY)
        self.reader.seen(KEY)
        self.reader.answer(FORBIDDEN)
        self.clock.advance(1000)
        self.assertEqual((self.delivered, self.reader.requests()), ([], []))

    def test_refusals_of_one_whose_event_is_on_its_way(self) -> None:
        """Nor does one say anything that was asked for after the watch saw the Secret, and comes after the watch brought it."""
        self.watched.need(KEY, TLS_KEYS)
        self.reader.read(KEY, TLS_KEYS)
        self.watched.present(KEY)
        self.reader.answer(FORBIDDEN)
        self.clock.advance(1)
        self.reader.seen(KEY)
        self.reader.answer(FORBIDDEN)
        self.clock.advance(1000)
        self.assertEqual((self.delivered, self.reader.forbidden, self.reader.requests()), ([], set(), []))

    def test_refusal_of_what_the_watch_has_not_brought(self) -> None:
        """If more is needed of it meanwhile than the watch may have brought, a refusal is told of."""
        self.watched.need(KEY, TLS_KEYS)
        self.reader.read(KEY, TLS_KEYS)
        self.reader.seen(KEY)
        self.reader.read(KEY, TLS_KEYS | {"ca.crt"})
        for _ in range(2):
            self.reader.answer(FORBIDDEN)
            self.clock.advance(2)
        self.assertEqual(self.reader.forbidden, {KEY})

    def test_broken_secret(self) -> None:
        """A Secret that the API server fails on three times does not hold back the first sync any more."""
        error = KubernetesError(500, "InternalError", "cannot decrypt")
        self.read(error)
        self.clock.advance(0.9)
        self.reader.answer(error)
        self.assertEqual(self.changes, [])
        self.clock.advance(1.7)
        self.reader.answer(error)
        self.assertEqual(self.changes, [0])

    def test_retry_after(self) -> None:
        """The wait that the API server asks for is kept."""
        self.read(KubernetesError(429, "TooManyRequests", "x", 17.0))
        self.asked_after(17)

    def test_many_errors_are_one_line(self) -> None:
        """The same error about many Secrets is said once."""
        with capturedLogs() as events:
            for number in range(5):
                key = ObjectKey("shop", f"t{number}")
                self.reader.read(key, TLS_KEYS)
                self.reader.answer(KubernetesError(500, "InternalError", f"{key.name} cannot be decrypted"))
        self.assertEqual(len(events), 1)

    def test_overtaken_by_the_watch(self) -> None:
        """An answer that an event overtook is thrown away, and nobody goes on before the event has come."""
        self.watched.need(KEY, TLS_KEYS)
        self.reader.read(KEY, TLS_KEYS)
        self.watched.present(KEY)
        self.reader.answer(FOUND)
        self.assertEqual((self.delivered, self.reader.unread), ([], 1))
        self.reader.seen(KEY)
        self.assertEqual((self.delivered, self.reader.unread), ([], 0))
        self.clock.advance(1000)
        self.assertEqual(self.reader.requests(), [])

    def test_overtaken_by_an_event_that_does_not_come(self) -> None:
        """It is asked for again, and the answer counts."""
        self.watched.need(KEY, TLS_KEYS)
        self.reader.read(KEY, TLS_KEYS)
        self.watched.present(KEY)
        self.reader.answer(FOUND)
        self.clock.advance(1)
        self.reader.answer(FOUND)
        self.assertEqual((self.delivered, self.reader.unread), ([FOUND], 0))

    def test_watched_secrets_are_not_refreshed(self) -> None:
        """What a watch sees is read once, neither later nor when its Ingress changes."""
        self.watched.need(KEY, TLS_KEYS)
        self.watched.present(KEY)
        self.reader.read(KEY, TLS_KEYS)
        self.reader.answer(FOUND)
        self.assertEqual(self.delivered, [FOUND])
        self.reader.touch(KEY)
        self.clock.advance(1000)
        self.assertEqual(self.reader.requests(), [])

    def test_watch_takes_over(self) -> None:
        """A refresh that is due is left out when a watch has come to see the Secret."""
        self.read()
        self.watched.present(KEY)
        self.clock.advance(1000)
        self.assertEqual(self.reader.requests(), [])

    def test_touched(self) -> None:
        """A touched Secret is read again after a second, however often it is touched meanwhile."""
        self.read()
        for _ in range(9):
            self.reader.touch(KEY)
            self.clock.advance(0.1)
        self.assertEqual(self.reader.requests(), [])
        self.clock.advance(0.2)
        self.reader.answer(FOUND)
        self.asked_after(240)

    def test_touched_while_asked(self) -> None:
        """A Secret that is touched while it is asked for is asked for once more, after a second."""
        self.watched.need(KEY, TLS_KEYS)
        self.reader.read(KEY, TLS_KEYS)
        self.reader.touch(KEY)
        self.reader.answer(FOUND)
        self.asked_after(1)

    def test_touched_after_an_error(self) -> None:
        """Being touched does not shorten the wait after an error."""
        self.read(FORBIDDEN)
        self.reader.touch(KEY)
        self.asked_after(0.8)

    def test_more_keys(self) -> None:
        """A Secret of which more is needed is read again at once, also when it is being asked for."""
        self.watched.need(KEY, TLS_KEYS)
        self.reader.read(KEY, TLS_KEYS)
        self.reader.read(KEY, TLS_KEYS | {"ca.crt"})
        self.reader.answer(FOUND)
        self.clock.advance(0)
        self.assertEqual(self.reader.answer(FOUND).keys, TLS_KEYS | {"ca.crt"})
        self.reader.read(KEY, TLS_KEYS)
        self.assertEqual(self.reader.answer(FOUND).keys, TLS_KEYS)

    def test_forgotten(self) -> None:
        """What comes for a forgotten Secret is thrown away, and nothing is asked any more."""
        self.reader.read(KEY, TLS_KEYS)
        self.reader.forget(KEY)
        self.assertEqual(self.reader.unread, 0)
        self.reader.answer(FOUND)
        self.assertEqual((self.delivered, self.clock.getDelayedCalls()), ([], []))
        self.reader.forget(KEY)

    def test_forgotten_and_read_again(self) -> None:
        """The answer to a request from before a Secret was forgotten is not taken for the new one."""
        self.reader.read(KEY, TLS_KEYS)
        self.reader.forget(KEY)
        self.reader.read(KEY, TLS_KEYS)
        old, new = self.reader.requests()
        self.reader.answered(old, None)
        self.assertEqual(self.delivered, [])
        self.reader.answered(new, FOUND)
        self.assertEqual(self.delivered, [FOUND])

    def test_stopped(self) -> None:
        """After a stop nothing is delivered or asked."""
        self.reader.read(KEY, TLS_KEYS)
        (request,) = self.reader.requests()
        self.reader.stop()
        self.reader.answered(request, FOUND)
        self.reader.read(ObjectKey("shop", "other"), TLS_KEYS)
        self.assertEqual((self.delivered, self.reader.requests()), ([], []))

"""Tests for ``ingress.cluster.secret_reader``: its schedule, with threads that stand still."""

from collections.abc import Callable
from threading import Lock
from typing import Any, cast

from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api_client import ApiConnection
from ingress.cluster.kinds import KINDS
from ingress.cluster.secret_reader import SecretReader, _Request
from ingress.cluster.watched_secrets import WatchedSecrets
from ingress.errors import KubernetesError
from ingress.model.objects import Kind, ObjectKey, Projection, Secret
from ingress.model.secrets import TLS_KEYS

KEY = ObjectKey("shop", "tls")
FOUND = Projection(Secret(KEY, "Opaque", {"tls.crt": b"1"}))
FORBIDDEN = KubernetesError(403, "Forbidden", "no")
UNREACHABLE = KubernetesError(0, "Unreachable", "refused")


class StillReader(SecretReader):
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
        self._answered(request, outcome)
        return request


class SecretReaderTests(SynchronousTestCase):
    """When a Secret is asked for."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.watched = WatchedSecrets()
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

    def test_missing(self) -> None:
        """A Secret that does not exist is delivered as that, and looked for again."""
        self.read(None)
        self.assertEqual(self.delivered, [None])
        self.asked_after(240)

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
        """A Secret that is forbidden twice does not hold back the first sync, and is soon asked for rarely."""
        with capturedLogs() as events:
            self.read(FORBIDDEN)
        self.assertEqual((self.delivered, self.changes), ([], []))
        self.clock.advance(0.81)
        self.reader.answer(FORBIDDEN)
        self.assertEqual((self.delivered, self.changes), ([], [0]))
        self.clock.advance(1.61)
        self.reader.answer(FORBIDDEN)
        self.assertIn("shop/tls: 403 Forbidden: no", formatEvent(events[0]))
        self.asked_after(60)

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
                self.reader.answer(KubernetesError(403, "Forbidden", f"secrets {key.name} is forbidden"))
        self.assertEqual(len(events), 1)

    def test_overtaken_by_the_watch(self) -> None:
        """An answer that an event overtook is thrown away."""
        self.watched.need(KEY, TLS_KEYS)
        self.reader.read(KEY, TLS_KEYS)
        self.watched.present(KEY)
        self.reader.answer(FOUND)
        self.assertEqual((self.delivered, self.reader.unread), ([], 0))

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
        self.reader._answered(old, None)
        self.assertEqual(self.delivered, [])
        self.reader._answered(new, FOUND)
        self.assertEqual(self.delivered, [FOUND])

    def test_stopped(self) -> None:
        """After a stop nothing is delivered or asked."""
        self.reader.read(KEY, TLS_KEYS)
        (request,) = self.reader.requests()
        self.reader.stop()
        self.reader._answered(request, FOUND)
        self.reader.read(ObjectKey("shop", "other"), TLS_KEYS)
        self.assertEqual((self.delivered, self.reader.requests()), ([], []))

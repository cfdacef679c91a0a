"""Limits of clients, and proofs of passwords, with several workers: two beside each other, as each has its filters."""

from collections.abc import Callable, Hashable
from inspect import iscoroutine
from typing import Any, TypeVar

from attrs import define, field
from twisted.internet.defer import Deferred, succeed
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.asked_urls import parse_url_template
from ingress.annotations.external_auth.cache import USUAL_DURATIONS
from ingress.annotations.external_auth.check import AuthCaching, ExternalAuth
from ingress.annotations.passwords.basic_check import PasswordCheck
from ingress.annotations.passwords.digest_check import NONCE_SECONDS, DigestCheck
from ingress.annotations.rate_limits.family import ConnectionLimit, RequestLimit
from ingress.annotations.shared_limits import shared_limits
from ingress.filters import Filter, Scope
from ingress.model.exchanges.sub_requests import SubAnswer, SubRequest
from ingress.model.requests.templates import read_template
from ingress.process.shared.limit_memory import LimitMemory
from ingress.proxy.exchange.filtering.services import States
from tests.annotations.passwords.test_digest_check import FILE, REALM, Client
from tests.annotations.passwords.test_family import FILE as PASSWORDS
from tests.annotations.passwords.test_family import basic
from tests.fakes.filter_parts import FakeClock, FakeFacts, FakeServices
from tests.fakes.records import record_of

T = TypeVar("T")
OWNER = "Ingress demo/a"
SECRET = b"a secret of all workers"


@define
class WorkerServices(FakeServices):
    """Services of a worker."""

    own: States = field(kw_only=True)

    def state(self, scope: Scope, key: Hashable, make: Callable[[], T]) -> T:
        """Return what the worker, or all of them, have under *key* of the filter that asks for such a key."""
        return self.own.state(scope, _ASKED_BY.get(key, "another"), key, make)


_ASKED_BY: dict[Hashable, str] = {
    "buckets": RequestLimit.name,
    "counts": ConnectionLimit.name,
    "nonces": DigestCheck.name,
}


class WorkersCase(SynchronousTestCase):
    """A test with workers that share the memory of their limits."""

    def setUp(self) -> None:
        self.clock = FakeClock()
        self.memory = LimitMemory(2)
        self.crowded: list[str] = []

    def worker(self, number: int) -> WorkerServices:
        """Return what a worker has that begins with this number."""
        shared = shared_limits(self.memory, number, self.clock, SECRET, self.crowded.append)
        chance = 0.25 + number / 2
        return WorkerServices(clock=self.clock, secret=SECRET, chance=chance, own=States(shared))

    def live(self, spec: RequestLimit | ConnectionLimit) -> list[Filter]:
        """Return the filter of *spec* in each of two workers."""
        return [spec.make(self.worker(number)) for number in range(2)]


def taken(live: Filter, client: bytes = b"192.0.2.1", count: int = 30) -> int:
    """Return how many of *count* requests of *client* pass."""
    return sum(live.on_request(FakeFacts(client=client)) is None for _ in range(count))


class RateTests(WorkersCase):
    """Rates."""

    def test_one_limit(self) -> None:
        """A client has one burst and one rate at all workers together."""
        first, second = self.live(RequestLimit(OWNER, 5))
        self.assertEqual((taken(first, count=20), taken(second)), (20, 6))
        self.clock.clock.advance(1)
        self.assertEqual((taken(first, count=3), taken(second)), (3, 2))
        self.assertEqual(taken(second, b"2001:db8::1") + taken(first, b"2001:db8::2"), 26)

    def test_replicas(self) -> None:
        """What workers share is the part of their replica, where replicas share limits."""
        first, second = (self.worker(number) for number in range(2))
        lives = [RequestLimit(OWNER, 12, multiplier=2).make(each) for each in (first, second)]
        first.replicas.count = second.replicas.count = 3
        self.assertEqual([taken(live) for live in lives], [9, 0])

    def test_largest(self) -> None:
        """A burst of thousands of millions is one of four millions among workers, rather than none."""
        first, second = self.live(RequestLimit(OWNER, 999_999_999, multiplier=999_999_999))
        self.assertEqual((taken(first), taken(second)), (30, 30))

    def test_worker_begins(self) -> None:
        """A worker that follows one which died knows what clients have used up."""
        first, _ = self.live(RequestLimit(OWNER, 5))
        self.assertEqual(taken(first), 26)
        self.assertEqual(taken(RequestLimit(OWNER, 5).make(self.worker(0))), 0)


class ConnectionTests(WorkersCase):
    """Requests under way."""

    def test_one_limit(self) -> None:
        """A client has so many under way at all workers together; each that ends makes room at any of them."""
        first, second = self.live(ConnectionLimit(OWNER, 3))
        begun = [FakeFacts() for _ in range(2)]
        self.assertEqual([first.on_request(one) for one in begun], [None, None])
        self.assertEqual(taken(second), 1)
        self.assertEqual(taken(first), 0)
        self.assertEqual(taken(second, b"192.0.2.2"), 3)
        first.on_end(begun[0], record_of())
        self.assertEqual((taken(second), taken(first)), (1, 0))

    def test_edit(self) -> None:
        """A limit that is edited knows who is under way, here and there."""
        services = [self.worker(number) for number in range(2)]
        old = ConnectionLimit(OWNER, 1).make(services[0])
        held = FakeFacts()
        self.assertIsNone(old.on_request(held))
        first, second = (ConnectionLimit(OWNER, 3).make(each) for each in services)
        self.assertEqual((taken(first, count=1), taken(second)), (1, 1))
        old.on_end(held, record_of())
        self.assertEqual(taken(second), 1)

    def test_death(self) -> None:
        """What a worker that died had under way counts no more, whether or not another has its place."""
        for follow in (lambda: self.memory.forget(0), lambda: self.worker(0)):
            first, second = self.live(ConnectionLimit(OWNER, 3))
            self.assertEqual((taken(first), taken(second)), (3, 0))
            follow()
            self.assertEqual(taken(second), 3)

    def test_no_place(self) -> None:
        """Where there is no place for a client any more, a worker counts it by itself, and says so."""
        (first, second), clients = self.live(ConnectionLimit(OWNER, 1)), 1 << 15
        passed = [taken(first, b"%d" % number, 2) for number in range(clients)]
        self.assertEqual(set(passed), {1})
        self.assertEqual(set(self.crowded), {"connection-limit"})
        without = len(self.crowded)
        twice = sum(taken(second, b"%d" % number, 1) for number in range(clients))
        self.assertEqual(twice, without)


class DigestTests(WorkersCase):
    """Proofs of passwords."""

    def setUp(self) -> None:
        super().setUp()
        self.checks = [DigestCheck(FILE, REALM).make(self.worker(number)) for number in range(2)]
        self.client = Client("bob", "secret")

    def status(self, check: int, proof: bytes = b"") -> tuple[int, bytes]:
        """Ask one of the workers; return its status and challenge, 200 for who gets in."""
        facts = FakeFacts(fields={b"authorization": proof} if proof else {}, target=b"/x?y=1")
        verdict: Any = self.checks[check].on_request(facts)
        if iscoroutine(verdict):
            verdict = self.successResultOf(Deferred.fromCoroutine(verdict))
        return (200, b"") if verdict is None else (verdict.status, dict(verdict.fields)[b"WWW-Authenticate"])

    def test_any_worker(self) -> None:
        """A nonce of one worker is good at all, for each count once."""
        _, challenge = self.status(0)
        proofs = [self.client.proof(challenge) for _ in range(4)]
        self.assertEqual(
            [self.status(number % 2, proof)[0] for number, proof in enumerate(proofs)], [200] * 4
        )
        for proof in proofs:
            for number in range(2):
                status, stale = self.status(number, proof)
                self.assertEqual(status, 401)
                self.assertIn(b"stale=true", stale)

    def test_nonces_of_workers(self) -> None:
        """No two workers hand out one nonce, also in one moment."""
        self.assertNotEqual(self.status(0)[1], self.status(1)[1])

    def test_age(self) -> None:
        """A nonce is as old for each of them."""
        _, challenge = self.status(0)
        self.clock.clock.advance(NONCE_SECONDS)
        self.assertEqual(self.status(1, self.client.proof(challenge))[0], 200)
        self.clock.clock.advance(1)
        self.assertEqual(self.status(1, self.client.proof(challenge))[0], 401)


class OwnStateTests(WorkersCase):
    """What workers do not share."""

    def test_scopes(self) -> None:
        """A worker's own is its own; what is asked for of all is shared, or refused, and never taken for shared."""
        first, second = (self.worker(number).own for number in range(2))
        self.assertIsNot(
            first.state(Scope.WORKER, "mine", "key", list), second.state(Scope.WORKER, "mine", "key", list)
        )
        for scope in (Scope.PROCESS, Scope.REPLICAS):
            self.assertRaises(LookupError, first.state, scope, "mine", "key", list)
        alone = States()
        self.assertEqual(alone.state(Scope.PROCESS, "mine", "key", list), [])

    def test_verdicts(self) -> None:
        """What one worker remembers of another service's verdicts, no other knows."""
        spec = ExternalAuth(
            parse_url_template("http://auth.test/"),
            caching=AuthCaching(read_template("k"), USUAL_DURATIONS, "shop.test/"),
        )
        asked: list[SubRequest] = []

        def answer(request: SubRequest) -> Deferred[SubAnswer]:
            asked.append(request)
            return succeed(SubAnswer(200, (), b""))

        counts = []
        for number in range(2):
            services = self.worker(number)
            services.answer = answer
            live = spec.make(services)
            for _ in range(3):
                verdict: Any = live.on_request(FakeFacts())
                if verdict is not None:
                    self.successResultOf(Deferred.fromCoroutine(verdict))
            counts.append(len(asked))
        self.assertEqual(counts, [1, 2])

    def test_passwords(self) -> None:
        """A password that was good at one worker is computed once more at another."""
        for number in range(2):
            services = self.worker(number)
            live = PasswordCheck(PASSWORDS).make(services)
            for _ in range(3):
                facts = FakeFacts(fields={b"authorization": basic()})
                verdict: Any = live.on_request(facts)
                if iscoroutine(verdict):
                    verdict = self.successResultOf(Deferred.fromCoroutine(verdict))
                self.assertIsNone(verdict)
            self.assertEqual(len(services.computing.asked), 1)

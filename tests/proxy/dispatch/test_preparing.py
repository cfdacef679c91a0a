"""Requests for a backend with many endpoints, of which one key has one."""

from collections.abc import Callable

from twisted.internet.task import Clock

from ingress.model.requests.templates import read_template
from ingress.model.upstream.backends import Endpoint
from ingress.model.upstream.balancing import Balancing
from ingress.process.in_slices import SLICE_SECONDS
from ingress.proxy.dispatch.preparing import AT_ONCE, Preparing
from ingress.routing.balancing.consistent_hash import ConsistentHash
from tests.fakes.plain_code import need_plain_code
from tests.proxy.playing import GET, OK, ProxyCase

MANY = tuple(Endpoint(f"10.1.{number // 250}.{number % 250}", 80) for number in range(1000))
BY_HOST = Balancing(hash_by=read_template("$host"))


class Turns:
    """A reactor of which each turn is asked for, and in which time goes by with every look at it: a slice is a step."""

    def __init__(self) -> None:
        self._now = 0.0
        self._calls: list[Callable[[], None]] = []

    def seconds(self) -> float:
        """Return the time, and have it go on."""
        self._now += SLICE_SECONDS
        return self._now

    def callLater(self, delay: float, call: Callable[[], None]) -> None:
        """Call in the next turn."""
        self._calls.append(call)

    def take(self) -> bool:
        """Take a turn; return whether there is another one."""
        calls, self._calls = self._calls, []
        for call in calls:
            call()
        return bool(self._calls)


class PreparingTests(ProxyCase):
    """Who comes before all endpoints have their places."""

    def setUp(self) -> None:
        super().setUp()
        self.slices = Clock()
        """When there is time for a slice, which is not before the test says so."""
        self.stage.resource._preparing = Preparing(self.slices)

    def test_waits(self) -> None:
        """All who come meanwhile wait, and go to the endpoint of their key; the next need not."""
        self.stage.publish(MANY, balancing=BY_HOST)
        clients = [self.stage.open() for _ in range(3)]
        for client in clients:
            client.say(GET)
        self.assert_upstreams(0)
        self.slices.advance(0)
        self.assert_upstreams(3)
        for number, client in enumerate(clients):
            self.upstream(number).say(OK)
            self.assert_status(client.take(), 200)
        client = self.stage.open()
        client.say(GET)
        self.upstream().say(OK)
        self.assert_status(client.take(), 200)
        owner = ConsistentHash(MANY).pick(key=b"shop.test")
        self.assertEqual(set(self.connector.asked), {owner})

    def test_many_wait(self) -> None:
        """Of many that wait some go on in a turn, in the order in which they came, and nobody is left when all have."""
        turns = Turns()
        preparing = self.stage.resource._preparing = Preparing(turns)  # type: ignore[arg-type]
        self.stage.publish(MANY, balancing=BY_HOST)
        clients = [self.stage.open() for _ in range(3 * AT_ONCE)]
        for client in clients:
            client.say(GET)
        asked = []
        while turns.take():
            asked.append(len(self.connector.asked))
        self.assertEqual(sorted(set(asked)), [0, AT_ONCE, 2 * AT_ONCE, 3 * AT_ONCE])
        self.assertEqual(len(preparing), 0)
        for number, client in enumerate(clients):
            self.upstream(number).say(OK)
            self.assert_status(client.take(), 200)

    def test_changed_between_two(self) -> None:
        """Where endpoints change while some have gone on, the others go to those of then, once these have their places."""
        turns = Turns()
        self.stage.resource._preparing = Preparing(turns)  # type: ignore[arg-type]
        self.stage.publish(MANY, balancing=BY_HOST)
        for _ in range(AT_ONCE + 1):
            self.stage.open().say(GET)
        while len(self.connector.asked) < AT_ONCE:
            turns.take()
        others = tuple(one._replace(port=8080) for one in MANY)
        self.stage.publish(others, balancing=BY_HOST)
        while turns.take():
            pass
        owner = ConsistentHash(others).pick(key=b"shop.test")
        self.assertEqual(self.connector.asked[AT_ONCE:], [owner])

    def test_changed_without_end(self) -> None:
        """Endpoints of which one changes in every turn keep nobody waiting for good."""
        turns = Turns()
        self.stage.resource._preparing = Preparing(turns)  # type: ignore[arg-type]
        self.stage.publish(MANY, balancing=BY_HOST)
        for _ in range(AT_ONCE + 1):
            self.stage.open().say(GET)
        for number in range(50):
            others = (Endpoint(f"10.2.0.{number}", 80), *MANY)
            self.stage.publish(others, balancing=BY_HOST)
            turns.take()
        self.assert_upstreams(AT_ONCE + 1)

    def test_left_meanwhile(self) -> None:
        """A client that left while it waited is sent nowhere."""
        self.stage.publish(MANY, balancing=BY_HOST)
        client = self.stage.open()
        client.say(GET)
        client.finish()
        self.slices.advance(0)
        self.assert_upstreams(0)
        self.assert_ended(499)

    def test_changed_meanwhile(self) -> None:
        """Endpoints that change meanwhile count as they are then; where none is left the answer is 503."""
        self.stage.publish(MANY, balancing=BY_HOST)
        first, second = self.stage.open(), self.stage.open()
        first.say(GET)
        self.stage.publish(MANY[:1], balancing=BY_HOST)
        self.slices.advance(0)
        self.assertEqual(self.connector.asked, [MANY[0]])
        self.stage.publish(MANY, balancing=BY_HOST)
        second.say(GET)
        self.stage.publish((), balancing=BY_HOST)
        self.slices.advance(0)
        self.assert_status(second.take(), 503)

    def test_fails(self) -> None:
        """If that fails, which is a bug, those who wait are answered 500, and the next are served."""
        need_plain_code("compiled code reads a named tuple past its class")
        left = 1

        class Failing(Endpoint):
            """Fails once, when its places are asked for."""

            def __getattribute__(self, name: str) -> object:
                nonlocal left
                if name == "address" and left:
                    left -= 1
                    raise ZeroDivisionError
                return super().__getattribute__(name)

        self.stage.publish((*MANY[1:], Failing(*MANY[0])), balancing=BY_HOST)
        client = self.stage.open()
        client.say(GET)
        self.slices.advance(0)
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.assert_status(client.take(), 500)
        client = self.stage.open()
        client.say(GET)
        self.slices.advance(0)
        self.assert_upstreams(1)

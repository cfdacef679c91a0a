"""Endpoints by the keys of cookies."""

from functools import partial

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.upstream.affinity import mark_of_endpoint
from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.sticky import Sticky
from tests.fakes.counting import calls
from tests.routing.balancing.test_balancer import endpoints

ENDPOINTS = tuple(Endpoint(f"10.0.0.{number}", 8080) for number in range(1, 11))
KEYS = [b"k%016x" % (number * 7919) for number in range(500)]


class StickyTests(SynchronousTestCase):
    """``Sticky``."""

    def test_mark_is_the_endpoint(self) -> None:
        """The mark of an endpoint chooses it, whatever the order and however many others there are."""
        for endpoint in ENDPOINTS:
            key = mark_of_endpoint(endpoint)
            self.assertEqual(Sticky(ENDPOINTS).pick((), key), endpoint)
            self.assertEqual(Sticky(ENDPOINTS[::-1]).pick((), key), endpoint)
            self.assertEqual(Sticky((endpoint,)).pick((), key), endpoint)

    def test_replicas_agree(self) -> None:
        """Two balancers that never met send one key to one endpoint, whether it is known, forged or of an endpoint that left."""
        one, other = Sticky(ENDPOINTS), Sticky(ENDPOINTS[::-1])
        gone = mark_of_endpoint(Endpoint("10.9.9.9", 1))
        for key in (*KEYS, b"x", b"e" * 64, gone):
            found = one.pick((), key)
            self.assertIn(found, ENDPOINTS)
            self.assertEqual(found, other.pick((), key))

    def test_in_turn_without_key(self) -> None:
        """Whoever has no key gets the endpoints in turn."""
        sticky = Sticky(ENDPOINTS)
        self.assertEqual([sticky.pick() for _ in ENDPOINTS], list(ENDPOINTS))

    def test_excluded(self) -> None:
        """Where its endpoint failed, a key has another one, and with none left it has none."""
        sticky = Sticky(ENDPOINTS)
        key = mark_of_endpoint(ENDPOINTS[0])
        self.assertNotEqual(sticky.pick({ENDPOINTS[0]}, key), ENDPOINTS[0])
        self.assertIsNone(sticky.pick(set(ENDPOINTS), key))
        self.assertIsNone(Sticky(()).pick((), key))

    def test_change(self) -> None:
        """When one endpoint of ten comes, keys stay or move to it, and marks stay where they are."""
        sticky = Sticky(ENDPOINTS[:9])
        before = [sticky.pick((), key) for key in KEYS]
        sticky.endpoints = ENDPOINTS
        after = [sticky.pick((), key) for key in KEYS]
        moved = [new for old, new in zip(before, after, strict=True) if old != new]
        self.assertEqual(set(moved), {ENDPOINTS[9]})
        self.assertLess(len(moved), len(KEYS) / 4)
        for endpoint in ENDPOINTS[:9]:
            self.assertEqual(sticky.pick((), mark_of_endpoint(endpoint)), endpoint)

    def test_steps(self) -> None:
        """Many endpoints are marked, and put on the ring, in steps, of which none costs more where there are more of them."""
        longest = []
        for count in (2000, 4000):
            balancer = Sticky(endpoints(*range(count)))
            self.assertFalse(balancer.is_prepared)
            steps = []
            while not balancer.is_prepared:
                steps.append(calls(balancer.prepare_some))
            self.assertLess(calls(partial(balancer.pick, key=b"k0123456789abcdef")), 40)
            longest.append(max(steps))
        self.assertLess(longest[1], 1.1 * longest[0])
        self.assertLess(longest[0], 1500)
        # Nothing is done before anybody asks by a key.
        self.assertLess(calls(partial(Sticky, endpoints(*range(2000)))), 100)

    def test_back_between_steps(self) -> None:
        """Where the same endpoints are back before others were marked, all of them are marked again; of none nothing is left."""
        some = endpoints(*range(600))
        balancer = Sticky(some)
        for back in (some, ()):
            balancer.endpoints = some
            balancer.pick(key=b"key")
            for steps in range(1, 12):
                balancer.endpoints = some[300:]
                for _ in range(steps):
                    balancer.prepare_some()
                balancer.endpoints = back
                for endpoint in some[250:350]:
                    self.assertEqual(
                        balancer.pick(key=mark_of_endpoint(endpoint)), endpoint if back else None
                    )

    def test_retry_on_the_way(self) -> None:
        """Whoever tries another endpoint while many are not marked gets the next in turn, and marks none."""
        some = endpoints(*range(600))
        balancer = Sticky(some)
        self.assertEqual([balancer.pick({some[0]}, b"key") for _ in range(3)], list(some[1:4]))
        self.assertFalse(balancer.is_prepared)
        while not balancer.prepare_some():
            pass
        self.assertEqual(balancer.pick((), mark_of_endpoint(some[9])), some[9])

    def test_history_does_not_matter(self) -> None:
        """After endpoints came and went, also amid steps, each is found by its mark, and those that went are not."""
        balancer, some = Sticky(endpoints(*range(300))), endpoints(*range(600))
        for first in (0, 100, 250, 300):
            balancer.prepare_some()
            balancer.endpoints = some[first : first + 300]
        for endpoint in some[300:]:
            self.assertEqual(balancer.pick(key=mark_of_endpoint(endpoint)), endpoint)
        for endpoint in some[:300]:
            self.assertIn(balancer.pick(key=mark_of_endpoint(endpoint)), some[300:])

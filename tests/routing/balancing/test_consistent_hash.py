"""Tests for ``ingress.routing.balancing.consistent_hash``."""

from collections import Counter
from functools import partial
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.consistent_hash import PLACES, ConsistentHash
from tests.fakes.counting import calls
from tests.fakes.plain_code import need_plain_code
from tests.routing.balancing.test_balancer import endpoints

KEYS = [b"/page/%d" % number for number in range(10_000)]


def owners(balancer: ConsistentHash) -> dict[bytes, Endpoint | None]:
    """Whose each of ``KEYS`` is."""
    return {key: balancer.pick(key=key) for key in KEYS}


class ConsistentHashTests(SynchronousTestCase):
    """Requests of one key go to one endpoint."""

    def test_none(self) -> None:
        """Without endpoints, and with all excluded, there is none to pick."""
        self.assertIsNone(ConsistentHash(()).pick(key=b"a"))
        both = endpoints(1, 2)
        self.assertIsNone(ConsistentHash(both).pick(both, b"a"))

    def test_one_key_one_endpoint(self) -> None:
        """A key has one owner, whichever balancer over the same endpoints is asked, in whatever order."""
        some = endpoints(*range(8))
        first = owners(ConsistentHash(some))
        self.assertEqual(first, owners(ConsistentHash(some[::-1])))
        self.assertEqual(set(first.values()), set(some))

    def test_removing_moves_only_its_keys(self) -> None:
        """When one of ten endpoints leaves, its keys move, about a tenth of all, and no other key does."""
        some = endpoints(*range(10))
        balancer = ConsistentHash(some)
        before = owners(balancer)
        balancer.endpoints = some[:3] + some[4:]
        after = owners(balancer)
        moved = [key for key in KEYS if before[key] != after[key]]
        self.assertEqual({before[key] for key in moved}, {some[3]})
        self.assertApproximates(len(moved) / len(KEYS), 0.1, 0.03)
        # Those that moved are shared among all the others.
        self.assertEqual(len({after[key] for key in moved}), 9)

    def test_adding_moves_only_what_it_gets(self) -> None:
        """When an endpoint comes to nine, about a tenth of all keys move, all of them to it."""
        some = endpoints(*range(10))
        balancer = ConsistentHash(some[:9])
        before = owners(balancer)
        balancer.endpoints = some
        after = owners(balancer)
        moved = [key for key in KEYS if before[key] != after[key]]
        self.assertEqual({after[key] for key in moved}, {some[9]})
        self.assertApproximates(len(moved) / len(KEYS), 0.1, 0.03)

    def test_only_what_changed(self) -> None:
        """A change costs what came and what went, and nothing until a request asks."""
        need_plain_code("compiled code reads a named tuple past its class")
        placed: list[str] = []

        class Placed(Endpoint):
            """Tells when its places are asked for."""

            def __getattribute__(self, name: str) -> object:
                if name == "address":
                    placed.append(self[0])
                return super().__getattribute__(name)

        some = tuple(Placed(*endpoint) for endpoint in endpoints(*range(50)))
        balancer = ConsistentHash(some[:-1])
        balancer.pick(key=b"key")
        self.assertEqual(len(placed), 49)
        placed.clear()
        for count in (40, 45, 48):
            balancer.endpoints = some[:count]
        balancer.endpoints = some[1:]
        self.assertEqual(placed, [])
        balancer.pick(key=b"key")
        self.assertEqual(set(placed), {some[0][0], some[-1][0]})
        self.assertEqual(len(placed), 2)

    def test_few_of_many(self) -> None:
        """Where one of a thousand is replaced, no more of the ring is put in order than where the two have places."""
        some = endpoints(*range(1000))
        balancer = ConsistentHash(some[1:])
        balancer.pick(key=b"key")
        before = list(balancer._places)
        balancer.endpoints = some[:-1]
        balancer.pick(key=b"key")
        changed = sum(one is not other for one, other in zip(before, balancer._places, strict=True))
        self.assertLessEqual(changed, 2 * PLACES)
        self.assertGreater(len(before), 100)
        self.assertEqual(owners(balancer), owners(ConsistentHash(some[:-1])))

    def test_steps(self) -> None:
        """A ring of many endpoints is made in steps, of which none costs more where there are more of them."""
        longest = []
        for count in (2000, 4000):
            balancer = ConsistentHash(endpoints(*range(count)))
            self.assertFalse(balancer.is_prepared)
            steps, is_prepared = [], False

            def take(balancer: ConsistentHash = balancer) -> None:
                nonlocal is_prepared
                is_prepared = balancer.prepare_some()

            while not is_prepared:
                steps.append(calls(take))
            self.assertTrue(balancer.is_prepared)
            self.assertGreater(len(steps), count / 100)
            # The last step makes no more of it than the others, and a pick finds all done.
            self.assertLess(calls(partial(balancer.pick, key=b"key")), 40)
            longest.append(max(steps))
        self.assertLess(longest[1], 1.1 * longest[0])
        self.assertLess(longest[0], 1500)

    def test_changed_between_steps(self) -> None:
        """Endpoints that come and go while the ring is made are on it, or not, when it is done; who cannot wait gets the same."""
        some = endpoints(*range(1500))
        for cannot_wait in (False, True):
            balancer = ConsistentHash(some[:1000])
            for first in (100, 200, 300):
                for _ in range(4):
                    self.assertFalse(balancer.prepare_some())
                balancer.endpoints = some[first : first + 1000]
            while not cannot_wait and not balancer.prepare_some():
                pass
            self.assertEqual(owners(balancer), owners(ConsistentHash(some[300:1300])))

    def test_back_between_steps(self) -> None:
        """Where the same endpoints are back before another ring was done, as after a short ejection, it is made up to what it was."""
        some = endpoints(*range(1500))
        balancer = ConsistentHash(some)
        balancer.pick(key=b"key")
        others = some[600:]
        for steps in range(1, 30, 4):
            balancer.endpoints = others
            for _ in range(steps):
                balancer.prepare_some()
            balancer.endpoints = some
            self.assertFalse(balancer.is_prepared)
            self.assertEqual(owners(balancer), owners(ConsistentHash(some)))

    def test_few_of_a_large_ring(self) -> None:
        """Where few endpoints are left of many, that is no reason to do all at once what the many take."""
        some = endpoints(*range(2000))
        made, begun = ConsistentHash(some), ConsistentHash(some)
        made.pick(key=b"key")
        begun.prepare_some()
        for balancer in (made, begun):
            balancer.endpoints = some[:100]
            self.assertFalse(balancer.is_prepared)
            while not balancer.prepare_some():
                pass
            self.assertEqual(owners(balancer), owners(ConsistentHash(some[:100])))

    def test_retry_on_the_way(self) -> None:
        """Whoever tries another endpoint while a large ring is not made finds one at once, by its key as before, and makes nothing of it."""
        some = endpoints(*range(2000))
        balancer = ConsistentHash(some)
        found = []
        for number in range(100):
            tried = {some[number]}
            key = b"%d" % number
            self.assertLess(calls(partial(balancer.pick, tried, key)), 40)
            found.append(balancer.pick(tried, key))
            self.assertEqual(balancer.pick(tried, key), found[-1])
            self.assertNotIn(found[-1], tried)
        self.assertGreater(len(set(found)), 80)
        self.assertFalse(balancer.is_prepared)
        self.assertIsNone(balancer.pick(some, b"key"))
        self.assertEqual(balancer.pick({*some[:-1]}, b"key"), some[-1])

    def test_step_that_fails(self) -> None:
        """After a step that fails the ring is made anew."""
        need_plain_code("compiled code reads a named tuple past its class")

        class Failing(Endpoint):
            """Fails once, when its places are asked for."""

            fails = True

            def __getattribute__(self, name: str) -> object:
                if name == "address" and Failing.fails:
                    Failing.fails = False
                    raise ZeroDivisionError
                return super().__getattribute__(name)

        some = endpoints(*range(500))
        balancer = ConsistentHash((*some[:300], Failing(*some[300]), *some[301:]))
        with self.assertRaises(ZeroDivisionError):
            balancer.pick(key=b"key")
        self.assertEqual(owners(balancer), owners(ConsistentHash(some)))

    @settings(derandomize=True, deadline=None, max_examples=30)
    @given(st.lists(st.sets(st.integers(0, 60), max_size=60), max_size=6))
    def test_history_does_not_matter(self, history: list[set[int]]) -> None:
        """After any history of changes the owners are those of a ring made anew."""
        balancer = ConsistentHash(())
        for numbers in history:
            balancer.endpoints = endpoints(*sorted(numbers))
        anew = ConsistentHash(balancer.endpoints)
        for key in KEYS[:50]:
            self.assertEqual(balancer.pick(key=key), anew.pick(key=key))

    def test_shares(self) -> None:
        """The shares of five endpoints differ by no more than a quarter from even, and those of a hundred by a half."""
        seen = Counter(owners(ConsistentHash(endpoints(*range(5)))).values())
        for count in seen.values():
            self.assertApproximates(count / len(KEYS), 0.2, 0.05)
        many = Counter(owners(ConsistentHash(endpoints(*range(100)))).values())
        self.assertEqual(len(many), 100)
        self.assertLess(max(many.values()) / len(KEYS), 0.015)

    def test_excluded_owner(self) -> None:
        """With its owner excluded a key goes where it would go if the owner left."""
        some = endpoints(*range(5))
        balancer, smaller = ConsistentHash(some), ConsistentHash(some[1:])
        mine = [key for key, owner in owners(balancer).items() if owner == some[0]]
        self.assertEqual(
            [balancer.pick({some[0]}, key) for key in mine], [smaller.pick(key=key) for key in mine]
        )


class SubsetTests(SynchronousTestCase):
    """Several endpoints share the requests of one key."""

    def setUp(self) -> None:
        self.some = endpoints(*range(8))
        self.balancer = ConsistentHash(self.some, Random(2).random, 3)

    def subset(self, key: bytes, exclude: tuple[Endpoint, ...] = ()) -> Counter[Endpoint | None]:
        """Which endpoints the requests of *key* go to, and how often."""
        return Counter(self.balancer.pick(exclude, key) for _ in range(300))

    def test_size(self) -> None:
        """A key has as many endpoints as were asked for, which share evenly; other keys have others."""
        subsets = {key: self.subset(key) for key in KEYS[:20]}
        for seen in subsets.values():
            self.assertEqual(len(seen), 3)
            self.assertGreater(min(seen.values()), 60)
        self.assertGreater(len({frozenset(seen) for seen in subsets.values()}), 5)

    def test_first_is_the_owner(self) -> None:
        """The endpoint that a key has alone is one of its subset."""
        alone = ConsistentHash(self.some)
        for key in KEYS[:50]:
            self.assertIn(alone.pick(key=key), self.subset(key))

    def test_one_leaves(self) -> None:
        """When one of a subset leaves, the others stay, and one more comes."""
        before = set(self.subset(b"key"))
        gone = sorted(each for each in before if each is not None)[0]
        self.balancer.endpoints = tuple(each for each in self.some if each != gone)
        after = set(self.subset(b"key"))
        self.assertEqual(len(after & before), 2)
        self.assertEqual(len(after), 3)

    def test_few_endpoints(self) -> None:
        """With fewer endpoints than that, all of them are used; with none left, none."""
        self.balancer.endpoints = self.some[:2]
        self.assertEqual(set(self.subset(b"key")), set(self.some[:2]))
        self.assertEqual(set(self.subset(b"key", self.some[:1])), {self.some[1]})
        self.assertEqual(set(self.subset(b"key", self.some[:2])), {None})

    def test_many_endpoints(self) -> None:
        """Finding a subset among many endpoints asks of each once whether it is left, however few are."""
        many = endpoints(*range(200))
        self.balancer = ConsistentHash(many, Random(2).random, 64)
        asked: list[object] = []

        class Asked(frozenset[Endpoint]):
            """Counts what it is asked for."""

            def __contains__(self, endpoint: object) -> bool:
                asked.append(endpoint)
                return super().__contains__(endpoint)

        self.assertIn(self.balancer.pick(Asked(many[2:]), b"key"), many[:2])
        self.assertEqual(len(asked), len(many))

"""Services with thousands of endpoints: found in steps, while objects go on changing."""

from collections.abc import Callable
from random import Random

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.locality import Hints, Locality
from ingress.model.cluster.objects import Batch, ClusterObject, EndpointSlice, ObjectKey, SlicePort
from ingress.model.stepwise import finished
from ingress.model.text.packed_texts import MOST_PACKED
from ingress.model.upstream.backends import BackendState, Endpoint
from ingress.translate.caches import backend_cache
from ingress.translate.endpoints import slices
from ingress.translate.endpoints.slices import finding_endpoints
from ingress.translate.options import TranslateOptions
from ingress.translate.self_check import differences
from tests.translate.following import DEMO, SERVICE, SLICE, Follower, asking, batch, gone

MANY = 3000
_FEW_LOOKED_AT = 60
"""Addresses of IPv6 that one step looks at, at most; each takes some hundredths of a millisecond."""


def slice_of(number: int, count: int, name: str = "web") -> EndpointSlice:
    """An EndpointSlice with so many endpoints of IPv6."""
    return EndpointSlice(
        ObjectKey("demo", f"{name}-{number}"),
        ObjectKey("demo", name),
        "IPv6",
        (SlicePort("http", 8080),),
        tuple(f"fd00::{number:x}:{one:x}" for one in range(count)),
    )


Address = Callable[[str, str], str | None]


class StepTests(SynchronousTestCase):
    """What one step looks at is bounded."""

    def setUp(self) -> None:
        self.looked = 0
        found = slices._address

        def looking(address_type: str, text: str) -> str | None:
            self.looked += 1
            return found(address_type, text)

        self.patch(slices, "_address", looking)

    def test_step_that_fails(self) -> None:
        """After a step that fails, of a large backend or a small one, the next round and the next steps find what it would have found."""
        for failing in ("web", "api"):
            follower = self.follower()
            follower.settle()
            translation, store = follower.translation, follower.store
            for one in (slice_of(7, 1000), slice_of(8, 2, "api")):
                translation.endpoints_changed(store.changed(batch(one)).services)
            left = 1
            prefix = "fd00::7:" if failing == "web" else "fd00::8:"

            found = slices._address

            def failing_once(
                address_type: str, text: str, prefix: str = prefix, found: Address = found
            ) -> str | None:
                nonlocal left
                if left and text.startswith(prefix):
                    left = 0
                    raise ZeroDivisionError
                return found(address_type, text)

            with self.assertRaises(ZeroDivisionError):
                self.patch(slices, "_address", failing_once)
                while translation.awaits_endpoints:
                    translation.refresh(store.state())
            # As the controller does after a failure.
            follower.settle()
            while translation.awaits_endpoints:
                translation.refresh(store.state())
            self.patch(slices, "_address", found)
            assert translation.snapshot is not None
            self.assertEqual(differences(translation.snapshot, follower.expected()), (), failing)

    def follower(self) -> Follower:
        """Follow one Ingress for a Service of many endpoints, and one for another Service."""
        other = evolve(SERVICE, key=ObjectKey("demo", "api"))
        return Follower(
            TranslateOptions(),
            [
                asking("web", "a.test"),
                asking("api", "b.test", service="api"),
                SERVICE,
                other,
                *(slice_of(one, 1000) for one in range(MANY // 1000)),
                slice_of(9, 1, "api"),
            ],
        )

    def test_round(self) -> None:
        """A step of a round looks at a few dozens of them."""
        follower = self.follower()
        most = 0
        follower.work(1)
        while follower.round is not None:
            self.looked = 0
            follower.work(1)
            most = max(most, self.looked)
        self.assertLess(most, _FEW_LOOKED_AT)
        self.assertEqual(differences(follower.settle(), follower.expected()), ())

    def test_refresh(self) -> None:
        """When one of them goes all are found again, some dozens a turn; another Service, which changes meanwhile, waits for none of that."""
        follower = self.follower()
        follower.settle()
        translation, state = follower.translation, follower.store.state()
        translation.endpoints_changed(follower.store.changed(batch(slice_of(0, 999))).services)
        turns = []
        for _ in range(5):
            self.looked = 0
            turns.append((translation.refresh(state), self.looked < _FEW_LOOKED_AT))
        self.assertEqual(turns, [(0, True)] * 5)
        self.assertTrue(translation.takes_more_endpoints)
        translation.endpoints_changed(follower.store.changed(batch(slice_of(9, 2, "api"))).services)
        self.assertEqual(translation.refresh(state), 1)
        changed = 0
        while translation.awaits_endpoints:
            self.looked = 0
            changed += translation.refresh(state)
            self.assertLess(self.looked, _FEW_LOOKED_AT)
        self.assertEqual(changed, 1)
        self.assertFalse(translation.is_marked)
        assert translation.snapshot is not None
        self.assertEqual(differences(translation.snapshot, follower.expected()), ())

    def test_change_without_end(self) -> None:
        """Endpoints that change faster than they are found are published nevertheless, time and again."""
        follower = self.follower()
        follower.settle()
        translation, state = follower.translation, follower.store.state()
        changed = 0
        for number in range(1000):
            translation.endpoints_changed(follower.store.changed(batch(slice_of(0, number % 97))).services)
            changed += translation.refresh(state)
        self.assertGreater(changed, 2)


class HintedStepTests(SynchronousTestCase):
    """With hints and without, what one step compares and looks up is bounded: the endpoints near by, and those elsewhere."""

    def most(self, hints: tuple[Hints, ...]) -> int:
        """Return how often one step touches addresses, at most, of thousands that have these *hints* in turn."""
        self.patch(slices, "_SORTED_TOGETHER", 100)
        touched: list[str] = []

        class Noting(str):
            """An address that notes when it is compared or looked up."""

            __slots__ = ()

            def __lt__(self, other: str) -> bool:
                touched.append(self)
                return str.__lt__(self, other)

            def __hash__(self) -> int:
                touched.append(self)
                return str.__hash__(self)

        each = 300
        texts = [Noting(f"10.0.{number >> 8}.{number & 255}") for number in range(MANY)]
        Random(1).shuffle(texts)
        some = [
            evolve(
                SLICE,
                key=ObjectKey("demo", f"web-{begin}"),
                ready=tuple(texts[begin : begin + each]),
                hints=(hints * each)[: each * bool(hints)],
            )
            for begin in range(0, MANY, each)
        ]
        rules = TranslateOptions().endpoint_rules
        steps = finding_endpoints(SERVICE, SERVICE.ports[0], some, rules, (), Locality("a"))
        most = 0
        while True:
            touched.clear()
            try:
                next(steps)
            except StopIteration as end:
                found: BackendState = end.value
                break
            most = max(most, len(touched))
        self.assertEqual(len(found.endpoints) + len(found.elsewhere), MANY)
        self.assertEqual(bool(found.elsewhere), bool(hints))
        return most

    def test_hints(self) -> None:
        """Of three zones."""
        self.assertLess(self.most(tuple(Hints((zone,)) for zone in "abc")), 1500)

    def test_without(self) -> None:
        """Of no zone."""
        self.assertLess(self.most(()), 1500)


class AlikeTests(SynchronousTestCase):
    """How many steps it takes makes no difference to what is found."""

    def test_elsewhere(self) -> None:
        """Those near by and those elsewhere are found each once, in order, by whichever ports and in whichever slices they are."""
        self.patch(slices, "_SORTED_TOGETHER", 2)
        self.patch(slices, "_WORK_A_STEP", 2)
        self.patch(slices, "_TOGETHER", 2)
        here, there = Hints(("a",)), Hints(("b",))
        for seed in range(200):
            random = Random(seed)
            near: set[Endpoint] = set()
            known: set[Endpoint] = set()
            some: list[EndpointSlice] = []
            for number in range(random.randint(1, 5)):
                port = random.choice((8080, 9090, 7070))
                texts = [
                    f"{random.choice(('10.0', '127.0'))}.0.{last}" for last in random.sample(range(12), 8)
                ]
                hints = tuple(random.choices((here, there), k=8))
                both = [
                    (Endpoint(text, port), its is here)
                    for text, its in zip(texts, hints, strict=True)
                    if text < "127"
                ]
                known.update(one for one, _ in both)
                near.update(one for one, is_near in both if is_near)
                key, ports = ObjectKey("demo", f"web-{number}"), (SlicePort("http", port),)
                some.append(evolve(SLICE, key=key, ports=ports, ready=tuple(texts), hints=hints))
            rules = TranslateOptions().endpoint_rules
            found = finished(finding_endpoints(SERVICE, SERVICE.ports[0], some, rules, (), Locality("a")))
            expected = (sorted(near), sorted(known - near)) if near else (sorted(known), [])
            self.assertEqual((list(found.endpoints), list(found.elsewhere)), expected, seed)

    def test_as_before(self) -> None:
        """Endpoints that there were before are the same objects, whatever came, went or has another port; they are found as ever."""
        self.patch(slices, "_WORK_A_STEP", 7)
        port, rules = SERVICE.ports[0], TranslateOptions().endpoint_rules
        compared: list[bool] = []
        for seed in range(20):
            random = Random(seed)
            states: list[BackendState] = []
            for _ in range(2):
                some = [
                    evolve(
                        SLICE,
                        key=ObjectKey("demo", f"web-{number}"),
                        ports=(SlicePort("http", random.choice((8080, 9090))),),
                        ready=tuple(f"10.0.{number}.{last}" for last in random.sample(range(150), 148)),
                        hints=(random.choice((Hints(("a",)), Hints(("b",)))),) * 148,
                    )
                    for number in range(8)
                ]
                new = finished(finding_endpoints(SERVICE, port, some, rules, (), Locality("a")))
                before = states[-1] if states else BackendState()
                states.append(
                    finished(finding_endpoints(SERVICE, port, some, rules, (), Locality("a"), before=before))
                )
                self.assertEqual(states[-1], new)
            first, second = (one.endpoints for one in states)
            if min(len(first), len(second)) >= MOST_PACKED:
                same = set(map(id, first)) & set(map(id, second))
                compared.append(len(same) >= len(set(first) & set(second)) * 0.5)
        self.assertEqual(set(compared), {True})

    def test_refused(self) -> None:
        """Endpoints that may not be connected to, or are nonsense, are told as they would be in one step."""
        port = SERVICE.ports[0]
        own = ("10.0.0.1", "127.0.0.1", "nonsense", "10.0.0.2", "169.254.1.1")
        some = [
            EndpointSlice(ObjectKey("demo", f"web-{one}"), DEMO, ports=SLICE.ports, ready=own * 30)
            for one in range(20)
        ]
        rules = TranslateOptions().endpoint_rules
        known = finished(finding_endpoints(SERVICE, port, some, rules, ()))
        steps = finding_endpoints(SERVICE, port, some, rules, ())
        next(steps)
        self.assertEqual(finished(steps), known)
        self.assertEqual([str(one) for one in known.endpoints], ["10.0.0.1:8080", "10.0.0.2:8080"])
        self.assertEqual(len(known.problems), 20)
        self.assertEqual(
            known.problems[0].message,
            "no request for Service demo/web goes to 127.0.0.1, which is an address of this host, nor to 2 more of its endpoints"
            "; --allow-endpoint-networks is for exceptions",
        )

    def test_any_history(self) -> None:
        """Whatever changes while they are being found, by a round and besides: what is published in the end is that of the present."""
        # Everything is large, and each step the smallest.
        self.patch(backend_cache, "_FEW", 0)
        self.patch(slices, "_WORK_A_STEP", 1)
        self.patch(slices, "_TOGETHER", 1)
        for seed in range(300):
            random = Random(seed)
            follower = Follower(TranslateOptions(), [asking("i0", "a.test"), SERVICE, SLICE])
            translation, store = follower.translation, follower.store
            for _ in range(40):
                act = random.randrange(8)
                if act < 4:
                    changed = store.changed(self._slices(random) if act > 1 else self._other(random))
                    translation.mark(changed.objects)
                    translation.endpoints_changed(changed.services)
                elif act < 6:
                    follower.work(random.randint(1, 30))
                else:
                    before = translation.snapshot
                    for _ in range(random.randint(1, 30)):
                        translation.refresh(store.state())
                    # What nobody has asked for before a round does is not published before that.
                    if before is not None and translation.snapshot is not None:
                        self.assertEqual(set(translation.snapshot.backends), set(before.backends))
            follower.settle()
            while translation.awaits_endpoints or translation.is_marked:
                translation.refresh(store.state())
                if translation.is_marked:
                    follower.settle()
            assert translation.snapshot is not None
            self.assertEqual(differences(translation.snapshot, follower.expected()), (), seed)

    def _slices(self, random: Random) -> Batch:
        some = random.sample(["10.0.0.1", "10.0.0.2", "10.0.0.3", "127.0.0.1", "x"], random.randint(0, 4))
        one = evolve(SLICE, key=ObjectKey("demo", f"web-{random.randrange(3)}"), ready=tuple(some))
        return gone(one) if random.random() < 0.2 else batch(one)

    def _other(self, random: Random) -> Batch:
        one = asking("i0", random.choice(["a.test", "b.test"]))
        service = evolve(
            SERVICE, ports=(evolve(SERVICE.ports[0], app_protocol=random.choice(["", "kubernetes.io/h2c"])),)
        )
        other: ClusterObject = random.choice((one, service))
        return gone(other) if random.random() < 0.4 else batch(other)

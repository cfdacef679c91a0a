"""Tests for ``ingress.cluster.slices_by_service``."""

from random import Random

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.slices_by_service import SlicesByService
from ingress.model.cluster.objects import EndpointSlice, ObjectKey

WEB, API, NONE = (ObjectKey("shop", name) for name in ("web", "api", "none"))
ONE, OTHER = (EndpointSlice(ObjectKey("shop", name), WEB) for name in ("web-1", "web-2"))


class SlicesByServiceTests(SynchronousTestCase):
    """The EndpointSlices of each Service."""

    def test_mapping(self) -> None:
        """Each Service that has slices is a key, with a tuple of them by name, however many; any other is none."""
        slices = SlicesByService()
        slices.put(WEB, OTHER.key, OTHER)
        slices.put(WEB, ONE.key, ONE)
        slices.put(API, ONE.key, ONE)
        self.assertEqual(dict(slices), {WEB: (ONE, OTHER), API: (ONE,)})
        self.assertEqual(len(slices), 2)
        self.assertEqual((slices.get(WEB), slices.get(API), slices.get(NONE, ())), ((ONE, OTHER), (ONE,), ()))
        self.assertEqual([key in slices for key in (WEB, API, NONE)], [True, True, False])

    def test_replaced(self) -> None:
        """A slice takes the place of the one that has its key, and goes where none does; a Service without any is no key."""
        slices = SlicesByService()
        for value in (ONE, OTHER):
            slices.put(WEB, value.key, value)
        changed = EndpointSlice(ONE.key, WEB, ready=("10.0.0.1",))
        slices.put(WEB, ONE.key, changed)
        self.assertEqual(slices[WEB], (changed, OTHER))
        slices.put(WEB, OTHER.key, None)
        self.assertEqual(slices[WEB], (changed,))
        slices.put(WEB, ONE.key, ONE)
        self.assertEqual(slices[WEB], (ONE,))
        slices.put(WEB, ONE.key, None)
        self.assertEqual(dict(slices), {})

    def test_any_order(self) -> None:
        """However many slices come, change and go in whatever order, they stand by name, each once."""
        slices, random = SlicesByService(), Random(1)
        expected: dict[ObjectKey, EndpointSlice] = {}
        for number in range(2000):
            key = ObjectKey("shop", f"web-{random.randrange(40)}")
            value = None if random.random() < 0.4 else EndpointSlice(key, WEB, ready=(f"10.0.0.{number}",))
            slices.put(WEB, key, value)
            if value is None:
                expected.pop(key, None)
            else:
                expected[key] = value
            self.assertEqual(slices.get(WEB, ()), tuple(expected[one] for one in sorted(expected)))

    def test_many(self) -> None:
        """One slice more among thousands is compared with a few of them: all may come one by one."""
        compared: list[str] = []

        class Counting(str):
            """A name that notes when others are compared with it."""

            def __lt__(self, other: str) -> bool:
                compared.append(self)
                return str.__lt__(self, other)

        slices = SlicesByService()
        for number in range(1000):
            key = ObjectKey("shop", Counting(f"web-{number:04}"))
            slices.put(WEB, key, EndpointSlice(key, WEB))
        compared.clear()
        key = ObjectKey("shop", Counting("web-0500-more"))
        slices.put(WEB, key, EndpointSlice(key, WEB))
        self.assertLess(len(compared), 20)
        self.assertEqual(len(slices[WEB]), 1001)

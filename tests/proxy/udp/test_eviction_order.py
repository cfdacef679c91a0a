"""``ingress.proxy.udp.eviction_order``: which session is over first, and which one gives way."""

from attrs import define
from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.udp.eviction_order import FRESH_SHARE, EvictionOrder


@define(eq=False)
class Session:
    """A session, as far as its order is concerned."""

    last: float


class OrderTests(SynchronousTestCase):
    """``EvictionOrder``."""

    def order(self, *moments: float) -> tuple[EvictionOrder[Session], list[Session]]:
        """Return an order of sessions that began at these *moments*."""
        order: EvictionOrder[Session] = EvictionOrder(4)
        sessions = [Session(one) for one in moments]
        for one in sessions:
            order.add(one)
        return order, sessions

    def test_idle(self) -> None:
        """The one that was idle longest is found, of either sort, and those of which something came are not."""
        order, (one, two, three) = self.order(1, 2, 3)
        self.assertEqual((order.longest_idle(), len(order)), (1, 3))
        self.assertIs(order.idle_since(1), one)
        self.assertIsNone(order.idle_since(0.5))
        one.last = 4
        order.prove(one)
        two.last = 5
        order.touch(two)
        self.assertEqual(order.longest_idle(), 3)
        self.assertIs(order.idle_since(9), three)
        order.remove(three)
        order.remove(two)
        self.assertIs(order.idle_since(4), one)
        one.last = 6
        order.touch(one)
        self.assertIsNone(order.idle_since(5))
        order.remove(one)
        order.remove(one)
        self.assertEqual(
            (order.longest_idle(), order.idle_since(9), order.next_out(), len(order)), (None, None, None, 0)
        )

    def test_gives_way(self) -> None:
        """A fresh one gives way before those whose clients are proven, unless these leave next to no place to others."""
        order, sessions = self.order(1, 2, 3, 4)
        self.assertTrue(order.is_full)
        order.prove(sessions[0])
        self.assertIs(order.next_out(), sessions[1])
        order.prove(sessions[1])
        self.assertIs(order.next_out(), sessions[2])
        order.prove(sessions[2])
        # One in four is for fresh ones, and that is just one.
        self.assertIs(order.next_out(), sessions[0])
        order.prove(sessions[3])
        self.assertIs(order.next_out(), sessions[0])
        order.remove(sessions[3])
        self.assertFalse(order.is_full)

    @given(
        st.lists(
            st.tuples(st.sampled_from(["add", "touch", "prove", "remove", "out"]), st.integers(0, 9)),
            max_size=200,
        )
    )
    def test_any_history(self, steps: list[tuple[str, int]]) -> None:
        """Whatever happens, the one that is idle longest is found, and a flood of fresh ones never pushes out a proven one of few."""
        order: EvictionOrder[Session] = EvictionOrder(8)
        there: dict[int, Session] = {}
        proven: set[int] = set()
        for now, (step, number) in enumerate(steps):
            session = there.get(number)
            if step == "add" and session is None:
                there[number] = session = Session(now)
                order.add(session)
            elif session is not None and step in ("touch", "prove"):
                session.last = now
                if step == "prove":
                    order.prove(session)
                    proven.add(number)
                else:
                    order.touch(session)
            elif step in ("remove", "out"):
                gone = session if step == "remove" else order.next_out()
                if gone is not None:
                    at = next(one for one, each in there.items() if each is gone)
                    fresh = len(there) - len(proven)
                    if step == "out" and at in proven:
                        self.assertLessEqual(fresh * FRESH_SHARE, len(there))
                    order.remove(gone)
                    del there[at]
                    proven.discard(at)
            self.assertEqual(len(order), len(there))
            self.assertEqual(set(order.all()), set(there.values()))
            self.assertEqual(order.longest_idle(), min((one.last for one in there.values()), default=None))
            idle = order.idle_since(now)
            self.assertEqual(idle is None, not there)

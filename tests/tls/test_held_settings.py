"""What is made of settings of TLS to endpoints, and how long it is kept."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any
from unittest.mock import patch

from attrs import evolve
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.stepwise import Stepwise
from ingress.model.upstream.upstream_tls import TlsSettings, UpstreamTls
from ingress.process import in_slices
from ingress.tls.held_settings import LOOK_SECONDS, LOOKED_AT_ONCE, HeldSettings, Offer

LOOK = [LOOK_SECONDS] + [0.0] * 20
"""The time of a look and of its turns."""


def settings_of(number: int) -> UpstreamTls:
    """Return settings that are no others'."""
    return UpstreamTls(TlsSettings(name=f"app{number}.internal"), b"", b"chain", b"key %d" % number)


class HeldSettingsTests(SynchronousTestCase):
    """Values, and who has the settings that they are of."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.looks = 0
        self.held: HeldSettings[str] = HeldSettings(1000, self.clock, self.looked)

    def looked(self) -> Iterable[None]:
        self.looks += 1
        return ()

    def put(self, tls: UpstreamTls, value: str = "made") -> None:
        self.held.put(Offer(tls, False), value)

    def test_left(self) -> None:
        """What nobody has at two looks is gone with its key; what somebody has stays, however long."""
        served, gone = settings_of(0), settings_of(1)
        self.put(served)
        self.put(gone)
        self.clock.pump(LOOK * 3)
        self.assertEqual((len(self.held), self.looks), (2, 3))
        del gone
        self.clock.pump(LOOK)
        self.assertEqual(len(self.held), 2)
        self.clock.pump(LOOK)
        self.assertEqual((len(self.held), self.looks), (1, 5))
        self.assertEqual(self.held.get(Offer(served, False)), "made")
        del served
        self.clock.pump(LOOK * 2)
        self.assertEqual(len(self.held), 0)
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_put_together_anew(self) -> None:
        """Equal settings that are another object find the same value, also after nobody had it at one look, and have it stay."""
        tls = settings_of(0)
        self.put(tls)
        del tls
        self.clock.pump(LOOK)
        again = settings_of(0)
        self.assertEqual(self.held.get(Offer(again, False)), "made")
        self.assertIsNone(self.held.get(Offer(again, True)))
        self.clock.pump(LOOK * 4)
        self.assertEqual(self.held.get(Offer(again, False)), "made")

    def test_used_between_looks(self) -> None:
        """What was used since the last look stays, though nobody has it at any of them: settings may be put together for each use."""
        self.put(settings_of(0))
        for _ in range(4):
            self.clock.pump(LOOK)
            self.assertEqual(self.held.get(Offer(settings_of(0), False)), "made")
        self.clock.pump(LOOK * 2)
        self.assertEqual(len(self.held), 0)

    def test_last_of_several(self) -> None:
        """It stays until the last has left who has equal settings."""
        some = [settings_of(0), settings_of(0)]
        self.put(some[0])
        self.held.get(Offer(some[1], False))
        del some[0]
        self.clock.pump(LOOK * 3)
        self.assertEqual(len(self.held), 1)
        some.clear()
        self.clock.pump(LOOK * 2)
        self.assertEqual(len(self.held), 0)

    def test_many(self) -> None:
        """However many are left at once, few are freed in one turn."""
        some = [settings_of(number) for number in range(10 * LOOKED_AT_ONCE)]
        for tls in some:
            self.put(tls)
        some.clear()
        del tls
        self.clock.pump(LOOK)
        sizes: list[int] = []
        later = self.clock.callLater

        def call_later(*arguments: Any) -> Any:
            sizes.append(len(self.held))
            return later(*arguments)

        with patch.object(self.clock, "callLater", call_later), patch.object(in_slices, "SLICE_SECONDS", 0.0):
            self.clock.pump(LOOK)
        self.assertEqual((sizes[0], len(self.held)), (len(sizes[1:]) * LOOKED_AT_ONCE, 0))
        self.assertTrue(all(a - b <= LOOKED_AT_ONCE for a, b in pairwise(sizes)), sizes)

    def test_bound(self) -> None:
        """Of more than may be kept those used last stay; without a clock nothing else is let go."""
        held: HeldSettings[int] = HeldSettings(2, None)
        some = [settings_of(number) for number in range(3)]
        for number in range(2):
            held.put(Offer(some[number], False), number)
        held.get(Offer(some[0], False))
        held.put(Offer(some[2], False), 2)
        self.assertEqual([held.get(Offer(tls, False)) for tls in some], [0, None, 2])

    def test_bug(self) -> None:
        """A bug in a look is told, and others follow."""

        def fail() -> Stepwise[None]:
            yield
            raise RuntimeError("a bug")

        held: HeldSettings[str] = HeldSettings(9, self.clock, fail)
        kept = settings_of(0)
        held.put(Offer(kept, False), "kept")
        held.put(Offer(evolve(kept, key_pem=b"other"), False), "left")
        self.clock.pump(LOOK * 2)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 2)
        self.assertEqual(len(held), 1)
        del kept
        self.clock.pump(LOOK * 2)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 2)
        self.assertEqual(len(held), 0)

    def test_stop(self) -> None:
        """Who stops leaves no timer, be it amid a look."""
        kept = settings_of(0)
        for seconds in ((), (LOOK_SECONDS,)):
            self.put(kept)
            self.clock.pump(seconds)
            self.held.stop()
            self.assertEqual(self.clock.getDelayedCalls(), [])
            # A connection may still be begun.
            self.put(settings_of(1))
            self.assertEqual(self.clock.getDelayedCalls(), [])
            self.held = HeldSettings(9, self.clock)

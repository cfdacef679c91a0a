"""Tests for ``ingress.status.election``: the rules, one by one."""

from math import inf
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.status.election import Candidacy, Terms
from ingress.status.lease import Lease, lease_object

KEY = ObjectKey("ours", "leader")
NOW = "2026-11-20T12:00:00.000000Z"
EARLIER = "2001-01-01T00:00:00.000000Z"
LATER = "2099-01-01T00:00:00.000000Z"


def raw(holder: str, renewed: str = NOW, duration: int = 15, version: str = "1") -> dict[str, Any]:
    """A Lease as the API server shows it."""
    metadata = {"name": "leader", "namespace": "ours", "resourceVersion": version}
    return lease_object(Lease(holder, duration, EARLIER, renewed, 4), KEY, {"metadata": metadata})


class HandshakeSettingsTests(SynchronousTestCase):
    """Times that can work."""

    def test_proportions(self) -> None:
        """All times follow from how long the Lease lasts; two requests fit into the deadline."""
        terms = Terms.lasting(30)
        self.assertEqual((terms.duration_seconds, terms.deadline_seconds, terms.retry_seconds), (30, 20, 5))
        self.assertLessEqual(sum(terms.request_timeouts), terms.deadline_seconds / 2)
        for seconds in (2, 3, 15, 3600):
            terms = Terms.lasting(seconds)
            self.assertLessEqual(terms.deadline_seconds + sum(terms.write_timeouts), terms.duration_seconds)
        self.assertEqual(Terms.lasting(15), Terms())

    def test_impossible(self) -> None:
        """A leader must have time to renew, and give up before its Lease has run out."""
        for times in ((15, 15.0, 2.0), (15, 2.0, 2.0), (15, 10.0, 0.0), (10, 12.0, 1.0)):
            with self.assertRaises(ValueError):
                Terms(*times)


class CandidacyTests(SynchronousTestCase):
    """What a candidate concludes."""

    def setUp(self) -> None:
        self.us = Candidacy("us", Terms())

    def test_no_lease(self) -> None:
        """Where there is no Lease, the first one is ours to write, with no transitions."""
        self.assertEqual(self.us.saw_nothing(0).claim(0, NOW), Lease("us", 15, NOW, NOW, 0))

    def test_of_another(self) -> None:
        """A Lease of another is left alone while it is renewed, however long that goes on."""
        us = self.us
        for turn in range(100):
            us = us.saw(raw("them", f"renewal {turn}"), turn * 14.9)
            self.assertIsNone(us.claim(turn * 14.9 + 14.8, NOW))
            self.assertFalse(us.is_leading(turn * 14.9))

    def test_run_out(self) -> None:
        """A Lease that we have seen unchanged for its duration is taken over, as one more transition."""
        us = self.us.saw(raw("them"), 100).saw(raw("them"), 110)
        self.assertIsNone(us.claim(114.9, NOW))
        self.assertEqual(us.claim(115, NOW), Lease("us", 15, NOW, NOW, 5))

    def test_no_other_clock(self) -> None:
        """The times that stand in a Lease decide nothing: neither long past nor far in the future."""
        for renewed in (EARLIER, LATER, "", "nonsense"):
            us = self.us.saw(raw("them", renewed), 100)
            self.assertIsNone(us.claim(114.9, NOW), renewed)
            self.assertIsNotNone(us.claim(115, NOW), renewed)

    def test_duration_of_the_holder(self) -> None:
        """How long it lasts is for its holder to say; ours counts where it says nothing."""
        us = self.us.saw(raw("them", duration=60), 100)
        self.assertIsNone(us.claim(159, NOW))
        self.assertIsNotNone(us.claim(160, NOW))
        self.assertIsNone(self.us.saw(raw("them", duration=0), 100).claim(114, NOW))

    def test_absurd_duration(self) -> None:
        """A Lease into which somebody wrote an absurd duration is not waited for for ever."""
        us = self.us.saw(raw("them", duration=2**31 - 1), 100)
        self.assertIsNone(us.claim(3699, NOW))
        self.assertIsNotNone(us.claim(3700, NOW))

    def test_other_changes(self) -> None:
        """A change of the object that is none of the Lease does not prolong it."""
        us = self.us.saw(raw("them"), 100).saw(raw("them", version="2"), 110)
        self.assertIsNotNone(us.claim(115, NOW))
        assert us.raw is not None
        self.assertEqual(us.raw["metadata"]["resourceVersion"], "2")

    def test_released(self) -> None:
        """A released Lease is free at once."""
        self.assertEqual(self.us.saw(raw("", duration=1), 100).claim(100, NOW), Lease("us", 15, NOW, NOW, 5))

    def test_deleted(self) -> None:
        """A Lease that was deleted runs out from when it is missed, since its holder may have renewed it just before."""
        us = self.us.saw(raw("them"), 100).was_refused().saw_nothing(120).saw_nothing(125)
        self.assertIsNone(us.claim(134.9, NOW))
        claim = us.claim(135, NOW)
        assert claim is not None
        self.assertEqual((claim.holder, claim.transitions, us.raw), ("us", 5, None))
        for meanwhile in (us.saw(raw("them"), 140), us.was_refused(), us.saw_neither()):
            self.assertIsNone(meanwhile.saw_nothing(141).claim(155.9, NOW))
            self.assertIsNotNone(meanwhile.saw_nothing(141).claim(156, NOW))

    def test_deleted_under_the_leader(self) -> None:
        """A leader whose Lease was deleted writes it anew."""
        us = self.us.wrote(raw("us"), 99, 100).saw_nothing(100)
        self.assertEqual(us.claim(101, LATER), Lease("us", 15, EARLIER, LATER, 4))

    def test_leading(self) -> None:
        """A write makes us leader for the deadline, counted from before it was asked for."""
        us = self.us.wrote(raw("us"), 100, 104)
        self.assertTrue(us.is_leading(109.9))
        self.assertFalse(us.is_leading(110))
        self.assertTrue(us.is_ours)

    def test_renewal(self) -> None:
        """A renewal keeps since when we lead, and is no transition."""
        us = self.us.wrote(raw("us"), 100, 100)
        self.assertEqual(us.claim(102, LATER), Lease("us", 15, EARLIER, LATER, 4))

    def test_renewal_without_a_time(self) -> None:
        """A renewal of a Lease that does not say since when begins that anew: the API server takes no time that is empty."""
        us = self.us.saw({"spec": {"holderIdentity": "us", "leaseTransitions": 4}}, 100)
        self.assertEqual(us.claim(102, LATER), Lease("us", 15, LATER, LATER, 4))

    def test_late_renewal(self) -> None:
        """Who could not renew in time does not lead, and may still write what is in its name."""
        us = self.us.wrote(raw("us"), 100, 100)
        self.assertFalse(us.is_leading(1000))
        self.assertIsNotNone(us.claim(1000, NOW))

    def test_reading_our_name_is_not_leading(self) -> None:
        """Our name in a Lease, from a write whose answer never came, makes us no leader before we write again."""
        us = self.us.saw(raw("us"), 100)
        self.assertFalse(us.is_leading(100))
        self.assertIsNotNone(us.claim(100, NOW))

    def test_overthrown(self) -> None:
        """Who sees another name in the Lease leads no more, whatever time was left."""
        us = self.us.wrote(raw("us"), 100, 100).saw(raw("them"), 101)
        self.assertEqual(us.leads_until, -inf)
        self.assertFalse(us.is_ours)

    def test_refused(self) -> None:
        """After a refusal the Lease has to be read again; a leader leads on until it knows more."""
        us = self.us.wrote(raw("us"), 100, 100).was_refused()
        self.assertTrue(us.is_leading(101))
        self.assertFalse(us.is_ours)

    def test_release(self) -> None:
        """Only what is ours is released: no holder, and the shortest duration that the API takes."""
        self.assertIsNone(self.us.release(NOW))
        self.assertIsNone(self.us.saw(raw("them"), 1).release(NOW))
        self.assertEqual(self.us.wrote(raw("us"), 1, 1).release(NOW), Lease("", 1, NOW, NOW, 4))

    def test_giving_up(self) -> None:
        """Who gave up leads no more at once, and can release."""
        us = self.us.wrote(raw("us"), 100, 100).gave_up()
        self.assertFalse(us.is_leading(100))
        self.assertIsNotNone(us.release(NOW))

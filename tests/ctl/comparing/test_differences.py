"""Tests for ingress.ctl.comparing.differences, accepted and tally."""

from attrs import evolve

from ingress.ctl.comparing.accepted import read_accepted
from ingress.ctl.comparing.answers import Answer, Body, ShownCertificate
from ingress.ctl.comparing.asking_both import Pair
from ingress.ctl.comparing.differences import Compared, Comparing, Difference, Weight
from ingress.ctl.comparing.samples import Sample
from ingress.ctl.comparing.tally import Tally
from ingress.ctl.errors import Mistake
from tests.ctl.ctl_case import CtlCase

SAMPLE = Sample("https", "GET", "shop.test", "/old/1")
CERTIFICATE = ShownCertificate("00" * 32, ("shop.test",))


def weights(theirs: Answer, ours: Answer, field: str = "") -> list[tuple[str, Weight]]:
    """What differs, and how much that matters."""
    return [
        (one.aspect, one.weight) for one in Comparing(backend_field=field).differences(SAMPLE, theirs, ours)
    ]


class DifferenceTests(CtlCase):
    """What differs, and how much it matters."""

    def test_status(self) -> None:
        """Who is let in matters most, then errors that are new, then any other status."""
        for theirs, ours, weight in (
            (401, 200, Weight.OPEN),
            (403, 204, Weight.OPEN),
            (302, 200, Weight.OPEN),
            (200, 503, Weight.LOST),
            (404, 500, Weight.LOST),
            (302, 404, Weight.LOST),
            (301, 308, Weight.STATUS),
            (200, 401, Weight.LOST),
            (503, 200, Weight.STATUS),
        ):
            self.assertEqual(weights(Answer(theirs), Answer(ours)), [("status", weight)], (theirs, ours))

    def test_no_answer(self) -> None:
        """No answer is a difference where the other side gives one, or none for another reason."""
        none = Answer(failure="it ended the connection without an answer")
        self.assertEqual(weights(Answer(200), none), [("answer", Weight.LOST)])
        self.assertEqual(weights(none, Answer(200)), [("answer", Weight.STATUS)])
        self.assertEqual(weights(none, evolve(none, failure="no TLS: …")), [("answer", Weight.STATUS)])
        self.assertEqual(weights(none, none), [])

    def test_long_values(self) -> None:
        """Of a long value the beginning is kept, and two that begin alike are told apart."""
        there, here = (Answer(200, (("X-Long", "x" * 30_000 + end),)) for end in "ab")
        (found,) = Comparing().differences(SAMPLE, there, here)
        self.assertLess(len(found.theirs), 1100)
        self.assertNotEqual(found.theirs, found.ours)

    def test_pages_of_heads(self) -> None:
        """In answer to HEAD nothing shows who wrote an error, so what its page is written in does not count."""
        html, text = (Answer(503, (("Content-Type", kind),)) for kind in ("text/html", "text/plain"))
        for method, count in (("GET", 1), ("HEAD", 0)):
            found = Comparing().differences(evolve(SAMPLE, method=method), html, text)
            self.assertEqual(len(found), count)

    def test_backend(self) -> None:
        """Which backend answered is known by the field that is named, and no such field is a difference of its own."""
        shop, cart = (Answer(200, (("x-POD", f"{name}-0"),)) for name in ("shop", "cart"))
        self.assertEqual(weights(shop, cart, "X-Pod"), [("backend", Weight.BACKEND)])
        self.assertEqual(weights(shop, Answer(200, (("X-Pod", "shop-1"),)), "X-Pod"), [])
        self.assertEqual(weights(shop, cart), [("x-pod", Weight.FIELD)])

    def test_answered_by(self) -> None:
        """Without such a field it is seen whether a page is a controller's own."""
        own, backends = (Answer(404, body=Body(1, "a"), is_own=is_own) for is_own in (True, False))
        self.assertEqual(weights(own, backends), [("answered by", Weight.BACKEND)])
        self.assertEqual(weights(own, own), [])
        self.assertEqual(weights(own, Answer(404)), [])
        self.assertEqual(weights(evolve(own, status=308), evolve(backends, status=308)), [])

    def test_certificate(self) -> None:
        """Another certificate is a difference, unless both are what controllers make for themselves."""
        mine, other = Answer(200, certificate=CERTIFICATE), evolve(CERTIFICATE, fingerprint="11" * 32)
        self.assertEqual(
            weights(mine, evolve(mine, certificate=other)), [("certificate", Weight.CERTIFICATE)]
        )
        self.assertEqual(weights(mine, mine), [])
        theirs, ours = (
            Answer(200, certificate=evolve(one, is_self_made=True)) for one in (CERTIFICATE, other)
        )
        self.assertEqual(weights(theirs, ours), [])
        self.assertEqual(weights(mine, ours), [("certificate", Weight.CERTIFICATE)])

    def test_hint(self) -> None:
        """Bodies give a hint where both sides answer 200 and nothing else differs."""
        one, other = Answer(200, body=Body(1, "a")), Answer(200, body=Body(2, "b", False))
        comparing = Comparing()
        self.assertEqual(
            comparing.compare(Pair(SAMPLE, one, other)).hint, "1 and 2 bytes, as far as they were read"
        )
        self.assertEqual(comparing.compare(Pair(SAMPLE, one, one)).hint, "")
        self.assertEqual(
            comparing.compare(Pair(SAMPLE, evolve(one, status=404), evolve(other, status=404))).hint, ""
        )

    def test_unsteady(self) -> None:
        """What a second asking does not show, shows the other way round, or with other values on both sides, is unsteady."""
        one, other = (Answer(200, (("X-Served-By", name),)) for name in ("a", "b"))
        third, fourth = (Answer(200, (("X-Served-By", name),)) for name in ("c", "d"))
        for again, is_steady in (
            ((one, one), False),
            ((other, one), False),
            ((one, other), True),
            ((one, third), True),
            ((third, other), True),
            ((third, fourth), False),
        ):
            compared = Comparing().compare(Pair(SAMPLE, one, other, again))
            self.assertEqual(
                (len(compared.differences), len(compared.unsteady)), (is_steady, not is_steady), again
            )


class AcceptedTests(CtlCase):
    """Differences that a team accepts."""

    def tally(self, text: str, *differences: Difference) -> Tally:
        """Return a tally that was told of *differences* of one sample, with the accepted ones of *text*."""
        tally = Tally(read_accepted(self.manifest(text, "accepted.toml")))
        tally.add(Compared(SAMPLE, differences))
        return tally

    def test_taken(self) -> None:
        """An entry takes what fits all that it says; what is left still differs."""
        status = Difference("status", "301", "308", Weight.STATUS)
        field = Difference("x-a", "1", "2", Weight.FIELD)
        for entry, left in (
            ("", 0),
            ('host = "*.test"\npath = "/old*"', 0),
            ('aspect = "status"', 1),
            ('aspect = "STATUS"\ntheirs = "301"\nours = "308"', 1),
            ('aspect = "x-*"', 1),
            ('theirs = "302"', 2),
            ('host = "other.test"', 2),
            ('path = "/new"', 2),
        ):
            result = self.tally(f'[[accepted]]\nreason = "old"\n{entry}\n', status, field).result()
            kept = [len(one.differences) for one in result.differing]
            self.assertEqual((kept, result.accepted), ([left] if left else [], int(not left)), entry)

    def test_used(self) -> None:
        """It is told how many differences each entry took, also that it took none."""
        text = '[[accepted]]\nreason = "a"\naspect = "status"\n[[accepted]]\nreason = "b"\naspect = "x"\n'
        result = self.tally(text, Difference("status", "301", "308", Weight.STATUS)).result()
        self.assertEqual(result.used, {"a (aspect status)": 1, "b (aspect x)": 0})

    def test_mistakes(self) -> None:
        """A file that says something else is told, with the entry."""
        for text, word in (
            ("[[accepted]]\n", "reason"),
            ('[[accepted]]\nreason = "x"\nwhat = "y"\n', "'what'"),
            ("[[accepted]]\nreason = 3\n", "texts"),
            ("accepted = 3\n", "[[accepted]]"),
            ("[other]\n", "[[accepted]]"),
            ("a = \n", "line 1"),
        ):
            error = self.assertRaises(Mistake, self.tally, text)
            self.assertIn(word, error.message, text)
        self.assertRaises(Mistake, read_accepted, str(self.folder / "none"))

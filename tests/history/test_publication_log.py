"""Tests for ``ingress.history.publication_log``; what it is told is tested with the controller."""

from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.history.publication_log import PublicationLog, RouteNews, Served, _line
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.stepwise import Stepwise
from tests.fakes.counting import longest_step

ONE_CHANGED = RouteNews(changed=1)
WEB: ObjectId = (Kind.INGRESS, ObjectKey("shop", "web"))


class PublicationLogTests(SynchronousTestCase):
    """The line about what is served."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.log = PublicationLog(self.clock)

    def told(self, *verbs: str, routes: RouteNews | None = ONE_CHANGED) -> str:
        """The line after these changes of an Ingress within one second."""
        with capturedLogs() as events:
            self.log.published(Served(1, 1, 0), {}, None)
            for verb in verbs:
                self.log.published(Served(2, 2, 0), {WEB: verb}, routes)
            self.clock.advance(1)
        return str(formatEvent(events[-1]))

    def test_changes_in_a_row(self) -> None:
        """Of several changes between two lines the sum is told."""
        for verbs, sum_of in (
            (("came", "changed"), "came"),
            (("changed", "changed"), "changed"),
            (("changed", "went"), "went"),
            (("went", "came"), "changed"),
        ):
            self.clock.advance(5)
            self.assertIn(f"Ingress shop/web {sum_of}; routes: 2 changed", self.told(*verbs))

    def test_numbers(self) -> None:
        """Of one thing is said that it is one, and thousands have a comma."""
        with capturedLogs() as events:
            self.log.published(Served(1, 1, 1, {Kind.INGRESS: 1}), {}, None)
            self.clock.advance(5)
            self.log.published(Served(12_000, 9_000, 0), {}, None)
        self.assertEqual(
            [formatEvent(event) for event in events],
            [
                "Published 1 route of 1 host, with 1 problem; left alone, since of another class or of none: 1 Ingress",
                "Published 12,000 routes of 9,000 hosts, with 0 problems",
            ],
        )

    def test_not_known(self) -> None:
        """Where the difference is not known, nothing is claimed."""
        self.assertEqual(self.told("changed", routes=None), "Published 2 routes of 2 hosts, with 0 problems")

    def test_length(self) -> None:
        """Whatever names tenants choose, and however many objects change, a line has a bounded length."""
        objects: dict[ObjectId, str] = {
            (kind, ObjectKey("n" * 63, f"{number}{verb}".ljust(253, "x"))): verb
            for kind in (*KINDS, Kind.MANIFEST, Kind.WATCH)
            for number in range(9)
            for verb in ("came", "went", "changed")
        }
        with capturedLogs() as events:
            self.log.published(Served(1, 1, 0), objects, RouteNews(1))
            self.clock.advance(0)
        self.assertLess(len(str(formatEvent(events[0]))), 25_000)

    def test_many_objects(self) -> None:
        """Of thousands of objects the first by name are told, and how many more there are; they are looked at in steps."""
        half: dict[ObjectId, str] = {
            (Kind.INGRESS, ObjectKey("shop", f"i{number:04}")): "changed" for number in reversed(range(3000))
        }
        more: dict[ObjectId, str] = {
            (Kind.INGRESS, ObjectKey("shop", f"j{number}")): "came" for number in range(3000)
        }
        with capturedLogs() as events:
            self.log.published(Served(1, 1, 0), half, ONE_CHANGED)
            self.assertEqual(events, [])
            self.clock.advance(0)
            self.log.published(Served(2, 2, 0), more, ONE_CHANGED)
            self.log.published(Served(2, 2, 0), {WEB: "went"}, ONE_CHANGED)
            self.clock.advance(1)
            self.clock.advance(0)
        first, second = map(str, map(formatEvent, events))
        self.assertIn("Ingress shop/i0000, shop/i0001, shop/i0002 and 2,997 more changed", first)
        self.assertIn("Ingress shop/j0, shop/j1, shop/j10 and 2,997 more came, Ingress shop/web went", second)

    def test_stop_amid_many(self) -> None:
        """What was published before the end is told, though its line was not ready."""
        objects: dict[ObjectId, str] = {
            (Kind.INGRESS, ObjectKey("shop", str(number))): "changed" for number in range(1000)
        }
        with capturedLogs() as events:
            self.log.published(Served(1, 1, 0), objects, ONE_CHANGED)
            self.log.published(Served(2, 2, 0), {WEB: "went"}, ONE_CHANGED)
            self.log.stop()
            self.clock.advance(10)
        self.assertEqual(len(events), 2)
        self.assertIn("997 more changed", str(formatEvent(events[0])))
        self.assertIn("shop/web went", str(formatEvent(events[1])))

    def test_steps(self) -> None:
        """A step of that is no longer the more objects there are."""

        def longest(count: int) -> int:
            some: dict[ObjectId, str] = {
                (Kind.INGRESS, ObjectKey("shop", str(number))): "changed" for number in range(count)
            }
            with capturedLogs():
                return longest_step(_line(Served(1, 1, 0), [some, dict(some)], ONE_CHANGED))

        self.assertLess(longest(6000), 1.3 * longest(1500))

    def test_why_nothing(self) -> None:
        """Why nothing is served is found in turns of the reactor, and at once where it stops amid that."""

        def why() -> Stepwise[str]:
            yield
            yield
            return "nobody asks for anything"

        nothing = Served(0, 0, 0, why_nothing=why)
        line = "Published 0 routes of 0 hosts, with 0 problems: nobody asks for anything"
        with capturedLogs() as events:
            self.log.published(nothing, {}, None)
            self.assertEqual(events, [])
            self.clock.advance(5)
            self.assertEqual([formatEvent(event) for event in events], [line])
            self.log.published(nothing, {}, None)
            self.log.stop()
        self.assertEqual([formatEvent(event) for event in events], [line, line])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_clock_set_back(self) -> None:
        """A clock that is set back does not silence it."""
        self.clock.advance(1000)
        self.log.published(Served(1, 1, 0), {}, None)
        self.clock.rightNow = 0.0
        with capturedLogs() as events:
            self.log.published(Served(1, 1, 0), {}, None)
        self.assertEqual(len(events), 1)

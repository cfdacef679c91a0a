"""Tests for ``ingress.news.publication_log``; what it is told is tested with the controller."""

from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import KINDS
from ingress.model.objects import Kind, ObjectId, ObjectKey
from ingress.news.publication_log import PublicationLog, RouteNews, Served

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
        self.assertLess(len(str(formatEvent(events[0]))), 25_000)

    def test_clock_set_back(self) -> None:
        """A clock that is set back does not silence it."""
        self.clock.advance(1000)
        self.log.published(Served(1, 1, 0), {}, None)
        self.clock.rightNow = 0.0
        with capturedLogs() as events:
            self.log.published(Served(1, 1, 0), {}, None)
        self.assertEqual(len(events), 1)

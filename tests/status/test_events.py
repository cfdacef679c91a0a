"""Tests for ``ingress.status.events`` and its writer: who is told, how often, and what is not."""

from datetime import UTC, datetime

from attrs import evolve
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_thread import Outcome
from ingress.errors import KubernetesError
from ingress.history.problem_log import SETTLE_SECONDS
from ingress.metrics.series.status import StatusMetrics
from ingress.model.cluster.object_meta import ObjectMeta
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.status.events import BOUNDS, MOST_PENDING, Events
from ingress.status.refusals import Refusals
from ingress.status.report_writer import Sending
from tests.status.questions import DONE, FORBIDDEN, MISSING, UNREACHABLE, Questions

NOW = datetime(2026, 11, 20, tzinfo=UTC)
KNOWN = KubernetesError(409, "AlreadyExists", "it exists")


def problem(name: str, namespace: str = "shop", message: str = "no") -> Problem:
    return Problem("Ingress", namespace, name, Reason.SERVICE_NOT_FOUND, message)


class EventWriterTests(SynchronousTestCase):
    """A writer on a clock."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.questions = Questions()
        self.present: list[Problem] = []
        self.metas: dict[ObjectId, ObjectMeta] = {}
        self.metrics = StatusMetrics()
        self.metrics.began()
        self.writer = self.make_writer()
        self.addCleanup(self.check_clean)

    def make_writer(self, most_pending: int = MOST_PENDING) -> Events:
        """Return a writer with room for so many problems."""
        return Events(
            Sending(self.clock, self.questions.ask, (2.0, 3.0), self.clock.seconds, lambda: 0.0, Refusals()),
            lambda: self.present,
            lambda: self.metas,
            "pod_1",
            self.metrics,
            lambda: NOW,
            most_pending=most_pending,
        )

    def check_clean(self) -> None:
        self.writer.follow()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def told(self) -> list[str]:
        """The names of the objects that were told of."""
        return [
            request.body["regarding"]["name"]
            for request in self.questions.asked
            if request.body and request.method == "POST"
        ]

    def come(self, *problems: Problem) -> None:
        """Let problems come, and stay."""
        self.present += problems
        self.writer.problems_changed(problems, [])
        self.clock.advance(SETTLE_SECONDS)

    def go(self, gone: Problem) -> None:
        """Let a problem be solved."""
        self.present.remove(gone)
        self.writer.problems_changed([], [gone])

    def answer_all(self, outcome: KubernetesError | None = None) -> None:
        """Answer as long as something is asked, without time passing."""
        self.clock.advance(0)
        while self.questions.is_open:
            self.questions.answer({} if outcome is None else outcome)
            self.clock.advance(0)

    def count(self, outcome: str) -> float:
        """What the metrics say about one outcome."""
        (family,) = (one for one in self.metrics.families() if one.name == "ingress_events")
        return sum(one.value for one in family.samples if one.labels["outcome"] == outcome)

    def test_request(self) -> None:
        """An Event is created in the namespace of its object, in bounded time, with the uid that is known."""
        self.metas[Kind.INGRESS, ObjectKey("shop", "web")] = ObjectMeta("u-1")
        self.present = [problem("web")]
        self.writer.lead()
        self.clock.advance(0)
        request = self.questions.answer()
        self.assertEqual((request.method, request.timeouts), ("POST", (2.0, 3.0)))
        self.assertEqual(request.path, "/apis/events.k8s.io/v1/namespaces/shop/events")
        assert request.body is not None
        self.assertEqual(request.body["regarding"]["uid"], "u-1")

    def test_only_a_leader(self) -> None:
        """Who does not lead tells nobody."""
        self.writer.problems_changed([problem("web")], [])
        self.clock.advance(3600)
        self.assertEqual((self.told(), self.writer.pending), ([], 0))

    def test_becoming_leader(self) -> None:
        """A new leader tells of all problems, and those that were told before are refused and no failure."""
        self.present = [problem("a"), problem("b")]
        with capturedLogs() as events:
            self.writer.lead()
            self.answer_all(KNOWN)
            self.clock.advance(3600)
        self.assertEqual((self.told(), events), (["a", "b"], []))
        self.assertEqual((self.count("known"), self.count("failed")), (2, 0))

    def again(self, name: str, seconds: float = 0.0) -> None:
        """Let a problem be solved and, after a while, come again."""
        self.go(problem(name))
        self.clock.advance(seconds)
        self.come(problem(name))
        self.clock.advance(0)

    def counts(self) -> list[int | None]:
        """What was written of how often Events came; None for a patch that only asks."""
        return [
            (request.body or {}).get("series", {}).get("count")
            for request in self.questions.asked
            if request.method == "PATCH"
        ]

    def test_news(self) -> None:
        """A problem is told of when it comes; each time that it comes again is counted in the same Event."""
        self.writer.lead()
        self.come(problem("a"))
        self.answer_all()
        for _ in range(3):
            self.again("a", 30)
            request = self.questions.answer()
            self.assertEqual(request.method, "PATCH")
            self.assertRegex(request.path, r"^/apis/events.k8s.io/v1/namespaces/shop/events/a\.[0-9a-f]{16}$")
            assert request.body is not None
            self.assertEqual(set(request.body), {"series"})
        self.assertEqual(self.counts(), [2, 3, 4])
        self.assertEqual((self.count("ok"), self.count("counted")), (1, 3))

    def test_often(self) -> None:
        """A problem that comes and goes all the time is one write in half a minute, and none of its times is lost."""
        self.writer.lead()
        self.come(problem("a"))
        self.answer_all()
        for _ in range(100):
            self.again("a", 1)
            self.answer_all()
        self.assertLessEqual(len(self.counts()), 100 * 3 / 30)
        self.again("a", 40)
        self.answer_all()
        self.assertEqual(self.counts()[-1], 102)

    def test_told_by_another_leader(self) -> None:
        """What another leader told is counted from what there is, and not for being found."""
        self.present = [problem("a")]
        self.writer.lead()
        self.clock.advance(0)
        self.questions.answer(KNOWN)
        self.clock.advance(100)
        self.assertEqual(self.counts(), [])
        self.again("a")
        self.questions.answer({"series": {"count": 7, "lastObservedTime": "x"}})
        self.clock.advance(0)
        self.questions.answer()
        self.assertEqual(self.counts(), [None, 8])

    def test_came_anew_and_known(self) -> None:
        """A problem that comes, and that somebody told long ago, is counted at once."""
        self.writer.lead()
        self.come(problem("a"))
        self.clock.advance(0)
        self.questions.answer(KNOWN)
        self.clock.advance(0)
        self.questions.answer({"metadata": {}})
        self.clock.advance(0)
        self.questions.answer()
        self.assertEqual(self.counts(), [None, 2])

    def test_forgotten_by_the_server(self) -> None:
        """An Event that the API server has forgotten is told anew."""
        self.writer.lead()
        self.come(problem("a"))
        self.answer_all()
        self.again("a", 3600)
        self.questions.answer(MISSING)
        self.clock.advance(0)
        self.questions.answer()
        self.assertEqual([request.method for request in self.questions.asked], ["POST", "PATCH", "POST"])

    def pass_hours(self, hours: int, outcome: KubernetesError | None = None) -> None:
        """Let time pass, and answer what is asked meanwhile."""
        for _ in range(6 * hours):
            self.clock.advance(600)
            self.answer_all(outcome)

    def test_lasting(self) -> None:
        """A problem that lasts is told again when the API server may have forgotten its Event; one that is solved is not."""
        self.writer.lead()
        self.come(problem("a"), problem("b"))
        self.answer_all()
        self.go(problem("b"))
        self.pass_hours(1)
        self.assertEqual(self.told(), ["a", "b"])
        self.pass_hours(6)
        self.assertEqual((self.told(), self.counts()), (["a", "b", *["a"] * 6], []))
        self.assertEqual((self.count("ok"), self.writer.pending), (8, 0))

    def test_lasting_and_kept(self) -> None:
        """Where the API server keeps Events for longer that changes nothing, and nothing is counted by it."""
        self.writer.lead()
        self.come(problem("a"))
        self.answer_all()
        self.pass_hours(3, KNOWN)
        self.assertEqual((self.told(), self.counts()), (["a"] * 3, []))
        self.assertEqual((self.count("known"), self.count("failed")), (2, 0))
        self.again("a")
        request = self.questions.answer({"series": {"count": 4}})
        self.assertEqual((request.method, request.body), ("PATCH", {}))
        self.answer_all()
        self.assertEqual(self.counts(), [None, 5])

    def test_lasting_and_counted(self) -> None:
        """What is counted is kept by that, and not told again before its time."""
        self.writer.lead()
        self.come(problem("a"))
        self.answer_all()
        for _ in range(4):
            self.again("a", 1800)
            self.answer_all()
        self.assertEqual((self.told(), self.counts()), (["a"], [2, 3, 4, 5]))
        self.pass_hours(2)
        self.assertEqual(self.told(), ["a", "a"])

    def test_lasting_beyond_another_leader(self) -> None:
        """Who leads again, hours later, tells again what it told before."""
        self.writer.lead()
        self.come(problem("a"))
        self.answer_all()
        self.writer.follow()
        self.clock.advance(7200)
        self.assertEqual(self.told(), ["a"])
        self.writer.lead()
        self.answer_all()
        self.assertEqual(self.told(), ["a", "a"])

    def test_lasting_and_new(self) -> None:
        """However many last, whoever meets a new problem is told first."""
        self.writer.lead()
        lasting = [problem(str(number)) for number in range(100)]
        self.come(*lasting)
        for _ in range(100):
            self.answer_all()
            self.clock.advance(1)
        self.assertEqual(len(self.told()), 100)
        self.clock.advance(3720)
        self.questions.answer({})
        self.come(problem("new"))
        while "new" not in self.told():
            self.questions.answer({})
            self.clock.advance(0.1)
        self.assertLess(len(self.told()), 160)

    def test_lasting_while_nothing_can_be_written(self) -> None:
        """However often it is found that Events may be gone, each problem waits once."""
        self.writer.lead()
        self.come(problem("a"), problem("b"), problem("c"))
        self.answer_all()
        for _ in range(60):
            self.clock.advance(600)
        self.assertEqual(self.writer.pending, 3)
        self.answer_all()
        self.assertEqual(self.told(), ["a", "b", "c"] * 2)

    def test_no_right_to_count(self) -> None:
        """Without the right to patch Events that is said once, and they are told all the same."""
        self.writer.lead()
        with capturedLogs() as events:
            self.come(problem("a"))
            self.answer_all()
            for _ in range(3):
                self.again("a", 30)
                self.questions.answer(FORBIDDEN)
            self.come(problem("b"))
            self.answer_all()
        self.assertEqual(self.told()[-1], "b")
        self.assertEqual(sum("Not permitted to count Events" in formatEvent(event) for event in events), 1)

    def test_trouble_while_counting(self) -> None:
        """What could not be counted because the API server is away is counted once when it is back."""
        self.writer.lead()
        self.come(problem("a"))
        self.answer_all()
        self.again("a", 30)
        for _ in range(3):
            self.questions.answer(UNREACHABLE)
            self.clock.advance(5)
        self.questions.answer()
        self.assertEqual(self.counts(), [2, 2, 2, 2])

    def test_other_message(self) -> None:
        """Another message about the same object is another Event."""
        self.writer.lead()
        self.come(problem("a"), problem("a", message="other"))
        self.answer_all()
        self.assertEqual(self.told(), ["a", "a"])

    def test_solved_in_time(self) -> None:
        """A problem is told of when it has lasted for a moment; one that is solved before is not."""
        self.writer.lead()
        self.present += [problem("a"), problem("b")]
        self.writer.problems_changed(self.present, [])
        self.clock.advance(SETTLE_SECONDS - 0.1)
        self.assertEqual(self.told(), [])
        self.go(problem("b"))
        self.clock.advance(0.1)
        self.answer_all()
        self.assertEqual(self.told(), ["a"])

    def test_solved_after_the_beginning(self) -> None:
        """A problem that a new leader found, and that is solved before its turn, is not told of."""
        self.present = [problem("a"), problem("b")]
        self.writer.lead()
        self.present = [problem("b")]
        self.writer.problems_changed([], [problem("a")])
        self.answer_all()
        self.assertEqual((self.told(), self.writer.pending), (["b"], 0))

    def test_solved_meanwhile(self) -> None:
        """A problem that is solved while the API server does not take its Event is not told of later."""
        self.writer.lead()
        self.come(problem("a"))
        self.clock.advance(0)
        self.go(problem("a"))
        self.questions.answer(UNREACHABLE)
        self.clock.advance(3600)
        self.assertEqual(self.told(), ["a"])

    def test_manifests(self) -> None:
        """A file is no object of the cluster."""
        self.present = [evolve(problem("a.yaml"), kind="Manifest", namespace="")]
        self.writer.lead()
        self.clock.advance(600)
        self.assertEqual(self.told(), [])

    def test_pace(self) -> None:
        """Many problems are told of at the pace that is meant."""
        self.present = [problem(f"w{number}") for number in range(BOUNDS.at_once + 20)]
        self.writer.lead()
        self.answer_all()
        self.assertEqual((len(self.told()), self.writer.pending), (BOUNDS.at_once, 20))
        for _ in range(20):
            self.clock.advance(1 / BOUNDS.per_second + 0.001)
            self.questions.answer()
        self.clock.advance(60)
        self.assertEqual((len(self.told()), self.writer.pending), (BOUNDS.at_once + 20, 0))

    def test_bound(self) -> None:
        """More problems than there is room for are counted and forgotten, those that come once nothing has changed for a moment."""
        self.writer = self.make_writer(most_pending=5)
        self.present = [problem(f"w{number}") for number in range(8)]
        self.writer.lead()
        more = [problem(f"m{number}") for number in range(20)]
        self.present += more
        self.writer.problems_changed(more, [])
        self.assertEqual((self.writer.pending, self.count("dropped")), (5, 3))
        self.clock.advance(SETTLE_SECONDS)
        self.assertEqual(self.writer.pending, 5)
        dropped = self.count("dropped")
        self.assertGreater(dropped, 3)
        self.answer_all()
        self.clock.advance(SETTLE_SECONDS)
        self.answer_all()
        self.assertEqual((len(self.told()), self.count("dropped")), (28 - dropped, dropped))

    def test_all_are_replaced(self) -> None:
        """Where as many problems are replaced by others as there is room for, none of these is dropped, in whatever portions that is told."""
        self.writer = self.make_writer(most_pending=6)
        went = [problem(f"w{number}") for number in range(6)]
        came = [problem(f"c{number}") for number in range(6)]
        self.writer.lead()
        self.present = list(went)
        self.writer.problems_changed(went, [])
        self.present = list(came)
        self.writer.problems_changed(came[:4], [])
        self.clock.advance(SETTLE_SECONDS - 0.1)
        self.writer.problems_changed(came[4:], went[:1])
        self.clock.advance(0.05)
        self.writer.problems_changed([], went[1:])
        self.clock.pump([0.0] * 8 + [SETTLE_SECONDS])
        self.answer_all()
        self.assertEqual(
            (sorted(self.told()), self.count("dropped")), ([f"c{number}" for number in range(6)], 0)
        )

    def test_solved_before_there_is_room(self) -> None:
        """What is solved while there is no room for it is neither told nor dropped; nor is anything by who leads no more."""
        self.writer = self.make_writer(most_pending=1)
        self.present = [problem("a"), problem("b")]
        self.writer.lead()
        self.writer.problems_changed([problem("c")], [])
        self.writer.problems_changed([], [problem("c")])
        self.clock.advance(SETTLE_SECONDS)
        self.assertEqual(self.count("dropped"), 1)
        self.writer.problems_changed([problem("d"), problem("e")], [])
        self.writer.follow()
        self.clock.advance(SETTLE_SECONDS)
        self.assertEqual(self.count("dropped"), 1)

    def test_server_in_trouble(self) -> None:
        """While the API server is in trouble the problem is tried again, ever more rarely, and others wait."""
        self.present = [problem("a"), problem("b")]
        with capturedLogs() as events:
            self.writer.lead()
            self.clock.advance(0)
            for pause in (0.5, 1.0, 2.0):
                self.questions.answer(UNREACHABLE)
                self.clock.advance(pause - 0.01)
                self.assertFalse(self.questions.is_open)
                self.clock.advance(0.02)
            self.answer_all()
        self.assertEqual(set(self.told()), {"a", "b"})
        self.assertEqual(len(events), 2)

    def test_forbidden(self) -> None:
        """Without the right that is said once, and the namespace is left alone for a while; others are not."""
        self.present = [problem("a"), problem("b"), problem("c", "blog")]
        with capturedLogs() as events:
            self.writer.lead()
            self.clock.advance(0)
            self.questions.answer(FORBIDDEN)
            self.clock.advance(0)
            self.clock.advance(0)
            self.questions.answer(FORBIDDEN)
            self.clock.advance(4.9)
            self.assertEqual(self.told(), ["a", "c"])
            self.clock.advance(2)
            self.answer_all()
            self.clock.advance(2)
            self.answer_all()
        self.assertEqual(sorted(self.told()), ["a", "a", "b", "c", "c"])
        self.assertEqual(sum("Not permitted" in formatEvent(event) for event in events), 1)

    def test_what_the_server_does_not_take(self) -> None:
        """An Event that the API server does not take is not tried again; where the answer says something else it is, ever more rarely."""
        self.present = [problem("a"), problem("b")]
        self.writer.lead()
        self.clock.advance(0)
        self.questions.answer(KubernetesError(422, "Invalid", "x"))
        for _ in range(4 * 3600):
            self.clock.advance(1)
            if self.questions.is_open:
                self.questions.answer(KubernetesError(405, "MethodNotAllowed", "x"))
        self.assertEqual(self.told(), ["a", *["b"] * 12])

    def test_server_that_fails(self) -> None:
        """While the API server fails, Events are tried one at a time, once a minute in the end, and none is given up."""
        self.present = [problem(name) for name in "abc"]
        self.writer.lead()
        self.answer_for(3600, KubernetesError(500, "InternalError", "etcd"))
        before = len(self.told())
        self.assertLess(before, 3600 / 25)
        self.answer_for(120, DONE)
        self.assertEqual(sorted(self.told()[before:]), ["a", "b", "c"])

    def test_webhook_that_fails(self) -> None:
        """Where a webhook fails for Events, they are told ever more rarely, and given up in the end: there may be thousands of them."""
        self.present = [problem("a"), problem("b")]
        self.writer.lead()
        self.answer_for(4 * 3600, KubernetesError(500, "InternalError", 'failed calling webhook "x"'))
        self.assertEqual(sorted(self.told()), [*["a"] * 12, *["b"] * 12])
        self.assertEqual((self.writer.pending, self.writer._writer.failing(1)), (0, set()))

    def answer_for(self, seconds: int, outcome: Outcome) -> None:
        """Let time pass, and give everything that is asked this answer."""
        for _ in range(seconds):
            self.clock.advance(1)
            if self.questions.is_open:
                self.questions.answer(outcome)

    def test_what_may_pass(self) -> None:
        """What something in between answers is no word of the API server: the Event is told later."""
        for status in (302, 304, 404, 405, 410):
            self.present = [problem(f"of {status}")]
            self.writer.lead()
            self.clock.advance(0)
            self.questions.answer(KubernetesError(status, "Found", "no message"))
            self.clock.advance(2)
            self.answer_all()
            self.assertEqual(self.told()[-2:], [f"of {status}"] * 2)
            self.writer.follow()

    def test_no_namespace(self) -> None:
        """Where the API server says that there is no such namespace, nobody is told."""
        self.present = [problem("a")]
        self.writer.lead()
        self.clock.advance(0)
        self.questions.answer(MISSING)
        self.clock.advance(3600)
        self.assertEqual(self.told(), ["a"])

    def test_end_of_a_namespace(self) -> None:
        """A namespace that is being deleted takes no Events, and that is no missing right."""
        message = "forbidden: unable to create new content in namespace shop because it is being terminated"
        self.present = [problem("a")]
        with capturedLogs() as events:
            self.writer.lead()
            self.clock.advance(0)
            self.questions.answer(KubernetesError(403, "Forbidden", message))
            self.clock.advance(3600)
        self.assertEqual(self.told(), ["a"])
        self.assertNotIn("Not permitted", "".join(formatEvent(event) for event in events))

    def test_ceasing_to_lead(self) -> None:
        """Who does not lead any more tells nobody, and forgets what was to be told."""
        self.present = [problem("a"), problem("b")]
        self.writer.lead()
        self.clock.advance(0)
        self.writer.follow()
        self.questions.answer(UNREACHABLE)
        self.clock.advance(3600)
        self.assertEqual((self.told(), self.writer.pending), (["a"], 0))

    def test_withheld(self) -> None:
        """What was withheld, because we do not lead any more, is no failure."""
        self.present = [problem("a")]
        with capturedLogs() as events:
            self.writer.lead()
            self.clock.advance(0)
            self.questions.answer(KubernetesError(0, "Withheld", "x"))
            self.writer.follow()
        self.assertEqual((events, self.count("failed")), ([], 0))

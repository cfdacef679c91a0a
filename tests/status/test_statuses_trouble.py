"""Tests for ``ingress.status.statuses`` and its writer: what goes wrong, and how many go at a time."""

from collections.abc import Callable
from random import Random

from twisted.logger import capturedLogs, formatEvent

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_thread import Outcome
from ingress.cluster.store import Changes, Store
from ingress.errors import KubernetesError
from ingress.model.cluster.objects import Kind
from ingress.status.statuses import BOUNDS
from tests.status.questions import DONE, FORBIDDEN, MISSING, UNREACHABLE, ManyQuestions
from tests.status.statuses_case import ONE, TWO, US, WriterCase, key


class TroubleTests(WriterCase):
    """What goes wrong."""

    failure = UNREACHABLE

    def failed_writes(self) -> float:
        """Return how many writes were counted as failed."""
        return next(
            sample.value
            for family in self.metrics.families()
            for sample in family.samples
            if sample.name == "ingress_status_writes_total" and sample.labels == {"outcome": "failed"}
        )

    def fail_with(self, error: KubernetesError) -> None:
        self.turn()
        self.questions.answer(error)

    def test_server_in_trouble(self) -> None:
        """While the API server is in trouble, one Ingress is tried at a time, ever more rarely."""
        for name in "abc":
            self.put(name)
        with capturedLogs() as events:
            self.writer.lead()
            self.fail_with(UNREACHABLE)
            for pause in (0.5, 1.0, 2.0, 4.0):
                self.turn(pause - 0.01)
                self.assertFalse(self.questions.is_open)
                self.turn(0.02)
                self.questions.answer(UNREACHABLE)
        self.assertEqual(len(events), 1)
        self.turn(10)
        self.answer_all()
        self.assertEqual({name for name, _ in self.written()}, set("abc"))

    def test_retry_after(self) -> None:
        """The wait that the API server asks for is kept."""
        self.put("web")
        self.writer.lead()
        self.fail_with(KubernetesError(429, "TooManyRequests", "x", 20.0))
        self.turn(19.9)
        self.assertFalse(self.questions.is_open)
        self.turn(0.2)
        self.questions.answer()

    def test_one_object(self) -> None:
        """An Ingress that the API server does not take holds up no other, and is tried ever more rarely."""
        self.put("bad")
        self.put("good")
        self.writer.lead()
        self.fail_with(KubernetesError(422, "Invalid", "x"))
        self.answer_all()
        self.assertEqual([name for name, _ in self.written()], ["bad", "good"])
        for _ in range(3600):
            self.turn(1)
            if self.questions.is_open:
                self.questions.answer(KubernetesError(422, "Invalid", "x"))
        self.assertLess(len(self.questions.asked), 140)

    def test_put_off(self) -> None:
        """Where many that were put off are written one after the other, that is not a line of the log for each, and all are counted."""
        refused: set[str] = set()
        with capturedLogs() as events:
            self.writer.lead()
            for number in range(300):
                if number % 5 == 0:
                    self.put(f"i{number}")
                self.turn(0.1)
                if self.questions.is_open:
                    name = self.questions.asked[-1].path
                    self.questions.answer(DONE if name in refused else KubernetesError(422, "Invalid", "x"))
                    refused.add(name)
            self.turn(10)
            self.answer_all()
        told = [str(event["what"]) for event in events if "what" in event]
        self.assertEqual(sum(int(one.split()[0]) for one in told), 60)
        self.assertLess(len(told), 6, told)

    def test_gone(self) -> None:
        """An Ingress that the API server does not know any more is left alone until its deletion arrives."""
        self.put("web")
        self.writer.lead()
        self.fail_with(MISSING)
        self.turn(0.9)
        self.writer.objects_changed(self.store.changed({(Kind.INGRESS, key("web")): None}))
        self.turn(600)
        self.assertEqual(len(self.questions.asked), 1)

    def test_overtaken_for_ever(self) -> None:
        """An Ingress that somebody else is said to have changed, again and again though nothing is seen of it, is told of."""
        self.metrics.began()
        self.put("web")
        with capturedLogs() as events:
            self.writer.lead()
            for _ in range(600):
                self.turn(1)
                if self.questions.is_open:
                    self.questions.answer(KubernetesError(409, "Conflict", "it has been modified"))
        self.assertIn("409 Conflict", formatEvent(events[0]))
        self.assertGreater(self.failed_writes(), 5)
        self.assertLess(len(self.questions.asked), 40)
        before = self.failed_writes()
        self.writer.objects_changed(Changes(metas=((Kind.INGRESS, key("web")),)))
        self.turn(60)
        self.questions.answer(KubernetesError(409, "Conflict", "it has been modified"))
        self.assertEqual(self.failed_writes(), before)

    def test_page_in_between(self) -> None:
        """A 404 that does not name the Ingress says nothing of its end: it is a failure, and counted."""
        self.metrics.began()
        self.put("web")
        with capturedLogs() as events:
            self.writer.lead()
            self.fail_with(KubernetesError(404, "NotFound", "it does not serve that"))
        self.assertEqual(self.failed_writes(), 1)
        self.assertIn("404 NotFound", formatEvent(events[0]))
        self.turn(2)
        self.answer_all()
        self.assertEqual([name for name, _ in self.written()], ["web", "web"])

    def test_forbidden(self) -> None:
        """Without the right that is said once, and a namespace is left alone for a while; others are not."""
        for name in "abc":
            self.put(name)
        self.put("d", namespace="blog")
        with capturedLogs() as events:
            self.writer.lead()
            self.fail_with(FORBIDDEN)
            self.turn()
            self.questions.answer()
            self.turn(4.9)
            self.assertEqual([name for name, _ in self.written()], ["a", "d"])
            self.turn(2)
            self.questions.answer(FORBIDDEN)
            self.turn(10)
        self.assertEqual(sum("Not permitted" in formatEvent(event) for event in events), 2)
        self.assertEqual(len(self.questions.asked), 3)

    def test_not_leading_any_more(self) -> None:
        """What was withheld, because we do not lead any more, is no failure and is not tried in a hurry."""
        self.put("web")
        with capturedLogs() as events:
            self.writer.lead()
            self.fail_with(KubernetesError(0, "Withheld", "x"))
            self.turn(0.4)
        self.assertEqual((events, len(self.questions.asked)), ([], 1))

    def test_ceasing_to_lead(self) -> None:
        """Who does not lead any more asks nothing, and takes what is under way for what it is."""
        self.put("a")
        self.put("b")
        self.writer.lead()
        self.turn()
        self.writer.follow()
        self.questions.answer(DONE)
        self.turn(600)
        self.assertEqual((len(self.questions.asked), self.writer.pending), (1, 0))

    def test_two_writers(self) -> None:
        """Another controller that writes the same Ingress again and again is answered ever more rarely."""
        self.writer.lead()
        self.put("web")
        for _ in range(3600):
            self.turn(1)
            if self.questions.is_open:
                self.questions.answer()
                self.put("web", ONE, writer=US)
                self.put("web", TWO, writer="them")
        self.assertLess(len(self.questions.asked), 140)
        self.assertGreater(len(self.questions.asked), 20)

    def test_a_few_hang(self) -> None:
        """Where the API server fails for a few objects alone, nobody waits for them once that shows, and they go last and ever more rarely."""
        bad = {f"bad{number}" for number in range(12)}
        for number in range(20):
            self.put(f"bad{number % 12}")
            self.put(f"good{number}")
        self.writer.lead()
        self.answer_by_name(60, bad)
        self.assertEqual({name for name, _ in self.written()} - bad, {f"good{n}" for n in range(20)})
        before = len(self.questions.asked)
        self.answer_by_name(600, bad)
        self.assertLess(len(self.questions.asked) - before, 12 * 15)
        for number in range(5):
            self.put(f"later{number}")
            self.answer_by_name(1, bad)
            self.assertIn((f"later{number}", ["192.0.2.1"]), self.written()[-12:])
        # Once they are answered they are as all others.
        self.answer_by_name(130, set())
        before = len(self.questions.asked)
        self.answer_by_name(60, set())
        self.assertEqual(len(self.questions.asked), before)

    def test_a_few_fail(self) -> None:
        """So it is where a webhook fails for a few."""
        self.failure = KubernetesError(500, "InternalError", "failed calling webhook")
        self.test_a_few_hang()

    def answer_by_name(self, seconds: int, bad: set[str]) -> None:
        """Let time pass, and answer what is asked: for *bad* with a failure."""
        for _ in range(seconds * 10):
            self.turn(0.1)
            if self.questions.is_open:
                name = self.questions.asked[-1].path.split("/")[-2]
                self.questions.answer(self.failure if name in bad else DONE)


class ParallelTests(WriterCase):
    """Several writes at a time."""

    bounds = BOUNDS

    def setUp(self) -> None:
        self.many = ManyQuestions()
        super().setUp()

    def ask(self, request: ApiRequest, done: Callable[[Outcome], None]) -> None:
        self.many.ask(request, done)

    def names(self) -> list[str]:
        return [request.path.split("/")[-2] for request, _ in self.many.open]

    def test_how_many(self) -> None:
        """So many are under way, and each answer makes room for one."""
        for number in range(30):
            self.put(f"i{number:02}")
        self.writer.lead()
        self.turn()
        self.assertEqual(len(self.many.open), BOUNDS.under_way)
        for _ in range(3):
            self.many.answer(5)
        self.turn()
        self.assertEqual(
            (len(self.many.open), len(self.many.asked)), (BOUNDS.under_way, BOUNDS.under_way + 3)
        )

    def test_one_object_at_a_time(self) -> None:
        """An Ingress that changes while it is being written is written again after the answer, never beside it."""
        self.put("web")
        self.writer.lead()
        self.turn()
        self.put("web", TWO, writer="them")
        self.put("other")
        self.turn(60)
        self.assertEqual(self.names(), ["web", "other"])
        self.many.answer()
        self.turn()
        self.assertEqual(self.names(), ["other"])
        self.turn(1.1)
        self.assertEqual(self.names(), ["other", "web"])

    def test_leader_again(self) -> None:
        """What was under way when we ceased to lead is answered before the same Ingress is written anew."""
        self.put("web")
        self.writer.lead()
        self.turn()
        self.writer.follow()
        self.writer.lead()
        self.turn()
        self.assertEqual(self.names(), ["web"])
        self.many.answer()
        self.turn(2)
        self.assertEqual(self.names(), ["web"])

    def test_server_that_fails(self) -> None:
        """An API server that fails at whatever it is asked to write is asked ever more rarely, and not by each object in its turn."""
        for number in range(300):
            self.put(f"i{number:03}")
        self.writer.lead()
        for _ in range(600):
            self.turn(1)
            while self.many.open:
                self.many.answer(0, KubernetesError(500, "InternalError", "etcdserver: request timed out"))
        self.assertLess(len(self.many.asked), 30 * BOUNDS.under_way)
        before = len(self.many.asked)
        for _ in range(65):
            self.turn(1)
            while self.many.open:
                self.many.answer()
                self.turn()
        self.assertEqual(len({request.path for request in self.many.asked[before:]}), 300)

    def test_failures_in_one_namespace(self) -> None:
        """Where the API server fails for hundreds of Ingresses that are all looked at first, others do not wait for these to be tried one by one."""
        self.sees_failures_in_one_namespace(KubernetesError(0, UNREACHABLE.reason, "no answer in time"), 300)

    def test_webhook_of_a_namespace(self) -> None:
        """Nobody waits for any of them where it says that it is a webhook that fails."""
        webhook = 'Internal error occurred: failed calling webhook "a.example.com": failed to call webhook'
        self.sees_failures_in_one_namespace(KubernetesError(500, "InternalError", webhook), 10)

    def test_webhook_that_is_slow(self) -> None:
        """Nobody waits for ever where hundreds fail after seconds, and what is tried again takes up all that may be under way."""
        webhook = 'Internal error occurred: failed calling webhook "a.example.com": context deadline exceeded'
        failure = KubernetesError(500, "InternalError", webhook)
        for number in range(310):
            self.put(f"i{number}", namespace="bad" if number < 300 else "good")
        fails_at: dict[int, int] = {}
        written = 0
        self.writer.lead()
        for second in range(600):
            self.turn(1.0)
            number = 0
            while number < len(self.many.open):
                request, _ = self.many.open[number]
                is_bad = "/namespaces/bad/" in request.path
                if is_bad and second < fails_at.setdefault(id(request), second + 3):
                    number += 1
                    continue
                self.many.answer(number, failure if is_bad else DONE)
                written += not is_bad
                self.turn()
        self.assertEqual(written, 10)

    def sees_failures_in_one_namespace(self, failure: KubernetesError, others: int) -> None:
        """See that all *others* are written within a minute, and how often those with the *failure* are tried."""
        self.random = Random(1).random
        self.make_writer()
        for number in range(300 + others):
            self.put(f"i{number}", namespace="bad" if number < 300 else "good")
        written: set[str] = set()
        with capturedLogs() as events:
            self.writer.lead()
            for _ in range(600):
                self.turn(0.1)
                while self.many.open:
                    is_bad = "/namespaces/bad/" in self.many.open[0][0].path
                    request = self.many.answer(0, failure if is_bad else DONE)
                    if not is_bad:
                        written.add(request.path)
                    self.turn()
        self.assertEqual(len(written), others)
        told = [formatEvent(event) for event in events]
        self.assertEqual(sum(failure.message in one for one in told), 1, told)
        self.assertLess(len(self.many.asked), others + 300 * 8)

    def test_busy_server(self) -> None:
        """An API server that takes five in a second, and refuses the rest, is not asked again and again by each object for itself."""
        busy = (
            KubernetesError(429, "TooManyRequests", "too many requests, please try again later", 1.0),
            KubernetesError(500, "InternalError", "etcdserver: too many requests"),
        )
        for failure in busy:
            self.many = ManyQuestions()
            self.random = Random(1).random
            self.store = Store()
            self.make_writer()
            for number in range(300):
                self.put(f"i{number:03}")
            self.writer.lead()
            written: set[str] = set()
            room = 5.0
            for _ in range(6000):
                self.turn(0.1)
                room = min(5.0, room + 0.5)
                while self.many.open:
                    takes = room >= 1
                    room -= takes
                    request = self.many.answer(0, DONE if takes else failure)
                    if takes:
                        written.add(request.path)
                    self.turn()
            self.assertGreater(len(written), 250, failure)
            self.assertLess(len(self.many.asked), 6 * 300, failure)
            self.writer.follow()

    def test_trouble_of_many(self) -> None:
        """Ten errors at once, because the API server is busy, are one pause, not the tenth."""
        for number in range(BOUNDS.under_way):
            self.put(f"i{number}")
        self.writer.lead()
        self.turn()
        while self.many.open:
            self.many.answer(0, UNREACHABLE)
        self.turn(0.6)
        self.assertEqual(len(self.many.open), BOUNDS.under_way)

    def test_refusals_of_many(self) -> None:
        """When the right comes back, all is written within half a minute, however many were refused."""
        for number in range(100):
            self.put(f"i{number:02}")
        self.writer.lead()
        for _ in range(600):
            self.turn(1)
            while self.many.open:
                self.many.answer(0, FORBIDDEN)
        self.assertLess(len(self.many.asked), 600 / 20 * BOUNDS.under_way + 100)
        before = len(self.many.asked)
        for _ in range(30):
            self.turn(1)
            while self.many.open:
                self.many.answer()
                self.turn()
        self.assertEqual(len({request.path for request in self.many.asked[before:]}), 100)

    def test_ten_thousand(self) -> None:
        """Ten thousand are written within a minute when the API server answers in 30 ms, each once."""
        for number in range(10_000):
            self.put(f"i{number:05}")
        self.writer.lead()
        waiting: list[float] = []
        seconds = 0.0
        while len(self.many.asked) < 10_000 and seconds < 100:
            while waiting and waiting[0] <= self.clock.seconds():
                waiting.pop(0)
                self.many.answer()
            self.turn(0.01)
            seconds += 0.01
            waiting += [self.clock.seconds() + 0.03] * (len(self.many.open) - len(waiting))
        self.assertLess(seconds, 60)
        self.assertEqual(len({request.path for request in self.many.asked}), 10_000)

"""Tests for ``ingress.status.statuses`` and its writer: what is written, how often, and what is not."""

from collections.abc import Callable
from datetime import UTC, datetime

from attrs import evolve
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_thread import Outcome
from ingress.cluster.store import Store
from ingress.errors import KubernetesError
from ingress.metrics.status import StatusMetrics
from ingress.model.object_meta import Address, ObjectMeta
from ingress.model.objects import Kind, ObjectKey, Projection, Service
from ingress.model.reporting import Reporting
from ingress.status.refusals import Refusals
from ingress.status.report_writer import Sending
from ingress.status.statuses import BOUNDS, Statuses
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, IngressClass
from tests.status.questions import DONE, FORBIDDEN, UNREACHABLE, ManyQuestions, Questions

NOW = datetime(2026, 11, 20, tzinfo=UTC)
US = "txingress/ours/ingress-leader"
SERVICE = ObjectKey("ours", "txingress")
ONE, TWO = Address("192.0.2.1"), Address("192.0.2.2")


def key(name: str) -> ObjectKey:
    return ObjectKey("shop", name)


class WriterCase(SynchronousTestCase):
    """A writer with a store, on a clock."""

    settings = Reporting(publish_addresses=(ONE,))
    bounds = evolve(BOUNDS, under_way=1)

    def setUp(self) -> None:
        self.clock = Clock()
        self.store = Store()
        self.questions = Questions()
        self.metrics = StatusMetrics()
        self.writer = Statuses(
            Sending(self.clock, self.ask, (2.0, 3.0), self.clock.seconds, lambda: 0.0, Refusals()),
            self.store.state,
            self.settings,
            TranslateOptions(),
            US,
            self.metrics,
            lambda: NOW,
            bounds=self.bounds,
        )
        self.addCleanup(self.check_clean)

    def ask(self, request: ApiRequest, done: Callable[[Outcome], None]) -> None:
        self.questions.ask(request, done)

    def check_clean(self) -> None:
        self.writer.follow()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def put(
        self,
        name: str,
        *addresses: Address,
        class_name: str = "nginx",
        writer: str = "",
        namespace: str = "shop",
    ) -> None:
        """Let the watch show an Ingress."""
        where = ObjectKey(namespace, name)
        meta = ObjectMeta(f"uid-of-{name}", addresses, (), writer)
        projection = Projection(Ingress(where, class_name=class_name), (), meta)
        self.writer.objects_changed(self.store.changed({(Kind.INGRESS, where): projection}))

    def put_service(self, meta: ObjectMeta) -> None:
        value = Service(SERVICE, "LoadBalancer")
        changes = self.store.changed({(Kind.SERVICE, SERVICE): Projection(value, (), meta)})
        self.writer.objects_changed(changes)

    def turn(self, seconds: float = 0.0) -> None:
        self.clock.advance(seconds)

    def written(self) -> list[tuple[str, list[str] | None]]:
        """What was asked so far: the names of Ingresses with their addresses."""
        found = []
        for request in self.questions.asked:
            assert request.body is not None
            entries = request.body["status"]["loadBalancer"]["ingress"]
            addresses = None if entries is None else ["".join(entry.values()) for entry in entries]
            found.append((request.path.split("/")[-2], addresses))
        return found

    def answer_all(self, limit: int = 1000) -> None:
        """Answer as long as something is asked, without time passing."""
        for _ in range(limit):
            self.turn()
            if not self.questions.is_open:
                return
            self.questions.answer()


class WritingTests(WriterCase):
    """What is written."""

    def test_request(self) -> None:
        """A status is written by a merge patch of the subresource, under our name, in bounded time."""
        self.put("web")
        self.writer.lead()
        self.turn()
        request = self.questions.answer()
        self.assertEqual(request.method, "PATCH")
        self.assertEqual(request.path, "/apis/networking.k8s.io/v1/namespaces/shop/ingresses/web/status")
        self.assertEqual(request.query, (("fieldManager", US),))
        self.assertEqual(request.content_type, "application/merge-patch+json")
        self.assertEqual(request.body, {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}})
        self.assertEqual(request.timeouts, (2.0, 3.0))

    def test_only_a_leader(self) -> None:
        """Who does not lead looks at nothing."""
        self.put("web")
        self.turn(3600)
        self.assertEqual((self.questions.asked, self.writer.pending), ([], 0))

    def test_becoming_leader(self) -> None:
        """A new leader looks at everything, and writes what is different."""
        self.put("right", ONE)
        self.put("none")
        self.put("wrong", TWO, writer="them")
        self.put("other", class_name="other")
        self.writer.lead()
        self.answer_all()
        self.assertEqual(self.written(), [("none", ["192.0.2.1"]), ("wrong", ["192.0.2.1"])])

    def test_new_ingress(self) -> None:
        """An Ingress that comes is written at once, and not again when its event shows what was written."""
        self.writer.lead()
        self.put("web")
        self.answer_all()
        self.put("web", ONE, writer=US)
        self.answer_all()
        self.turn(600)
        self.assertEqual(self.written(), [("web", ["192.0.2.1"])])

    def test_late_event(self) -> None:
        """What was written counts, although the watch still shows what was before."""
        self.writer.lead()
        self.put("web")
        self.answer_all()
        self.writer.follow()
        self.writer.lead()
        self.turn()
        self.assertEqual(len(self.questions.asked), 2)  # a new leader trusts nobody
        self.questions.answer()
        changed = Ingress(key("web"), class_name="nginx", annotations={"a": "b"})
        projection = Projection(changed, (), ObjectMeta("uid-of-web"))
        self.writer.objects_changed(self.store.changed({(Kind.INGRESS, key("web")): projection}))
        self.turn(600)
        self.assertEqual(len(self.questions.asked), 2)

    def test_overtaken_by_another(self) -> None:
        """What another controller wrote behind us, and the watch shows before our answer comes, is seen."""
        self.writer.lead()
        self.put("web")
        self.turn()
        self.put("web", TWO, writer="them")
        self.questions.answer()
        self.turn(2)
        self.assertTrue(self.questions.is_open)
        self.put("web", ONE, writer=US)
        self.questions.answer()
        self.turn(600)
        self.assertEqual(self.written(), [("web", ["192.0.2.1"])] * 2)

    def test_class_comes(self) -> None:
        """When a class becomes ours, its Ingresses are written."""
        self.put("web", class_name="fast")
        self.writer.lead()
        self.answer_all()
        self.assertEqual(self.written(), [])
        fast = IngressClass(ObjectKey("", "fast"), "k8s.io/ingress-nginx")
        changes = self.store.changed({(Kind.INGRESS_CLASS, fast.key): Projection(fast)})
        self.writer.objects_changed(changes)
        self.answer_all()
        self.assertEqual(self.written(), [("web", ["192.0.2.1"])])

    def test_many(self) -> None:
        """Many Ingresses are looked at in portions, and written at the pace that is meant."""
        count = BOUNDS.at_once + 40
        for number in range(count):
            self.put(f"w{number}")
        self.put("right", ONE)
        self.writer.lead()
        self.answer_all()
        self.assertEqual(len(self.questions.asked), BOUNDS.at_once)
        # The last one is as it should be, but its turn has not come.
        self.assertEqual(self.writer.pending, 41)
        for _ in range(40):
            self.turn(1 / BOUNDS.per_second + 0.001)
            self.questions.answer()
        self.turn(1)
        self.assertEqual((len(self.questions.asked), self.writer.pending), (count, 0))

    def test_log(self) -> None:
        """What was written is one line, when all is as it should be."""
        self.put("a")
        self.put("b")
        with capturedLogs() as events:
            self.writer.lead()
            self.answer_all()
            self.turn(600)
        self.assertEqual(
            [formatEvent(event) for event in events],
            ["Wrote the status of 2 Ingresses; the address of those served is 192.0.2.1"],
        )

    def test_deleted_in_time(self) -> None:
        """An Ingress that is gone before its turn is not written."""
        self.writer.lead()
        self.put("web")
        self.writer.objects_changed(self.store.changed({(Kind.INGRESS, key("web")): None}))
        self.answer_all()
        self.assertEqual(self.written(), [])


class LeavingTests(WriterCase):
    """Ingresses that leave our class."""

    def test_cleared(self) -> None:
        """What we wrote is removed, once."""
        self.writer.lead()
        self.put("web", ONE, writer=US)
        self.answer_all()
        self.put("web", ONE, writer=US, class_name="other")
        self.answer_all()
        self.put("web", class_name="other")
        self.turn(600)
        self.assertEqual(self.written(), [("web", None)])

    def test_before_we_led(self) -> None:
        """What a leader before us wrote, or we in another life, is removed, too."""
        self.put("web", ONE, writer=US, class_name="other")
        self.writer.lead()
        self.answer_all()
        self.assertEqual(self.written(), [("web", None)])

    def test_taken_over(self) -> None:
        """What another controller wrote stays, before our eyes or not."""
        self.writer.lead()
        self.put("web", ONE, writer=US)
        self.answer_all()
        self.put("web", TWO, writer="them", class_name="other")
        self.put("same", ONE, writer="them", class_name="other")
        self.turn(600)
        self.assertEqual(self.written(), [])

    def test_without_managed_fields(self) -> None:
        """Where nobody says who wrote, our addresses are removed if the Ingress left before our eyes."""
        self.writer.lead()
        self.put("web")
        self.put("never", ONE, class_name="other")
        self.answer_all()
        self.put("web", ONE)
        self.put("web", ONE, class_name="other")
        self.turn()
        self.assertEqual(self.written(), [("web", ["192.0.2.1"])])
        # It rests for a moment after the write before.
        self.turn(2)
        self.answer_all()
        self.turn(600)
        self.assertEqual(self.written(), [("web", ["192.0.2.1"]), ("web", None)])

    def test_left_while_written(self) -> None:
        """An Ingress that leaves while it is written is cleared behind that."""
        self.writer.lead()
        self.put("web")
        self.turn()
        self.put("web", class_name="other")
        self.questions.answer()
        self.turn(2)
        self.answer_all()
        self.assertEqual(self.written(), [("web", ["192.0.2.1"]), ("web", None)])


class ServiceTests(WriterCase):
    """Addresses of a Service."""

    settings = Reporting(publish_service=SERVICE)

    def test_follows_the_service(self) -> None:
        """Nothing is written before the Service is known, and everything when its addresses change."""
        with capturedLogs() as events:
            self.writer.lead()
            self.put("web", TWO)
            self.answer_all()
            self.put("more", TWO)
            self.answer_all()
        self.assertEqual(self.written(), [])
        self.assertEqual(len(events), 1)
        self.assertIn("there is no Service ours/txingress", formatEvent(events[0]))
        self.writer.objects_changed(self.store.changed({(Kind.INGRESS, key("more")): None}))
        self.put_service(ObjectMeta("u", (ONE,)))
        self.answer_all()
        self.put("web", ONE)
        self.turn(10)
        self.put_service(ObjectMeta("u", (ONE, TWO)))
        self.answer_all()
        self.put("web", ONE, TWO)
        self.turn(10)
        self.put_service(ObjectMeta("u"))
        self.answer_all()
        expected = [("web", ["192.0.2.1"]), ("web", ["192.0.2.1", "192.0.2.2"]), ("web", None)]
        self.assertEqual(self.written(), expected)

    def test_service_deleted(self) -> None:
        """When the Service is gone, what the Ingresses show stays."""
        self.put_service(ObjectMeta("u", (ONE,)))
        self.writer.lead()
        self.put("web", ONE)
        self.writer.objects_changed(self.store.changed({(Kind.SERVICE, SERVICE): None}))
        self.turn(600)
        self.assertEqual(self.written(), [])

    def test_other_addresses_are_shown_soon(self) -> None:
        """However often the addresses changed before, new ones are written within two seconds."""
        self.writer.lead()
        self.put("web")
        expected = []
        for number in range(1, 9):
            address = Address(f"192.0.2.{number}")
            expected.append(("web", [address.ip]))
            self.put_service(ObjectMeta("u", (address,)))
            self.turn(0.5)
            self.turn(1)
            self.answer_all()
            self.put("web", address, writer=US)
            self.assertEqual(self.written(), expected)

    def test_other_addresses_during_a_dispute(self) -> None:
        """What rests, because another controller writes it too, is shown new addresses all the same."""
        self.writer.lead()
        self.put_service(ObjectMeta("u", (ONE,)))
        for _ in range(60):
            self.put("web", TWO, writer="them")
            self.turn(1)
            if self.questions.is_open:
                self.questions.answer()
        before = len(self.questions.asked)
        new = Address("192.0.2.9")
        self.put_service(ObjectMeta("u", (new,)))
        self.turn(1)
        self.assertEqual(self.written()[before:], [("web", [new.ip])])


class TroubleTests(WriterCase):
    """What goes wrong."""

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

    def test_gone(self) -> None:
        """An Ingress that the API server does not know any more is left alone until its deletion arrives."""
        self.put("web")
        self.writer.lead()
        self.fail_with(KubernetesError(404, "NotFound", "x"))
        self.turn(0.9)
        self.writer.objects_changed(self.store.changed({(Kind.INGRESS, key("web")): None}))
        self.turn(600)
        self.assertEqual(len(self.questions.asked), 1)

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

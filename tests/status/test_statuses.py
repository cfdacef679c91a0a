"""Tests for ``ingress.status.statuses`` and its writer: what is written, and what is not."""

from attrs import evolve
from twisted.logger import capturedLogs, formatEvent

from ingress.model.cluster.object_meta import Address, ObjectMeta
from ingress.model.cluster.objects import Kind, ObjectKey, Projection
from ingress.model.reporting.reporting import Reporting
from ingress.status.statuses import BOUNDS
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.kind import REPORTED
from ingress.translate.readers.ingress.objects import Ingress, IngressBackend, IngressClass
from tests.status.statuses_case import ONE, SERVICE, TWO, US, WriterCase, key


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

    def test_catch_all_that_is_disabled(self) -> None:
        """An Ingress that is not served for its default backend shows no address of ours."""
        served, default = Ingress(key("web"), class_name="nginx"), IngressBackend("web")
        meta = ObjectMeta("uid", (ONE,), (), US)
        options = TranslateOptions(disable_catch_all=True)
        for value, is_ours in ((served, True), (evolve(served, default_backend=default), False)):
            changes = self.store.changed({(Kind.INGRESS, value.key): Projection(value, (), meta)})
            self.assertTrue(changes.objects)
            self.assertEqual(REPORTED.is_ours(value.key, self.store.state(), options), is_ours)

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

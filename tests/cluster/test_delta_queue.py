"""Tests for ``ingress.cluster.delta_queue``."""

from collections.abc import Callable
from functools import partial
from threading import Thread

from attrs import Factory, define
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.delta_queue import DeltaQueue
from ingress.model.cluster.objects import Batch, Kind, ObjectId, ObjectKey, Projection, Secret, Service


@define
class SinkLog:
    """Keeps what a sink was told, in order."""

    batches: list[Batch] = Factory(list)
    content: dict[ObjectId, Projection | None] = Factory(dict)
    told: list[str] = Factory(list)
    fails: bool = False

    def changed(self, batch: Batch) -> None:
        if self.fails:
            self.fails = False
            raise ValueError("a bug of the sink")
        self.batches.append(batch)
        self.content.update(batch)
        self.told.append("changed")

    def synced(self) -> None:
        self.told.append("synced")


def service_id(name: str) -> ObjectId:
    return Kind.SERVICE, ObjectKey("shop", name)


def projection(name: str, kind: str = "ClusterIP") -> Projection:
    return Projection(Service(ObjectKey("shop", name), kind))


class StoppingSink:
    """A sink that stops the delta queue as soon as it gets something."""

    delta_queue: DeltaQueue

    def __init__(self) -> None:
        self.told: list[str] = []

    def changed(self, batch: Batch) -> None:
        self.told.append("changed")
        self.delta_queue.stop()

    def synced(self) -> None:
        self.told.append("synced")


class BusySink(SinkLog):
    """A sink that is told more while it takes something, as another thread does it: each of *more* is called once."""

    def __init__(self, *more: Callable[[], object]) -> None:
        super().__init__()
        self.more = list(more)

    def changed(self, batch: Batch) -> None:
        if self.more:
            self.more.pop(0)()
        super().changed(batch)


class DeltaQueueTests(SynchronousTestCase):
    """From threads to the reactor."""

    def setUp(self) -> None:
        self.calls: list[Callable[[], None]] = []
        self.sink = SinkLog()
        self.delta_queue = DeltaQueue(self.calls.append, self.sink, ("Service", "Ingress"))

    def turn(self) -> None:
        """Let the reactor do what it was asked to."""
        while self.calls:
            self.calls.pop(0)()

    def test_one_wake_up(self) -> None:
        """Puts between two turns of the reactor wake it once and come as one batch."""
        self.delta_queue.put({service_id("a"): projection("a")})
        self.delta_queue.put({service_id("b"): projection("b")})
        self.assertEqual(len(self.calls), 1)
        self.turn()
        self.assertEqual(
            self.sink.batches, [{service_id("a"): projection("a"), service_id("b"): projection("b")}]
        )
        self.delta_queue.put({service_id("a"): None})
        self.assertEqual(len(self.calls), 1)

    def test_nothing_put(self) -> None:
        """An empty put does not wake the reactor."""
        self.delta_queue.put({})
        self.assertEqual(self.calls, [])

    def test_newest_state_wins(self) -> None:
        """Ten thousand updates of an object while the reactor is busy are one change."""
        for number in range(10_000):
            self.delta_queue.put({service_id("a"): projection("a", str(number))})
        self.turn()
        self.assertEqual(self.sink.batches, [{service_id("a"): projection("a", "9999")}])

    def test_delete_and_create(self) -> None:
        """An object that is deleted and created again in between was only updated."""
        self.delta_queue.put({service_id("a"): None})
        self.delta_queue.put({service_id("a"): projection("a")})
        self.turn()
        self.assertEqual(self.sink.batches, [{service_id("a"): projection("a")}])

    def test_synced_once_after_the_content(self) -> None:
        """The sink is synced once, when every list is complete and was given to it."""
        self.delta_queue.put({service_id("a"): projection("a")})
        self.delta_queue.synced("Service")
        self.turn()
        self.assertEqual(self.delta_queue.missing(), ("Ingress",))
        self.delta_queue.put({service_id("b"): projection("b")})
        self.delta_queue.synced("Ingress")
        self.assertEqual(self.delta_queue.missing(), ("Ingress",))
        self.turn()
        self.assertEqual(self.sink.told, ["changed", "changed", "synced"])
        self.assertEqual(self.delta_queue.missing(), ())
        self.delta_queue.synced("Ingress")
        self.turn()
        self.assertEqual(self.sink.told.count("synced"), 1)

    def test_refused(self) -> None:
        """A list that was refused and is not any more counts as refused until the sink has what was put of it."""
        self.delta_queue.synced("Service", refused=True)
        self.assertFalse(self.delta_queue.is_refused("Service"))
        self.turn()
        self.assertTrue(self.delta_queue.is_refused("Service"))
        self.assertEqual(self.delta_queue.missing(), ("Ingress",))
        self.delta_queue.put({service_id(str(number)): projection("x") for number in range(300)})
        self.delta_queue.synced("Service")
        self.calls.pop(0)()
        self.assertTrue(self.delta_queue.is_refused("Service"))
        self.turn()
        self.assertFalse(self.delta_queue.is_refused("Service"))
        self.assertEqual(len(self.sink.content), 300)

    def test_put_while_the_last_portion_is_taken(self) -> None:
        """What comes in the very moment in which the reactor takes the last that there was is taken, too."""
        for soon in (None, self.calls.append):
            for count in (1, 199, 200, 201):
                sink = BusySink()
                delta_queue = DeltaQueue(self.calls.append, sink, ("Service",), soon=soon)
                sink.more = [
                    partial(delta_queue.put, {service_id("late"): None}),
                    partial(delta_queue.put, {service_id("later"): None}),
                ]
                delta_queue.put({service_id(str(number)): projection("x") for number in range(count)})
                self.turn()
                self.assertIn(service_id("late"), sink.content)
                self.assertIn(service_id("later"), sink.content)

    def test_synced_while_the_last_portion_is_taken(self) -> None:
        """So is the marker of a list that is complete in that moment, with nothing behind it."""
        sink = BusySink()
        delta_queue = DeltaQueue(self.calls.append, sink, ("Service",))
        sink.more = [partial(delta_queue.synced, "Service")]
        delta_queue.put({service_id("a"): projection("a")})
        self.turn()
        self.assertEqual(sink.told, ["changed", "synced"])

    def test_put_while_the_sink_fails(self) -> None:
        """So is what comes while the sink meets a bug."""
        sink = BusySink()
        sink.fails = True
        delta_queue = DeltaQueue(self.calls.append, sink, ("Service",))
        sink.more = [partial(delta_queue.put, {service_id("late"): None})]
        delta_queue.put({service_id("a"): projection("a")})
        with self.assertRaises(ValueError):
            self.calls.pop(0)()
        self.turn()
        self.assertEqual(sink.content, {service_id("late"): None})

    def test_put_after_everything_was_taken(self) -> None:
        """Once nothing is left, the next put wakes the reactor again, each time."""
        for number in range(3):
            self.delta_queue.put({service_id(str(number)): None})
            self.assertEqual(len(self.calls), 1)
            self.turn()
        self.assertEqual(len(self.sink.content), 3)

    def test_put_while_the_collector_is_called(self) -> None:
        """A turn that only collects garbage comes again, whatever is put meanwhile."""
        self.delta_queue.synced("Ingress")
        self.delta_queue.synced("Service")
        self.turn()
        for number in range(60):
            self.delta_queue.put({service_id(str(number)): None})
            if number % 7 == 0 and self.calls:
                self.calls.pop(0)()
        self.turn()
        self.assertEqual(len(self.sink.content), 60)

    def test_portions(self) -> None:
        """A big batch comes in portions with turns between them, and the marker after the last."""
        ids = [service_id(str(number)) for number in range(240)]
        self.delta_queue.synced("Ingress")
        self.delta_queue.put({object_id: projection("x") for object_id in ids})
        self.delta_queue.synced("Service")
        self.calls.pop(0)()
        self.assertEqual(len(self.sink.content), 200)
        self.assertEqual(len(self.calls), 1)
        self.delta_queue.put({ids[239]: None})
        self.assertEqual(len(self.calls), 1)
        self.turn()
        self.assertEqual(set(self.sink.content), set(ids))
        self.assertIsNone(self.sink.content[ids[239]])
        self.assertEqual(self.sink.told, ["changed", "changed", "synced", "changed"])

    def test_portions_while_requests_are_served(self) -> None:
        """After the first sync portions are small, since requests wait meanwhile."""
        self.delta_queue.synced("Ingress")
        self.delta_queue.synced("Service")
        self.turn()
        self.delta_queue.put({service_id(str(number)): projection("x") for number in range(60)})
        self.turn()
        self.assertEqual([len(batch) for batch in self.sink.batches], [10] * 6)

    def test_portions_of_secrets(self) -> None:
        """Secrets, whose key pairs are loaded at once, come one at a time, but for the first sync."""
        secrets = {(Kind.SECRET, ObjectKey("shop", str(number))): projection("x") for number in range(8)}
        self.delta_queue.put(secrets)
        self.delta_queue.synced("Ingress")
        self.delta_queue.synced("Service")
        self.turn()
        others = {service_id(str(number)): projection("x") for number in range(20)}
        self.delta_queue.put({**secrets, **others})
        self.turn()
        self.assertEqual([len(batch) for batch in self.sink.batches], [8, *[1] * 8, 10, 10])
        self.assertEqual(self.sink.content.keys(), {**secrets, **others}.keys())

    def test_portions_of_large_secrets(self) -> None:
        """One with hundreds of kilobytes, whose revocation lists take long to read, comes alone."""
        self.delta_queue.synced("Ingress")
        self.delta_queue.synced("Service")
        self.turn()
        large = {"ca.crl": bytes(800 * 1024)}
        keys = [ObjectKey("shop", str(number)) for number in range(3)]
        self.delta_queue.put({(Kind.SECRET, key): Projection(Secret(key, "Opaque", large)) for key in keys})
        self.turn()
        self.assertEqual([len(batch) for batch in self.sink.batches], [1, 1, 1])

    def test_one_wake_up_for_many_portions(self) -> None:
        """The reactor is woken once, and asks itself for the rest: one portion for each later call."""
        later: list[Callable[[], None]] = []
        delta_queue = DeltaQueue(self.calls.append, self.sink, ("Service",), soon=later.append)
        delta_queue.put({service_id(str(number)): projection("x") for number in range(450)})
        delta_queue.synced("Service")
        self.turn()
        self.assertEqual(self.sink.batches, [])
        while later:
            later.pop(0)()
            self.assertLessEqual(len(later), 1)
        self.assertEqual([len(batch) for batch in self.sink.batches], [200, 200, 50])
        self.assertEqual((self.calls, self.sink.told[-1]), ([], "synced"))

    def test_behind(self) -> None:
        """It is behind while more than a few portions wait to be taken."""
        self.delta_queue.put({service_id(str(number)): projection("x") for number in range(100)})
        self.assertFalse(self.delta_queue.is_behind)
        self.delta_queue.put({service_id("more"): projection("x")})
        self.assertTrue(self.delta_queue.is_behind)
        self.turn()
        self.assertFalse(self.delta_queue.is_behind)

    def test_exact_portion(self) -> None:
        """A batch that fills its last portion exactly still brings its marker."""
        self.delta_queue.synced("Ingress")
        self.delta_queue.put({service_id(str(number)): projection("x") for number in range(200)})
        self.delta_queue.synced("Service")
        self.turn()
        self.assertEqual(self.sink.told, ["changed", "synced"])

    def test_nothing_after_stop(self) -> None:
        """After stop nothing reaches the sink, whether it was put before or after."""
        self.delta_queue.put({service_id("a"): projection("a")})
        self.delta_queue.stop()
        self.delta_queue.put({service_id("b"): projection("b")})
        self.delta_queue.synced("Service")
        self.turn()
        self.assertEqual(self.sink.told, [])

    def test_stop_from_within(self) -> None:
        """A sink may stop the delta queue while it takes a change."""
        for count in (1, 600):
            sink = StoppingSink()
            delta_queue = sink.delta_queue = DeltaQueue(self.calls.append, sink, ("Service",))
            delta_queue.put({service_id(str(number)): projection("x") for number in range(count)})
            delta_queue.synced("Service")
            self.turn()
            self.assertEqual(sink.told, ["changed"])

    def test_a_failing_sink(self) -> None:
        """A bug in the sink costs one portion; what follows still arrives."""
        self.sink.fails = True
        self.delta_queue.put({service_id("a"): projection("a")})
        with self.assertRaises(ValueError):
            self.calls.pop(0)()
        self.delta_queue.put({service_id("b"): projection("b")})
        self.turn()
        self.assertEqual(self.sink.content, {service_id("b"): projection("b")})

    def test_many_threads(self) -> None:
        """Threads that put at the same time lose nothing, and each object ends at its last state."""

        def work(name: str) -> None:
            for number in range(500):
                self.delta_queue.put({service_id(f"{name}{number % 50}"): projection(name, str(number))})
            self.delta_queue.synced(name)

        threads = [Thread(target=work, args=(name,)) for name in ("Service", "Ingress")]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            self.turn()
        self.turn()
        expected = {
            service_id(f"{name}{number}"): projection(name, str(450 + number))
            for name in ("Service", "Ingress")
            for number in range(50)
        }
        self.assertEqual(self.sink.content, expected)
        self.assertEqual(self.sink.told[-1], "synced")

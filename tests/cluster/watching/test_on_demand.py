"""Tests of what an API server has watched for one sink alone, by real requests on loopback."""

from collections.abc import Callable

from attrs import Factory, define

from ingress.cluster.api_server import ApiServerSource
from ingress.cluster.kinds import PODS, WHOLE_NODES
from ingress.cluster.watching import refusal
from ingress.cluster.watching.reflector import Reflector
from ingress.metrics.series.watch import WatchMetrics
from ingress.model.cluster.objects import Batch, Kind, Node, ObjectId, ObjectKey, Pod, Projection
from tests.cluster.source_case import Content, SourceTestCase, running_threads
from tests.fakes.apiserver.faults import Answer, Hang
from tests.status.cluster_nodes import LABELS, node_object, pod_object

SCOPES = ((PODS, "txingress"), (WHOLE_NODES, ""))
OF_SCOPES = ["reflector Node", "reflector Pod in txingress"]


@define
class Beside:
    """A sink beside that of the source."""

    objects: dict[ObjectId, Projection] = Factory(dict)
    complete_times: int = 0

    def changed(self, batch: Batch) -> None:
        for object_id, projection in batch.items():
            if projection is None:
                del self.objects[object_id]
            else:
                self.objects[object_id] = projection

    def complete(self) -> None:
        self.complete_times += 1

    def names(self, kind: Kind = Kind.POD) -> set[str]:
        return {key.name for of, key in self.objects if of is kind}

    @property
    def is_complete(self) -> bool:
        return self.complete_times > 0


class AsideTests(SourceTestCase):
    """Pods and Nodes."""

    async def content(self) -> Content:
        """Start a source whose counts are kept."""
        self.metrics = WatchMetrics()
        return await self.synced(metrics=self.metrics)

    def watch(self) -> tuple[Beside, Callable[[], None]]:
        """Watch on demand, and return who is told and what ends it."""
        sink = Beside()
        assert isinstance(self.running, ApiServerSource)
        return sink, self.running.watch_on_demand(SCOPES, sink)

    async def test_followed(self) -> None:
        """All there is comes first, and then what changes; the sink of the source sees nothing of it."""
        self.server.create(pod_object("a", "n1"))
        self.server.create({**pod_object("b", "n1"), "metadata": {"name": "b", "namespace": "shop"}})
        self.server.create(
            node_object("n1", ("Hostname", "n1"), ("InternalIP", "10.0.0.1"), ("ExternalIP", "192.0.2.1"))
        )
        content = await self.content()
        sink, _ = self.watch()
        await self.until(lambda: sink.is_complete)
        labels = frozenset({*LABELS.items(), ("controller-revision-hash", "a")})
        pod = Pod(ObjectKey("txingress", "a"), "n1", labels, is_ready=True)
        node = Node(ObjectKey("", "n1"), "", "192.0.2.1", "10.0.0.1")
        found = {object_id: one.value for object_id, one in sink.objects.items()}
        self.assertEqual(found, {(Kind.POD, pod.key): pod, (Kind.NODE, node.key): node})
        self.server.create(pod_object("c", "n1"))
        await self.until(lambda: sink.names() == {"a", "c"})
        self.server.delete("Node", "n1")
        await self.until(lambda: sink.names(Kind.NODE) == set())
        self.assertEqual((sink.complete_times, content.objects), (1, {}))

    async def test_end(self) -> None:
        """At its end the threads end, nothing comes any more, and no series is left; a new one begins anew."""
        await self.content()
        for _ in range(3):
            sink, end = self.watch()
            await self.until(lambda sink=sink: sink.is_complete)  # type: ignore[misc]
            self.assertEqual([name for name in sorted(running_threads()) if name in OF_SCOPES], OF_SCOPES)
            shown = [one.kind for one in self.metrics.reflectors if one.kind in (Kind.POD, Kind.NODE)]
            self.assertEqual(shown, [Kind.POD, Kind.NODE])
            end()
            end()
            await self.until(lambda: not set(OF_SCOPES).intersection(running_threads()))
            self.assertEqual(
                [one for one in self.metrics.reflectors if one.kind in (Kind.POD, Kind.NODE)], []
            )
        self.server.create(pod_object("late", "n1"))
        await self.turns()
        self.assertEqual(sink.objects, {})

    async def turns(self) -> None:
        """Have what is under way come: a Service that is created now does."""
        content = Content()
        other = self.source()
        await other.start(content)
        await self.until(lambda: content.synced_times == 1)
        await other.stop()

    async def test_at_the_end_of_the_source(self) -> None:
        """The end of the source is its end, too, also while nothing is answered; the case sees that no thread is left."""
        await self.content()
        self.server.faults.add(Hang(), resource="nodes", times=None)
        sink, _ = self.watch()
        await self.until(lambda: bool(self.server.requests_of("watch", "nodes")))
        self.assertEqual(sink.complete_times, 0)

    async def test_behind_the_end_of_the_source(self) -> None:
        """Whoever comes to lead while the process ends begins nothing any more."""
        await self.content()
        await self.running.stop()
        _, end = self.watch()
        self.assertEqual(running_threads(), [])
        end()

    async def test_forbidden(self) -> None:
        """What is forbidden is a problem among the others and completes nothing, until it is granted; the rest is as ever."""
        self.patch(refusal, "PROBLEM_SECONDS", 0.0)
        self.server.create(pod_object("a", "n1"))
        content = await self.content()
        self.server.faults.add(Answer(403, message="no"), resource="nodes", times=None)
        sink, end = self.watch()
        await self.until(lambda: sink.names() == {"a"} and bool(content.objects))
        ((object_id, projection),) = content.objects.items()
        self.assertEqual(object_id, (Kind.WATCH, ObjectKey("", "Node")))
        self.assertIn("the API server refuses it", projection.problems[0].message)
        asked = len(self.server.requests_of("list", "nodes")) + len(self.server.requests_of("watch", "nodes"))
        await self.until(
            lambda: (
                len(self.server.requests_of("list", "nodes")) + len(self.server.requests_of("watch", "nodes"))
                > asked + 2
            )
        )
        self.assertEqual((sink.complete_times, content.synced_times), (0, 1))
        await self.arrives(content, "web")
        self.server.faults.clear()
        await self.until(lambda: sink.is_complete)
        await self.until(lambda: content.names(Kind.WATCH) == set())
        end()

    async def test_problem_goes_with_the_watch(self) -> None:
        """Whoever does not watch any more has no problem of it."""
        self.patch(refusal, "PROBLEM_SECONDS", 0.0)
        content = await self.content()
        self.server.faults.add(Answer(403, message="no"), resource="pods", times=None)
        _, end = self.watch()
        await self.until(lambda: bool(content.objects))
        end()
        await self.until(lambda: not content.objects)

    async def test_broken_watches(self) -> None:
        """What breaks off and is listed again takes nothing back."""
        self.server.create(pod_object("a", "n1"))
        await self.content()
        sink, _ = self.watch()
        await self.until(lambda: sink.is_complete)
        self.server.close_watches("reset", "pods")
        self.server.create(pod_object("b", "n1"))
        self.server.compact()
        await self.until(lambda: sink.names() == {"a", "b"})
        self.assertEqual(sink.complete_times, 1)

    async def test_answers_again(self) -> None:
        """Whoever hears first that the API server answers again has these try again, too."""
        await self.content()
        self.watch()
        roused: list[str] = []
        self.patch(Reflector, "rouse", lambda reflector: roused.append(f"reflector {reflector.name}"))
        assert isinstance(self.running, ApiServerSource)
        self.running.rouse()
        self.assertEqual(sorted(set(OF_SCOPES).intersection(roused)), OF_SCOPES)

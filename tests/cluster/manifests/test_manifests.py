"""The manifest source: one thread that looks, one reactor thread that is told."""

import os
import threading
from collections.abc import Callable
from queue import Empty, Queue
from time import monotonic

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import LogLevel, capturedLogs
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.manifests import manifests
from ingress.cluster.manifests.manifest_scan import ManifestScan, scan
from ingress.cluster.manifests.manifests import ManifestSource
from ingress.cluster.selected_namespaces import REST_SECONDS
from ingress.cluster.source import Source
from ingress.errors import StartError
from ingress.model.cluster.label_selectors import LabelRequirement, LabelSelector
from ingress.model.cluster.objects import Batch, Kind, ObjectId, ObjectKey, Projection, Service

PREFIX = "nginx.ingress.kubernetes.io"
PATIENCE_SECONDS = 60.0


def text_of(name: str, port: int = 80) -> str:
    """A manifest with one Service."""
    return (
        f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: web}}\n"
        f"spec: {{ports: [{{port: {port}}}]}}\n"
    )


class ReactorThread:
    """Stands for the reactor thread: calls from other threads wait until the test runs them."""

    def __init__(self) -> None:
        self._calls: Queue[Callable[[], None]] = Queue()

    def call_from_thread(self, call: Callable[[], None]) -> None:
        """Do what ``reactor.callFromThread`` does."""
        self._calls.put(call)

    def run_until(self, is_done: Callable[[], object]) -> None:
        """Run calls as they come until *is_done*; fail when that takes too long."""
        deadline = monotonic() + PATIENCE_SECONDS
        while not is_done():
            try:
                self._calls.get(timeout=max(0.0, deadline - monotonic()))()
            except Empty:
                raise AssertionError("nothing more came") from None

    def run_waiting(self) -> None:
        """Run the calls that wait already."""
        while not self._calls.empty():
            self._calls.get()()


class RecordingSink:
    """Keeps what it is told, and by which thread."""

    def __init__(self) -> None:
        self.objects: dict[ObjectId, Projection] = {}
        self.calls = 0
        self.synced_with: list[int] = []
        self.threads: set[threading.Thread] = set()

    def changed(self, batch: Batch) -> None:
        """Take changes."""
        self.calls += 1
        self.threads.add(threading.current_thread())
        for object_id, projection in batch.items():
            if projection is None:
                del self.objects[object_id]
            else:
                self.objects[object_id] = projection

    def synced(self) -> None:
        """Note how many objects there were."""
        self.synced_with.append(len(self.objects))

    def ports(self) -> dict[str, int]:
        """Names of Services, and their ports."""
        values = (projection.value for projection in self.objects.values())
        return {value.key.name: value.ports[0].number for value in values if isinstance(value, Service)}


class ManifestSourceTests(SynchronousTestCase):
    """A source over a real directory, with a real thread."""

    def setUp(self) -> None:
        """Make a directory, a sink, and stand-ins for the reactor."""
        self.root = os.path.abspath(self.mktemp())
        os.mkdir(self.root)
        self.reactor_thread = ReactorThread()
        self.clock = Clock()
        self.sink = RecordingSink()

    def write(self, name: str, text: str) -> None:
        """Write a file by rename."""
        new = os.path.join(self.root, f".{name}.new")
        with open(new, "w") as stream:
            stream.write(text)
        os.replace(new, os.path.join(self.root, name))

    def source(
        self, *paths: str, is_following: bool = False, selector: LabelSelector | None = None
    ) -> ManifestSource:
        """A quick source over *paths*, by default the directory; stopped when the test ends."""
        source = ManifestSource(
            paths or (self.root,),
            PREFIX,
            (),
            self.reactor_thread.call_from_thread,
            self.clock,
            namespace_selector=selector,
            is_following=lambda: is_following,
            scan_interval_seconds=0.02,
            settle_seconds=0.01,
        )
        self.addCleanup(self.stop, source)
        return source

    def stop(self, source: ManifestSource) -> None:
        """Stop *source*, and wait for its thread."""
        self.wait(source.stop())

    def wait(self, deferred: "Deferred[None]") -> None:
        """Run the reactor's calls until *deferred* has a result, which must be None."""
        results: list[object] = []
        deferred.addBoth(results.append)
        self.reactor_thread.run_until(lambda: results)
        self.assertEqual(results, [None])

    def test_is_a_source(self) -> None:
        """It can stand wherever a source is wanted."""
        source: Source = self.source()
        self.assertEqual(source.missing(), ("manifests",))

    def test_first_content(self) -> None:
        """The first content arrives whole, then the sink is synced, once, in the reactor thread."""
        self.write("a.yaml", text_of("a"))
        self.write("b.yaml", text_of("b"))
        source = self.source()
        self.wait(source.start(self.sink))
        self.reactor_thread.run_until(lambda: self.sink.synced_with)
        self.assertEqual(self.sink.ports(), {"a": 80, "b": 80})
        self.assertEqual(self.sink.synced_with, [2])
        self.assertEqual(self.sink.threads, {threading.current_thread()})
        self.assertEqual(source.missing(), ())

    def test_selected_namespaces(self) -> None:
        """Ingresses come and go with the labels that the file of their Namespace says."""
        text = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: site, namespace: web}\nspec: {}\n"
        label = "apiVersion: v1\nkind: Namespace\nmetadata: {{name: web, labels: {{team: {}}}}}\n".format
        self.write("a.yaml", text_of("a"))
        self.write("b.yaml", text)
        self.write("c.yaml", label("b"))
        source = self.source(selector=LabelSelector((LabelRequirement("team", "In", ("a",)),)))
        self.wait(source.start(self.sink))
        self.reactor_thread.run_until(lambda: self.sink.synced_with)
        site = Kind.INGRESS, ObjectKey("web", "site")
        self.assertEqual((self.sink.ports(), site in self.sink.objects), ({"a": 80}, False))
        for team in ("a", "b"):
            self.write("c.yaml", label(team))
            self.reactor_thread.run_until(lambda: self.clock.getDelayedCalls())
            self.assertTrue(source.is_amid_change())
            self.clock.advance(0)
            self.assertEqual((site in self.sink.objects, source.is_amid_change()), (team == "a", False))
            self.assertEqual((source.reads("web"), source.reads("blog")), (team == "a", False))
            self.clock.advance(REST_SECONDS)
        self.write("c.yaml", label("a"))
        self.reactor_thread.run_until(lambda: self.clock.getDelayedCalls())
        self.stop(source)
        self.clock.advance(1)
        self.assertNotIn(site, self.sink.objects)

    def test_nothing_to_read(self) -> None:
        """An empty directory is complete content, too, and is told once."""
        with capturedLogs() as events:
            self.wait(self.source().start(self.sink))
            self.reactor_thread.run_until(lambda: self.sink.synced_with)
            self.assertEqual((self.sink.synced_with, self.sink.calls), ([0], 0))
            self.write("a.yaml", text_of("a"))
            self.reactor_thread.run_until(lambda: self.sink.ports())
        told = [
            str(event["log_format"]).format(**event)
            for event in events
            if event["log_level"] is LogLevel.warn
        ]
        self.assertEqual(len(told), 1)
        self.assertIn(
            "there is nothing to read yet, for no file below it ends in .yaml, .yml or .json", told[0]
        )

    def test_follows(self) -> None:
        """Files added, edited and deleted reach the sink; syncing is not told again."""
        self.write("a.yaml", text_of("a"))
        self.wait(self.source().start(self.sink))
        self.reactor_thread.run_until(lambda: self.sink.synced_with)
        self.write("b.yaml", text_of("b"))
        self.reactor_thread.run_until(lambda: self.sink.ports() == {"a": 80, "b": 80})
        self.write("a.yaml", text_of("a", 81))
        self.reactor_thread.run_until(lambda: self.sink.ports() == {"a": 81, "b": 80})
        os.remove(os.path.join(self.root, "a.yaml"))
        self.reactor_thread.run_until(lambda: self.sink.ports() == {"b": 80})
        self.assertEqual(self.sink.synced_with, [1])

    def test_broken_at_start(self) -> None:
        """A broken file at start is a problem, and no reason not to start."""
        self.write("a.yaml", "a: [\n")
        self.wait(self.source().start(self.sink))
        self.reactor_thread.run_until(lambda: self.sink.synced_with)
        manifest = Kind.MANIFEST, ObjectKey("", os.path.join(self.root, "a.yaml"))
        self.assertEqual(list(self.sink.objects), [manifest])

    def refusal(self, source: ManifestSource) -> str:
        """Start *source*, and return why it cannot, having handed over nothing."""
        started = source.start(self.sink)
        failures: list[object] = []
        started.addErrback(lambda failure: failures.append(failure.value))
        self.reactor_thread.run_until(lambda: failures)
        (error,) = failures
        assert isinstance(error, StartError)
        self.assertEqual((self.sink.calls, self.sink.synced_with), (0, []))
        return str(error)

    def test_broken_while_another_serves(self) -> None:
        """Who takes the place of a process that may hold the last good content does not start with a broken file."""
        self.write("a.yaml", text_of("a"))
        self.wait(self.source(is_following=True).start(self.sink))
        self.reactor_thread.run_until(lambda: self.sink.synced_with)
        self.sink = RecordingSink()
        self.write("b.yaml", "a: [\n")
        path = os.path.join(self.root, "b.yaml")
        self.assertRegex(self.refusal(self.source(is_following=True)), f"^--manifests {path}: line 2: ")

    def test_missing_path(self) -> None:
        """A path that does not exist ends the start in one line that names option and path."""
        source = self.source(self.root, "no/such/place")
        self.assertEqual(self.refusal(source), "--manifests no/such/place: No such file or directory")

    def test_nothing_after_stop(self) -> None:
        """What was read but not yet told when stop is called is never told."""
        self.write("a.yaml", text_of("a"))
        waiting = threading.Event()
        call_from_thread = self.reactor_thread.call_from_thread

        def call(call: Callable[[], None]) -> None:
            call_from_thread(call)
            if getattr(call, "__name__", "") == "_deliver":
                waiting.set()

        self.reactor_thread.call_from_thread = call  # type: ignore[method-assign]
        source = self.source()
        source.start(self.sink)
        self.assertTrue(waiting.wait(PATIENCE_SECONDS))
        stopped = source.stop()
        self.wait(stopped)
        self.reactor_thread.run_waiting()
        self.assertEqual((self.sink.calls, self.sink.synced_with), (0, []))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_stop_is_prompt(self) -> None:
        """Stop does not wait for the next look at the disk."""
        source = ManifestSource(
            (self.root,),
            PREFIX,
            (),
            self.reactor_thread.call_from_thread,
            self.clock,
            scan_interval_seconds=3600,
        )
        self.wait(source.start(self.sink))
        self.reactor_thread.run_until(lambda: self.sink.synced_with)
        before = threading.active_count()
        self.wait(source.stop())
        self.assertTrue(threading.active_count() <= before)

    def test_stop_without_start(self) -> None:
        """A source that never started is stopped at once, and so is one that was stopped."""
        source = self.source()
        self.assertIsNone(self.successResultOf(source.stop()))
        self.assertIsNone(self.successResultOf(source.stop()))

    def test_stop_during_a_long_read(self) -> None:
        """A thread in the middle of a large file is left to end by itself."""
        entered, leave = threading.Event(), threading.Event()

        def slow_scan(*arguments: object) -> ManifestScan:
            entered.set()
            leave.wait(PATIENCE_SECONDS)
            return ManifestScan()

        self.patch(manifests, "scan", slow_scan)
        source = self.source()
        started = source.start(self.sink)
        self.assertTrue(entered.wait(PATIENCE_SECONDS))
        stopped = source.stop()
        again = source.stop()
        self.assertNoResult(stopped)
        self.clock.advance(manifests.STOP_SECONDS)
        self.assertIsNone(self.successResultOf(stopped))
        self.assertIsNone(self.successResultOf(again))
        self.assertIsNone(self.successResultOf(started))
        leave.set()

    def test_fault(self) -> None:
        """A fault of the program is logged, and does not end the thread."""
        self.write("a.yaml", text_of("a"))
        faults = [ZeroDivisionError("one"), ZeroDivisionError("two")]

        def failing_scan(*arguments: object) -> object:
            if faults:
                raise faults.pop()
            return scan(*arguments)  # type: ignore[arg-type]

        self.patch(manifests, "scan", failing_scan)
        self.patch(manifests, "FAULT_PAUSE_SECONDS", 0.01)
        self.wait(self.source().start(self.sink))
        self.reactor_thread.run_until(lambda: self.sink.synced_with)
        self.assertEqual(self.sink.ports(), {"a": 80})
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 2)

"""The stream of what happens at the moment: who gets what, when, and what it costs while nobody looks."""

import gc
from datetime import UTC, datetime, timedelta
from typing import Any
from weakref import ref

from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.history.rings import Rings
from ingress.live.counted import Counted
from ingress.live.live import MOST_NEWS, MOST_ROWS_FAILED, MOST_VIEWERS, VIEW_EVERY, Live, Shown, row_name
from ingress.live.route_numbers import MOST_TOLD
from ingress.metrics.exchanges.histograms import BOUNDS
from ingress.model.observability.changes_and_failures import Change, ChangeSort, Failure
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.translate.snapshot import Snapshot
from tests.live.rows import READ, FakeRow
from tests.live.viewers import FakeViewer

NOW = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
LIFE = f"{int(NOW.timestamp() * 1000):x}"


def failure(path: str = "/", **more: Any) -> Failure:
    """Return a failure of a route."""
    given = {"ingress": "shop/web", "backend": "shop/web:80"} | more
    return Failure(NOW, "bad-gateway", 502, "refused", "GET", "a.test", path, 0.1, **given)


def change(text: str) -> Change:
    """Return a change."""
    return Change(NOW, ChangeSort.OBJECT, "changed", text)


class LiveTests(SynchronousTestCase):
    """One stream, its viewers, and what there is to tell."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.rings = Rings()
        self.snapshot = Snapshot()
        self.row = FakeRow("shop/web/web")
        self.requests = self.looks = 0
        self.status: dict[str, object] = {"ready": True}
        self.rows = [self.row]
        self.asked: list[Deferred[object]] = []
        self.live = Live(
            Shown(
                lambda: self.snapshot,
                lambda: 41,
                self.counted,
                lambda: self.rows,
                READ,
                lambda: 8000,
                lambda: 0.0,
                self.rings,
                lambda: NOW + timedelta(seconds=self.clock.seconds()),
                lambda one: {"number": one.number, "text": one.text},
                lambda one: {"number": one.number, "path": one.path},
                {"status": lambda: self.status},
                {"endpoints": self.ask},
            ),
            self.clock,
        )

    def ask(self) -> "Deferred[object]":
        """Return what fires with how endpoints are, once somebody says so."""
        self.asked.append(Deferred())
        return self.asked[-1]

    def counted(self) -> Counted:
        """Return what is counted, and count that somebody asked."""
        self.looks += 1
        return Counted(self.requests, {}, (self.requests, *(0 for _ in BOUNDS)), (), 1, 2, 0)

    def pass_seconds(self, seconds: int = 1) -> None:
        """Let time pass, and whatever is done in slices be done."""
        for _ in range(seconds):
            self.clock.advance(1.0)
            self.pass_slices()

    def pass_slices(self) -> None:
        """Let whatever is done in slices be done."""
        while any(call.getTime() <= self.clock.seconds() for call in self.clock.getDelayedCalls()):
            self.clock.advance(0)

    def join(self, last_event_id: str = "") -> FakeViewer:
        """Return a viewer that has joined."""
        viewer = FakeViewer()
        self.live.join(viewer, last_event_id)
        return viewer

    def test_nobody_looks(self) -> None:
        """While nobody looks nothing is read, and nothing is waited for; so again when the last has left."""
        self.pass_seconds(10)
        self.assertEqual((self.looks, self.row.looks), (0, 0))
        viewer = self.join()
        self.pass_seconds(3)
        self.assertTrue(self.looks and self.row.looks)
        self.live.leave(viewer)
        self.live.leave(viewer)
        self.assertEqual(self.clock.getDelayedCalls(), [])
        looks = self.looks, self.row.looks
        self.pass_seconds(10)
        self.assertEqual((self.looks, self.row.looks), looks)

    def test_joining(self) -> None:
        """Who joins is told all that there is: the state, the numbers with their history, and the snapshot."""
        first = self.join()
        self.assertEqual([name for name, _ in first.take()], ["status", "numbers", "snapshot"])
        self.pass_seconds(30)
        second = self.join()
        told = dict(second.take())
        self.assertEqual(told["snapshot"], {"life": LIFE, "number": 41, "routes": 0, "hosts": 0})
        self.assertEqual(len(told["numbers"]["history"]), 30)
        self.assertEqual(told["numbers"]["mostClients"], 8000)

    def test_each_second(self) -> None:
        """Each second has its numbers, or a comment where these are as they were."""
        viewer = self.join()
        viewer.take()
        self.pass_seconds()
        self.requests += 12
        self.pass_seconds()
        (_, quiet), (name, numbers) = viewer.take()
        self.assertEqual((quiet, name, numbers["perSecond"]), (None, "numbers", 12.0))
        self.assertNotIn("history", numbers)

    def test_same_bytes(self) -> None:
        """However many look, what is told is read and written once, and all get the same."""
        viewers = [self.join() for _ in range(MOST_VIEWERS)]
        self.pass_seconds(2)
        for viewer in viewers:
            viewer.take()
        before = self.looks
        self.requests += 5
        self.pass_seconds()
        self.assertEqual(self.looks, before + 1)
        self.assertEqual({viewer.octets for viewer in viewers}, {viewers[0].octets})

    def test_most_viewers(self) -> None:
        """Nobody joins beside as many as there may be, until one has left."""
        viewers = [self.join() for _ in range(MOST_VIEWERS)]
        self.assertEqual(self.live.why_not(), "20 look already")
        self.live.leave(viewers[3])
        self.assertEqual((self.live.why_not(), self.live.viewers), ("", MOST_VIEWERS - 1))

    def test_history(self) -> None:
        """Changes and failures are told once, at most a hundred at a time, and to who joins all that are left of them."""
        self.rings.changes.add(change("before"))
        viewer = self.join()
        self.assertEqual(dict(viewer.take())["changes"], [{"number": 1, "text": "before"}])
        for number in range(150):
            self.rings.failures.add(failure(f"/{number}"))
        self.pass_seconds(3)
        told = [value for name, value in viewer.take() if name == "failures"]
        self.assertEqual([len(some) for some in told], [100])
        self.assertEqual(told[0][-1], {"number": 150, "path": "/149"})

    def test_going_on(self) -> None:
        """Who comes again with the last id that it has seen is told what happened since; of another process, all."""
        self.rings.changes.add(change("first"))
        self.rings.failures.add(failure())
        viewer = FakeViewer()
        self.live.join(viewer)
        last = viewer.octets.decode().rpartition("id: ")[2].partition("\n")[0]
        self.rings.changes.add(change("second"))
        self.pass_seconds()
        again = dict(self.join(last).take())
        self.assertEqual(again["changes"], [{"number": 2, "text": "second"}])
        self.assertNotIn("failures", again)
        other = dict(self.join("0" + last).take())
        self.assertEqual([len(other["changes"]), len(other["failures"])], [2, 1])

    def test_id_covers_both(self) -> None:
        """The id of changes does not claim failures that were not told yet."""
        viewer = self.join()
        self.pass_seconds()
        self.rings.changes.add(change("a"))
        self.rings.failures.add(failure())
        viewer.octets = b""
        self.pass_seconds()
        ids = [
            line.rpartition(".")[2] for line in viewer.octets.decode().split("\n") if line.startswith("id: ")
        ]
        self.assertEqual(ids, ["0", "1"])

    def test_views(self) -> None:
        """A view is told again when it is another."""
        viewer = self.join()
        self.pass_seconds(VIEW_EVERY)
        viewer.take()
        self.status = {"ready": False}
        self.pass_seconds(2 * VIEW_EVERY)
        self.assertEqual([value for name, value in viewer.take() if name == "status"], [{"ready": False}])

    def test_asked(self) -> None:
        """Others are asked soon, one time after the other, told of when their word is another, and waited for by nobody at the end."""
        viewer = self.join()
        self.pass_seconds(3 * VIEW_EVERY)
        self.assertEqual(len(self.asked), 1)
        viewer.take()
        for word in ("ejected", "ejected", "in rotation"):
            self.asked[-1].callback([word])
            self.pass_seconds(VIEW_EVERY)
        self.assertEqual(
            [value for name, value in viewer.take() if name == "endpoints"], [["ejected"], ["in rotation"]]
        )
        self.assertEqual(dict(self.join().take())["endpoints"], ["in rotation"])
        self.live.end("it is over")
        self.assertEqual((len(self.asked), self.clock.getDelayedCalls()), (4, []))

    def test_new_snapshot(self) -> None:
        """A new snapshot is told once."""
        viewer = self.join()
        self.pass_seconds()
        viewer.take()
        self.snapshot = Snapshot()
        self.pass_seconds(3)
        self.assertEqual(viewer.names().count("snapshot"), 1)

    def test_routes(self) -> None:
        """A row that had requests is told with its last failure, and to who joins later, too."""
        viewer = self.join()
        self.pass_seconds()
        self.row.count(10, 1)
        self.rings.failures.add(failure())
        self.pass_seconds(2)
        for found in (viewer, self.late()):
            (row,) = [value["shop/web/web"] for name, value in found.take() if name == "routes"][:1]
            self.assertEqual((row["failing"], row["lastFailure"]["status"]), (0.1, 502))

    def late(self) -> FakeViewer:
        """Return a viewer that joins now, once it was told all."""
        viewer = self.join()
        self.pass_seconds()
        return viewer

    def test_failed_before(self) -> None:
        """The last failure of a row at rest is told to who joins."""
        self.rings.failures.add(failure())
        routes = [value for name, value in self.late().take() if name == "routes"]
        self.assertEqual(routes[0]["shop/web/web"]["lastFailure"]["reason"], "refused")
        self.assertEqual(routes[0]["shop/web/web"]["perSecond"], 0.0)

    def test_nothing_stays(self) -> None:
        """When the last has left, nobody keeps the snapshot that was shown; a look that was cut short is made anew."""
        state = BackendState((Endpoint("10.0.0.1", 80),))
        self.snapshot = Snapshot(
            backends={BackendReference("shop", f"s{number}", 80): state for number in range(2000)}
        )
        self.live.leave(self.join())
        kept = ref(self.snapshot)
        viewer = self.join()
        self.pass_seconds(2)
        self.assertEqual([value for name, value in viewer.take() if name == "numbers"][-1]["endpoints"], 1)
        self.live.leave(viewer)
        self.snapshot = Snapshot()
        gc.collect()
        self.assertIsNone(kept())

    def test_rows_that_failed(self) -> None:
        """Of rows that come and go while somebody looks for days, those are remembered that failed last, and who joins is told of them."""
        self.join()
        for number in range(2 * MOST_ROWS_FAILED):
            self.rings.failures.add(failure(ingress=f"shop/i{number}"))
            if not number % 50:
                self.pass_seconds()
        self.rings.failures.add(failure(ingress="shop/i7"))
        self.pass_seconds()
        self.assertEqual(len(self.live._last_failures), MOST_ROWS_FAILED)
        (told,) = [value for name, value in self.late().take() if name == "routes"]
        self.assertEqual(list(told)[:2], ["shop/i7/web", f"shop/i{2 * MOST_ROWS_FAILED - 1}/web"])

    def test_long_news(self) -> None:
        """However long what clients asked for is, so many bytes of it are told at once: the newest."""
        for number in range(100):
            self.rings.failures.add(failure("/" + "x" * 5000 + str(number)))
        viewer = self.join()
        self.assertLess(len(viewer.octets), MOST_NEWS + 10_000)
        told = dict(viewer.take())["failures"]
        self.assertEqual([one["number"] for one in told], list(range(101 - len(told), 101)))

    def test_full(self) -> None:
        """Who has yet to take what was sent is told of thousands of rows as it takes them."""
        self.rows.extend(FakeRow(f"shop/i{number}/web") for number in range(3 * MOST_TOLD))
        self.join()
        self.pass_seconds(2)
        for row in self.rows:
            row.count()
        self.pass_seconds(8)
        late = FakeViewer()
        late.is_full = True
        self.live.join(late)
        told: list[int] = []
        for _ in range(6):
            self.pass_slices()
            told.append(late.names().count("routes"))
            self.live.go_on(late)
        self.assertEqual(told, [1, 1, 1, 1, 0, 0])
        self.live.leave(late)
        self.assertEqual(self.live._resting, {})

    def test_end(self) -> None:
        """At the end all are told why, and nobody joins any more."""
        viewers = [self.join(), self.join()]
        self.live.end("it is stopping")
        for viewer in viewers:
            self.assertEqual(viewer.last, b'event: end\ndata: {"why":"it is stopping"}\n\n')
        self.assertEqual((self.live.viewers, self.live.why_not()), (0, "it is stopping"))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_names(self) -> None:
        """A failure belongs to the row of its Ingress and Service, whose namespace is named where it is another."""
        self.assertEqual(row_name(failure()), "shop/web/web")
        self.assertEqual(row_name(failure(backend="other/web:80 (gRPC)")), "shop/web/other/web")
        self.assertEqual(row_name(failure(backend="ServiceImport shop/web:80")), "shop/web/")
        self.assertEqual(row_name(failure(ingress="", backend="")), "//")

"""What the controller tells: the log, metrics, and whoever follows."""

from collections.abc import Collection, Container, Mapping, Sequence

from attrs import evolve
from prometheus_client.utils import floatToGoString
from twisted.logger import LogLevel, capturedLogs

from ingress.cluster.store import Changes
from ingress.controller import (
    Controller,
)
from ingress.history.problem_log import AT_ONCE, SETTLE_SECONDS
from ingress.history.publication_log import REPORT_SECONDS
from ingress.model.cluster.object_meta import ObjectMeta
from ingress.model.cluster.objects import (
    ClusterObject,
    Kind,
    ObjectId,
    Projection,
)
from ingress.model.cluster.problems import Problem, Reason
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import IngressBackend
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.reports import Attached
from tests.controller.controller_case import (
    NOW,
    ControllerTestCase,
    batch,
    endpoint_slice,
    gone,
    ingress,
    key,
    service,
)
from tests.fakes.records import record_of
from tests.translate.readers.toyroute.kind import TOYS
from tests.translate.readers.toyroute.values import TOY_DOOR, TOY_ROUTE, ToyDoor, ToyRoute


class ReportTests(ControllerTestCase):
    """What is logged and counted."""

    def logged(self, level: object, *batches: Mapping[ObjectId, Projection | None]) -> list[str]:
        """Hand over *batches* one after the other; return what is logged at *level*."""
        with capturedLogs() as events:
            for one in batches:
                self.controller.changed(one)
                self.clock.pump([0.0, SETTLE_SECONDS, 0.0])
        return [str(event["log_format"]).format(**event) for event in events if event["log_level"] is level]

    def test_problem_once(self) -> None:
        """A problem is logged when it comes, and not again while it stays."""
        self.start_shop()
        lines = self.logged(
            LogLevel.warn,
            batch(ingress("other", "other.test", "absent")),
            batch(ingress("third", "third.test")),
        )
        self.assertEqual(len(lines), 1)
        self.assertIn("Ingress web/other", lines[0])
        self.assertIn("(ServiceNotFound)", lines[0])

    def test_problem_solved(self) -> None:
        """A problem that went away is logged as solved."""
        self.start(ingress("shop", "shop.test"))
        lines = self.logged(LogLevel.info, batch(service("shop")))
        self.assertEqual(len([line for line in lines if line.startswith("Solved: Ingress web/shop")]), 1)

    def test_nothing_served(self) -> None:
        """Without a route the line names the classes that were seen, and stays true when others come."""
        with capturedLogs() as events:
            self.start(evolve(ingress("shop", "shop.test"), class_name="traefik"))
            self.controller.changed(batch(evolve(ingress("blog", "blog.test"), class_name=None)))
            self.clock.pump([0.0, REPORT_SECONDS, 0.0])
        lines = [str(event["log_format"]).format(**event) for event in events]
        first, last = [
            line for line in lines if line.startswith("Published 0 routes of 0 hosts, with 0 problems: ")
        ]
        self.assertIn('left alone are 1 Ingress of class "traefik"; ', first)
        self.assertIn('1 Ingress of class "traefik", 1 Ingress without class; ', last)
        self.assertIn("--watch-without-class", last)

    def test_published(self) -> None:
        """What is published is logged with its counts."""
        self.start_shop()
        self.clock.advance(REPORT_SECONDS)
        lines = self.logged(LogLevel.info, batch(ingress("other", "other.test")))
        self.assertEqual(
            lines,
            ["Published 2 routes of 2 hosts, with 0 problems. Ingress web/other came; routes: 1 came"],
        )

    def test_published_in_many_ways(self) -> None:
        """It is said which objects came, went or changed, and what that did to routes."""
        self.start_shop()
        lines = self.logged(
            LogLevel.info,
            {**batch(*(ingress(f"i{n}", f"i{n}.test") for n in range(5)), service("blog"))},
            {
                **batch(ingress("shop", "other.test"), ingress("i0", "i0.test", "blog")),
                **gone(Kind.INGRESS, "i1"),
            },
            gone(Kind.SERVICE, "blog"),
        )
        self.assertEqual(
            [line.partition("problems. ")[2] for line in lines[:2]],
            [
                "Ingress web/i0, web/i1, web/i2 and 2 more came, Service web/blog came; routes: 5 came",
                "Ingress web/i1 went, Ingress web/i0, web/shop changed; routes: 1 came, 2 went, 1 changed",
            ],
        )
        self.assertEqual(
            lines[2],
            "Published 5 routes of 5 hosts, with 1 problem. Service web/blog went; no route is different",
        )

    def test_left_alone(self) -> None:
        """Ingresses of another class, or of none, are counted there, lest nobody know why they are not served."""
        self.start_shop()
        self.clock.advance(REPORT_SECONDS)
        others = [
            evolve(ingress(name, f"{name}.test"), class_name=of) for name, of in (("a", "other"), ("b", None))
        ]
        lines = self.logged(LogLevel.info, batch(ingress("mine", "mine.test"), *others))
        self.assertEqual(len(lines), 1)
        self.assertIn("; left alone, since of another class or of none: 2 Ingresses. ", lines[0])

    def test_left_alone_for_a_default_backend(self) -> None:
        """With --disable-catch-all that is another reason."""
        self.options = TranslateOptions(disable_catch_all=True)
        self.setUp()
        self.start_shop()
        self.clock.advance(REPORT_SECONDS)
        caught = evolve(ingress("all", "all.test"), default_backend=IngressBackend("shop"))
        lines = self.logged(LogLevel.info, batch(ingress("mine", "mine.test"), caught))
        self.assertIn(
            "; left alone, since of another class or of none, or with a defaultBackend: 1 Ingress. ",
            lines[0],
        )

    def test_published_often(self) -> None:
        """A cluster that changes many times a second has one line a second, and the last one is true."""
        self.start_shop()
        self.clock.advance(REPORT_SECONDS)
        with capturedLogs() as events:
            for number in range(24):
                self.clock.advance(REPORT_SECONDS / 8)
                self.controller.changed(batch(ingress("other", f"h{number}.test")))
                self.clock.advance(0)
            self.controller.changed(gone(Kind.INGRESS, "shop"))
            self.clock.pump([0.0, REPORT_SECONDS])
        self.assertEqual(len(self.published), 25)
        lines = [event for event in events if event["log_level"] is LogLevel.info]
        self.assertLessEqual(len(lines), 5)
        last = str(lines[-1]["log_format"]).format(**lines[-1])
        self.assertTrue(
            last.startswith("Published 1 route of 1 host, with 0 problems. Ingress web/shop went"), last
        )
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_last_line_at_the_end(self) -> None:
        """What was published and not told yet is told at the end."""
        self.start_shop()
        with capturedLogs() as events:
            self.controller.changed(batch(ingress("other", "other.test")))
            self.clock.advance(0)
            self.assertEqual(events, [])
            self.controller.stop()
        self.assertEqual([event["routes"] for event in events], ["2 routes"])

    def test_usual_order(self) -> None:
        """While hundreds of good Ingresses are applied, each before its Service, no problem is told."""
        self.start_shop()
        with capturedLogs() as events:
            for number in range(700):
                for one in (
                    ingress(f"i{number}", f"h{number}.test", f"s{number}"),
                    service(f"s{number}"),
                    endpoint_slice(f"s{number}-1", f"s{number}", "10.0.0.1"),
                ):
                    self.controller.changed(batch(one))
                    self.clock.pump([0.002] * 3)
            self.clock.pump([SETTLE_SECONDS] * 3)
        lines = [str(event["log_format"]).format(**event) for event in events]
        self.assertEqual([line for line in lines if not line.startswith("Published")], [])
        self.assertLess(len(lines), 16)
        self.assertTrue(
            lines[-1].startswith("Published 701 routes of 701 hosts, with 0 problems. "), lines[-1]
        )

    def test_endpoints_are_quiet(self) -> None:
        """Endpoints come and go without a line that an operator sees."""
        self.start_shop()
        self.assertEqual(self.logged(LogLevel.info, batch(endpoint_slice("shop-1", "shop", "10.0.0.2"))), [])
        self.assertEqual(len(self.published), 1)

    def test_metrics(self) -> None:
        """The metrics show what the current snapshot holds."""
        self.start(ingress("shop", "shop.test"), ingress("other", "other.test", "absent"), service("shop"))
        shown = self.metrics.render().decode()
        self.assertIn("\ningress_routes 2.0\n", shown)
        self.assertIn('\ningress_problems{reason="ServiceNotFound"} 1.0\n', shown)
        self.assertIn("\ningress_snapshot_seconds_count 1.0\n", shown)
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.clock.advance(0)
        self.assertIn("\ningress_snapshot_seconds_count 2.0\n", self.metrics.render().decode())

    def test_times(self) -> None:
        """It is shown when anything changed last, and when that was published; what changes nothing is no change."""
        self.start(ingress("shop", "shop.test"), service("shop"))
        moment = f"{floatToGoString(NOW.timestamp())}"
        shown = self.metrics.render().decode()
        self.assertIn(f"\ningress_last_change_timestamp_seconds {moment}\n", shown)
        self.assertIn(f"\ningress_last_publish_timestamp_seconds {moment}\n", shown)
        self.metrics.snapshots.changed_at = 0.0
        self.controller.changed(batch(service("shop")))
        self.assertEqual(self.metrics.snapshots.changed_at, 0.0)
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.assertEqual(self.metrics.snapshots.changed_at, NOW.timestamp())

    def test_series_of_services(self) -> None:
        """A Service is named as long as a route leads there, whether it has endpoints or not."""
        self.start_shop()
        self.metrics.exchanges.ended(record_of(key("shop"), service="shop"))
        self.assertIn(b'service="shop"', self.metrics.render())
        self.controller.changed(gone(Kind.SERVICE, "shop"))
        self.clock.advance(REPORT_SECONDS)
        self.assertIn(b'service="shop"', self.metrics.render())
        self.controller.changed(batch(ingress("shop", "shop.test", "other")))
        self.clock.advance(REPORT_SECONDS)
        self.assertNotIn(b'service="shop"', self.metrics.render())
        self.metrics.exchanges.ended(record_of(key("shop"), service="other"))
        self.assertIn(b'service="other"', self.metrics.render())

    def test_series_of_ingresses(self) -> None:
        """An Ingress has series of its own from its first snapshot to its last."""
        self.start_shop()
        self.metrics.exchanges.ended(record_of(key("shop")))
        self.assertIn(b'ingress="shop"', self.metrics.render())
        self.controller.changed(gone(Kind.INGRESS, "shop"))
        self.clock.advance(REPORT_SECONDS)
        self.assertNotIn(b'ingress="shop"', self.metrics.render())


class ManifestTests(ControllerTestCase):
    """Objects from manifests."""

    options = TranslateOptions(from_manifests=True)

    def lines(self, *values: ClusterObject) -> list[str]:
        """Sync with *values*; return the lines that name ``--endpoint``, problems aside."""
        with capturedLogs() as events:
            self.start(*values)
        lines = [str(event["log_format"]).format(**event) for event in events]
        return [line for line in lines if line.startswith("The manifests do not say")]

    def test_endpoint_option(self) -> None:
        """One line at start names the Services that nobody can reach, and the option with an example."""
        [line] = self.lines(ingress("a", "a.test", "shop"), ingress("b", "b.test", "blog"))
        self.assertIn("web/blog, web/shop.", line)
        self.assertIn("--endpoint web/blog=127.0.0.1:8080", line)
        self.assertIn("--endpoint '*=127.0.0.1:8080'", line)

    def test_many_services(self) -> None:
        """Only the first few Services are named, and the rest are counted."""
        [line] = self.lines(*(ingress(f"i{n}", f"h{n}.test", f"s{n}") for n in range(8)))
        self.assertIn(": web/s0, web/s1, web/s2, web/s3, web/s4 and 3 more.", line)

    def test_all_reachable(self) -> None:
        """There is no such line when every Service has endpoints."""
        self.assertEqual(
            self.lines(ingress("a", "a.test"), service("shop"), endpoint_slice("shop-1", "shop", "10.0.0.1")),
            [],
        )

    def test_once(self) -> None:
        """The line is for the start alone."""
        self.start(ingress("a", "a.test"))
        with capturedLogs() as events:
            self.controller.changed(batch(ingress("b", "b.test", "blog")))
            self.clock.advance(REPORT_SECONDS)
        self.assertEqual(len(self.published), 1)
        self.assertFalse(any("do not say where" in str(event["log_format"]) for event in events))


class Recorder:
    """A follower that remembers what it was told."""

    def __init__(self) -> None:
        self.changes: list[Changes] = []
        self.came: list[Problem] = []
        self.went: list[Problem] = []
        self.translated_objects: list[ObjectId] = []

    def objects_changed(self, changes: Changes) -> None:
        self.changes.append(changes)

    def problems_changed(self, came: Sequence[Problem], went: Sequence[Problem]) -> None:
        self.came += came
        self.went += went

    def attached_changed(self, attached: Attached) -> None:
        self.attached = attached

    def translated(self, objects: Collection[ObjectId], changed_since: Container[ObjectId]) -> None:
        self.translated_objects += [one for one in objects if one not in changed_since]


class FollowerTests(ControllerTestCase):
    """Whoever wants to know what changes."""

    def setUp(self) -> None:
        super().setUp()
        self.follower = Recorder()
        self.controller = Controller(
            self.store,
            self.options,
            self.published.append,
            self.clock,
            self.metrics,
            lambda: NOW,
            self.follower,
            (*ROUTE_KINDS, TOYS),
        )

    def test_many_objects(self) -> None:
        """Of thousands that were translated it learns in portions, of each once."""
        self.start()
        told: list[int] = []
        translated = self.follower.translated

        def counting(objects: Collection[ObjectId], changed_since: Container[ObjectId]) -> None:
            told.append(len(objects))
            translated(objects, changed_since)

        self.follower.translated = counting  # type: ignore[method-assign]
        names = [f"s{number}" for number in range(1234)]
        self.controller.changed(batch(*map(service, names)))
        self.clock.pump([0.1] * 30)
        known = [one for one in self.follower.translated_objects if one[0] is Kind.SERVICE]
        self.assertEqual(sorted(known), sorted((Kind.SERVICE, key(name)) for name in names))
        self.assertLessEqual(max(told), 100)

    def test_objects(self) -> None:
        """It learns what is different, from the first sync on."""
        self.start()
        self.assertEqual(self.follower.changes, [])
        self.controller.changed(batch(service("shop")))
        shop: ObjectId = (Kind.SERVICE, key("shop"))
        self.assertEqual(self.follower.changes, [Changes((shop,), came=frozenset({shop}))])

    def test_standing(self) -> None:
        """It learns of a change of the metadata alone, and that costs no round."""
        self.start_shop()
        value = self.store.state().of(Kind.INGRESS)[key("shop")]
        object_id = (Kind.INGRESS, key("shop"))
        self.controller.changed({object_id: Projection(value, (), ObjectMeta("u"))})
        self.assertEqual(self.follower.changes[-1].metas, (object_id,))
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_problems(self) -> None:
        """It learns which problems came, those of the first snapshot among them, and which went."""
        self.start(ingress("shop", "shop.test"))
        self.assertEqual([problem.reason for problem in self.follower.came], [Reason.SERVICE_NOT_FOUND])
        self.controller.changed(batch(service("shop")))
        self.clock.advance(0)
        self.assertEqual(self.follower.went, self.follower.came)

    def test_many_problems_of_one(self) -> None:
        """Of an Ingress with very many problems it learns some of them at a time, when they come and when they go."""
        self.start()
        told: list[int] = []
        problems_changed = self.follower.problems_changed

        def counting(came: Sequence[Problem], went: Sequence[Problem]) -> None:
            told.append(len(came) + len(went))
            problems_changed(came, went)

        self.follower.problems_changed = counting  # type: ignore[method-assign]
        one = ingress("shop", "shop.test")
        hosts = [f"h{number}.test" for number in range(700)]
        many = evolve(one, rules=tuple(evolve(one.rules[0], host=host) for host in hosts))
        for change in (batch(many), gone(Kind.INGRESS, "shop")):
            self.controller.changed(change)
            self.clock.pump([0.1] * 60)
        self.assertEqual((len(self.follower.came), len(self.follower.went)), (700, 700))
        self.assertLessEqual(max(told), AT_ONCE)

    def test_translated(self) -> None:
        """It learns which objects a round was about, but for those that changed while it went on, or that a bug spoiled."""
        self.start()
        shop, blog = (Kind.INGRESS, key("shop")), (Kind.INGRESS, key("blog"))
        self.controller.changed(batch(ingress("shop", "shop.test")))
        self.assertEqual(self.follower.translated_objects, [])
        self.clock.advance(0)
        self.assertEqual(self.follower.translated_objects, [shop])
        self.controller.changed(batch(ingress("blog", "blog.test")))
        self.store.is_broken = True
        self.clock.advance(1)
        self.assertEqual(len(self.flushLoggedErrors(RuntimeError)), 1)
        self.store.is_broken = False
        self.assertEqual(self.follower.translated_objects, [shop])
        self.controller.changed(batch(service("shop")))
        self.clock.advance(1)
        # After a bug everything is read anew.
        self.assertEqual(self.follower.translated_objects[1:], [blog, (Kind.SERVICE, key("shop")), shop])

    def test_read_again(self) -> None:
        """It learns which objects were read again for what others say, and of none for which nothing is different."""
        self.start()
        front, other = (ToyDoor(key(name), port) for name, port in (("front", 8001), ("other", 8002)))
        behind = ToyRoute(key("behind"), "", "toy.test", "/", "web", 80, door="front")
        beside = ToyRoute(key("beside"), "", "beside.test", "/", "web", 80)
        values = ((TOY_DOOR, front), (TOY_DOOR, other), (TOY_ROUTE, behind), (TOY_ROUTE, beside))
        self.controller.changed({(kind, one.key): Projection(one) for kind, one in values})
        self.clock.advance(1)
        self.follower.translated_objects.clear()
        self.controller.changed({(TOY_DOOR, front.key): Projection(evolve(front, port=8003))})
        self.clock.advance(1)
        self.assertEqual(self.follower.translated_objects, [(TOY_DOOR, front.key), (TOY_ROUTE, behind.key)])
        self.follower.translated_objects.clear()
        self.controller.changed({(TOY_DOOR, other.key): None})
        self.clock.advance(1)
        self.assertEqual(self.follower.translated_objects, [(TOY_DOOR, other.key)])

"""Tests for ``ingress.changes``: what is told of objects, by a controller on a clock."""

from datetime import timedelta
from random import Random
from typing import Any

from attrs import evolve
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from ingress.changes.changed_objects import MOST_TOLD, ChangedObjects
from ingress.controller import Controller
from ingress.history.publication_log import REPORT_SECONDS
from ingress.model.cluster.objects import ClusterObject, Kind, Secret
from ingress.model.observability.changes_and_failures import ChangeSort, Mark
from ingress.model.serving.serving_settings import ServingSettings
from ingress.translate.readers.ingress.objects import Ingress, IngressTLS
from ingress.translate.snapshot import Snapshot
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
from tests.fakes.certificates import Authority, issue, make_authority


class TickingClock(Clock):
    """A clock for which each look at it takes a tenth of a millisecond; it counts who waits for another turn."""

    turns = 0

    def callLater(self, *given: Any, **named: Any) -> Any:
        self.turns += 1
        return super().callLater(*given, **named)

    def seconds(self) -> float:
        self.rightNow += 0.0001
        return float(self.rightNow)


def secret(authority: Authority, end: timedelta) -> Secret:
    """A Secret with a certificate for ``shop.test`` that ends so long after now."""
    chain, private = issue(authority, ("shop.test",), not_before=NOW - timedelta(days=9), not_after=NOW + end)
    return Secret(key("tls"), "kubernetes.io/tls", {"tls.crt": chain, "tls.key": private})


def with_path(one: Ingress, path: str) -> Ingress:
    """*one* with another path of its only rule."""
    (rule,) = one.rules
    assert rule.paths is not None
    return evolve(one, rules=(evolve(rule, paths=(evolve(rule.paths[0], path=path),)),))


class ChangedObjectsTests(ControllerTestCase):
    """What is told, in which words."""

    def setUp(self) -> None:
        super().setUp()
        self.told: list[tuple[Mark, str]] = []
        self.controller = Controller(
            self.store,
            self.options,
            self.published.append,
            self.clock,
            self.metrics,
            lambda: NOW,
            tell=lambda mark, text: self.told.append((mark, text)),
        )

    def serve(self, *values: ClusterObject) -> None:
        """Sync with a shop and *values*, and forget what is told of that."""
        self.start(service("shop"), endpoint_slice("shop-1", "shop", "10.0.0.1"), *values)
        self.told.clear()

    def texts(self) -> list[str]:
        """Let a second go by; return what was told, and forget it."""
        for _ in range(20):
            self.clock.advance(REPORT_SECONDS / 10)
        told, self.told = self.told, []
        return [text for _, text in told]

    def change(self, *values: ClusterObject) -> list[str]:
        """Have *values* come or change; return what is told."""
        self.controller.changed(batch(*values))
        return self.texts()

    def test_first(self) -> None:
        """The first snapshot is one change, however much there is."""
        self.start(*(ingress(f"n{number}", f"n{number}.test") for number in range(50)), service("shop"))
        self.assertEqual(self.texts(), ["The first snapshot: 50 Ingresses; 50 routes of 50 hosts"])

    def test_route_objects(self) -> None:
        """An Ingress that comes, moves, has another path, leads elsewhere and goes is told with its routes."""
        self.serve(service("blog"))
        self.assertEqual(
            self.change(ingress("live", "live.test")), ["Ingress web/live came: +1 route: +live.test/"]
        )
        self.assertEqual(
            self.change(ingress("live", "moved.test")),
            ["Ingress web/live changed: host live.test → moved.test"],
        )
        self.assertEqual(
            self.change(with_path(ingress("live", "moved.test"), "/new")),
            ["Ingress web/live changed: -1 +1 route: -moved.test/, +moved.test/new"],
        )
        self.assertEqual(
            self.change(with_path(ingress("live", "moved.test", "blog"), "/new")),
            ["Ingress web/live changed: 1 route changed: moved.test/new"],
        )
        self.controller.changed(gone(Kind.INGRESS, "live"))
        self.assertEqual(self.texts(), ["Ingress web/live went: -1 route: -moved.test/new"])

    def test_marks(self) -> None:
        """A change names its object, what became of it, and the hosts."""
        self.serve()
        self.controller.changed(batch(ingress("live", "live.test")))
        self.clock.advance(0)
        self.clock.advance(0)
        (change,) = self.told
        self.assertEqual(change[0], Mark(ChangeSort.OBJECT, "came", "Ingress", "web/live", ("live.test",)))

    def test_affected(self) -> None:
        """Who has the routes of a host now that another one has gone is told, too."""
        older, younger = ingress("older", "a.test"), ingress("younger", "a.test")
        self.serve(older, evolve(younger, created="2026-02-01T00:00:00Z"))
        self.controller.changed(gone(Kind.INGRESS, "older"))
        texts = self.texts()
        self.assertEqual(texts[0], "Ingress web/older went: -1 route: -a.test/")
        self.assertEqual(texts[1], "Ingress web/younger affected: +1 route: +a.test/")

    def test_endpoints(self) -> None:
        """Endpoints of Services that routes lead to are told; that none is left is trouble."""
        self.serve(ingress("live", "live.test"))
        self.assertEqual(
            self.change(endpoint_slice("shop-1", "shop", "10.0.0.2")),
            ["Endpoints of web/shop:80: -10.0.0.1:8080, +10.0.0.2:8080; 1 now"],
        )
        self.controller.changed(batch(endpoint_slice("shop-1", "shop")))
        self.clock.advance(0)
        self.clock.advance(REPORT_SECONDS)
        self.clock.advance(0)
        ((mark, text),) = self.told
        self.assertEqual(text, "Endpoints of web/shop:80: -10.0.0.2:8080; no endpoint is left")
        self.assertEqual((mark.kind, mark.object, mark.is_trouble), ("Service", "web/shop", True))

    def test_many_endpoints(self) -> None:
        """Of a Service with very many endpoints their number is told."""
        self.serve(ingress("live", "live.test"))
        addresses = [f"10.1.{number // 250}.{number % 250}" for number in range(1000)]
        self.assertEqual(
            self.change(endpoint_slice("shop-1", "shop", *addresses)),
            ["Endpoints of web/shop:80: +999 endpoints; 1,000 now"],
        )

    def test_renewed(self) -> None:
        """A certificate that is renewed is told, by the log as well, with when it ends and when it did."""
        authority = make_authority()
        live = evolve(ingress("live", "shop.test"), tls=(IngressTLS(("shop.test",), "tls"),))
        self.serve(live, secret(authority, timedelta(days=5)))
        with capturedLogs() as events:
            texts = self.change(secret(authority, timedelta(days=90)))
        marked = [event for event in events if event.get("change") is not None]
        self.assertEqual(
            [formatEvent(event) for event in marked],
            [
                "The certificate of Secret web/tls, shown for shop.test, is another: it ends at 2026-08-30T00:00:00Z, "
                "and did at 2026-06-06T00:00:00Z"
            ],
        )
        self.assertEqual(
            marked[0]["change"], Mark(ChangeSort.CERTIFICATE, "renewed", "Secret", "web/tls", ("shop.test",))
        )
        self.assertEqual(texts, [])

    def test_storm(self) -> None:
        """Of thousands of objects there is a change for each kind, and one for the routes."""
        self.serve()
        self.controller.changed(batch(*(ingress(f"n{one}", f"n{one}.test") for one in range(2000))))
        self.assertEqual(self.texts(), ["2,000 Ingresses came", "Together: routes: 2,000 came"])

    def test_once_a_second(self) -> None:
        """However often objects change, there is one look a second, and the last one says what is so now."""
        self.serve()
        self.assertEqual(len(self.change(ingress("live", "0.test"))), 1)
        self.clock.advance(0.01)
        for number in range(1, 50):
            self.controller.changed(batch(ingress("live", f"{number}.test")))
            self.clock.advance(0.001)
            self.clock.advance(0.011)
        texts = [text for _, text in self.told]
        self.assertLessEqual(len(texts), 2)
        texts += self.texts()
        self.assertTrue(texts[-1].endswith("→ 49.test"), texts)
        self.assertLessEqual(len(texts), 3)

    def test_other_options(self) -> None:
        """Where everything is translated anew, and comes to the same, nothing is told."""
        self.serve(*(ingress(f"n{number}", f"n{number}.test") for number in range(30)))
        self.controller.configure(evolve(self.options, shared_hosts=True), ServingSettings(), ())
        self.assertEqual(self.texts(), [])
        self.assertGreater(len(self.published), 0)

    def test_slices(self) -> None:
        """A look at very many routes lets others have their turns."""
        self.serve()
        self.controller.changed(batch(*(ingress(f"n{one}", f"n{one}.test") for one in range(2000))))
        self.texts()
        clock = TickingClock()
        told: list[str] = []
        news = ChangedObjects(clock, lambda mark, text: told.append(text))
        news.published(Snapshot(), self.published[-1], {})
        clock.advance(0)
        self.assertGreater(clock.turns, 50)
        self.assertEqual(len(told), MOST_TOLD + 1)
        self.assertEqual(told[-1], "Further objects affected; together routes: 2,000 came")

    def test_any_history(self) -> None:
        """Along any history of Ingresses, those that are told of sum up to what is served in the end."""
        for seed in range(5):
            random = Random(seed)
            self.setUp()
            self.serve()
            hosts: dict[str, str] = {}
            for _ in range(30):
                name = f"n{random.randrange(4)}"
                if name in hosts and random.random() < 0.3:
                    del hosts[name]
                    self.controller.changed(gone(Kind.INGRESS, name))
                else:
                    hosts[name] = f"{name}-{random.randrange(3)}.test"
                    self.controller.changed(batch(ingress(name, hosts[name])))
                if random.random() < 0.5:
                    self.clock.advance(REPORT_SECONDS * random.random())
            texts = self.texts()
            self.assertFalse([text for text in texts if "bug" in text])
            came = sum(text.count("+1 route") + text.count("→") for text in texts)
            went = sum(text.count("-1 route") + text.count("-1 +1 route") + text.count("→") for text in texts)
            self.assertEqual(came - went, len(hosts), texts)

    def test_stopped(self) -> None:
        """A controller that stops leaves no call behind."""
        self.serve()
        self.controller.changed(batch(ingress("live", "live.test")))
        self.clock.advance(0)
        self.controller.stop()
        self.assertEqual(self.clock.getDelayedCalls(), [])

"""Rows of exchanges: which there are, whose they are, and when they go."""

from collections.abc import Iterable

from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.exchanges.exchange_rows import CAUSES, NO_LABELS, Labels, Row
from ingress.metrics.exchanges.exchanges import MOST_ROWS, ExchangeMetrics
from ingress.metrics.exchanges.histograms import BOUNDS, BUCKETS, quantile
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.objects import ObjectKey
from ingress.model.exchanges.causes import Cause
from ingress.model.exchanges.records import AttemptRecord
from ingress.model.upstream.backends import BackendReference
from tests.fakes.records import ENDPOINT, record_of

SHOP, BLOG = ObjectKey("web", "shop"), ObjectKey("web", "blog")
WEB, CART, FAR = ObjectKey("web", "web"), ObjectKey("web", "cart"), ObjectKey("far", "cart")


class RowTests(SynchronousTestCase):
    """``ExchangeMetrics``, row by row."""

    def setUp(self) -> None:
        self.exchanges = ExchangeMetrics()
        self.follow((SHOP, BLOG), (WEB, CART, FAR))

    def follow(self, ingresses: Iterable[ObjectKey], services: Iterable[ObjectKey]) -> None:
        """Have other routes, and drop what is dropped for that."""
        self.exchanges.follow(frozenset(ingresses), frozenset(services))
        for _ in self.exchanges.drop():
            pass

    def rows(self) -> dict[Labels, Row]:
        rows = {row.labels: row for row in self.exchanges.rows}
        self.assertEqual(len(rows), len(self.exchanges.rows))
        return rows

    def shown(self) -> dict[tuple[str, ...], int]:
        """How many requests each row has."""
        return {labels: row.requests for labels, row in self.rows().items() if row.requests}

    def test_services(self) -> None:
        """Each Service of an Ingress has a row; one in another namespace is named with it, and what is no Service is not."""
        ended = self.exchanges.ended
        for service in ("web", "cart", "web"):
            ended(record_of(SHOP, service=service))
        ended(record_of(SHOP)._replace(backend=BackendReference("far", "cart", 80)))
        ended(record_of(SHOP)._replace(backend=BackendReference("web", "web", "", "Bucket.example.com")))
        ended(record_of(BLOG, service="unknown"))
        self.assertEqual(
            self.shown(),
            {
                ("web", "shop", "web"): 3,
                ("web", "shop", "cart"): 1,
                ("web", "shop", "far/cart"): 1,
                ("web", "blog", ""): 1,
            },
        )

    def test_ports(self) -> None:
        """Several ports of a Service are one row, as its requests are."""
        for port in (80, "http", 8080):
            self.exchanges.ended(record_of(SHOP)._replace(backend=BackendReference("web", "web", port)))
        self.assertEqual(self.shown(), {("web", "shop", "web"): 3})

    def test_numbers(self) -> None:
        """A row has classes, causes, bytes both ways, and the seconds of requests and of all their attempts."""
        attempts = tuple(
            AttemptRecord(ENDPOINT, "x", began, 0.5, 0.0, over) for began, over in ((0.0, 0.5), (0.75, 3.0))
        )
        self.exchanges.ended(
            record_of(SHOP, 504, 4.0, 7, cause=Cause.GATEWAY_TIMEOUT, bytes_received=5)._replace(
                attempts=attempts
            )
        )
        self.exchanges.ended(record_of(SHOP, 200, 0.25, 1, bytes_received=2))
        row = self.rows()[Labels("web", "shop", "web")]
        self.assertEqual(list(row.by_class), [0, 0, 1, 0, 0, 1])
        self.assertEqual(list(row.by_cause), [int(cause is Cause.GATEWAY_TIMEOUT) for cause in CAUSES])
        self.assertEqual((row.requests, row.failures, row.bytes_sent, row.bytes_received), (2, 1, 8, 7))
        self.assertEqual((row.seconds, row.upstream_seconds), (4.25, 2.75))
        self.assertEqual((sum(row.durations), sum(row.upstream_durations)), (2, 1))
        self.assertEqual(row.upstream_durations[BOUNDS.index(5.0)], 1)

    def test_service_gone(self) -> None:
        """The rows of a Service to which no route leads any more are dropped, and those of an Ingress; others go on."""
        for owner, service in ((SHOP, "web"), (SHOP, "cart"), (BLOG, "web")):
            self.exchanges.ended(record_of(owner, service=service))
        self.follow((SHOP,), (WEB,))
        self.assertEqual(self.shown(), {("web", "shop", "web"): 1})
        for owner, service in ((SHOP, "web"), (SHOP, "cart"), (BLOG, "web")):
            self.exchanges.ended(record_of(owner, service=service))
        self.assertEqual(self.shown(), {("web", "shop", "web"): 2, ("web", "shop", ""): 1, NO_LABELS: 1})

    def test_service_came(self) -> None:
        """A Service that a route begins to lead to is named from then on."""
        self.follow((SHOP,), ())
        self.exchanges.ended(record_of(SHOP))
        self.follow((SHOP,), (WEB,))
        self.exchanges.ended(record_of(SHOP))
        self.assertEqual(self.shown(), {("web", "shop", ""): 1, ("web", "shop", "web"): 1})

    def test_bound(self) -> None:
        """Of more pairs than there may be, the rest is counted under empty labels, and how often that happens; who was there first goes on."""
        keys = [ObjectKey("web", f"shop-{number}") for number in range(MOST_ROWS + 3)]
        self.follow(keys, (WEB,))
        for _ in range(2):
            for key in keys:
                self.exchanges.ended(record_of(key))
        shown = self.shown()
        self.assertEqual(len(shown), MOST_ROWS + 1)
        self.assertEqual((shown[NO_LABELS], self.exchanges.unlabeled), (6, 6))
        self.assertEqual(sum(shown.values()), 2 * len(keys))
        self.follow(keys[-3:], (WEB,))
        self.exchanges.ended(record_of(keys[-1]))
        self.assertEqual(self.shown()["web", keys[-1].name, "web"], 1)

    def test_while_dropped(self) -> None:
        """While rows are dropped step by step, nothing is counted in one whose Ingress left, and one that is back begins anew, shown once."""
        keys = [ObjectKey("web", f"shop-{number}") for number in range(200)]
        self.follow(keys, (WEB,))
        for key in keys:
            self.exchanges.ended(record_of(key, service="web"))
        self.exchanges.follow(frozenset(keys[150:]), frozenset((WEB,)))
        steps = self.exchanges.drop()
        next(steps)
        for key in (keys[0], keys[149], keys[199]):
            self.exchanges.ended(record_of(key, service="web"))
        self.assertEqual((self.shown()[NO_LABELS], self.shown()["web", "shop-199", "web"]), (2, 2))
        # Another snapshot comes, and these steps are not taken any more.
        self.exchanges.follow(frozenset((keys[0], *keys[150:])), frozenset((WEB,)))
        self.exchanges.ended(record_of(keys[0], service="web"))
        live = [row for row in self.exchanges.rows if row.labels.ingress == "shop-0" and not row.is_gone]
        self.assertEqual([row.requests for row in live], [1])
        for _ in self.exchanges.drop():
            pass
        self.assertEqual(len(self.rows()), 1 + 51)
        self.assertEqual(self.shown()["web", "shop-0", "web"], 1)

    def test_house(self) -> None:
        """Sums over the whole house keep what belonged to rows that were dropped."""
        self.exchanges.ended(record_of(SHOP, 503, 0.2, cause=Cause.UNAVAILABLE))
        self.follow((), ())
        self.assertEqual((sum(self.exchanges.durations), sum(self.exchanges.failures)), (1, 1))
        self.assertEqual(self.shown(), {})


class FamilyTests(SynchronousTestCase):
    """``ExchangeFamilies``, seen through what Prometheus would get."""

    def test_failures(self) -> None:
        """A failure is shown by whose it is; of what did not fail there is no line."""
        metrics = Metrics()
        metrics.snapshot_published(1, 0, {}, 0.0, frozenset((SHOP,)), frozenset((WEB,)))
        metrics.exchanges.ended(record_of(SHOP))
        metrics.exchanges.ended(record_of(SHOP, 429, cause=Cause.LIMIT))
        lines = [
            line for line in metrics.render().decode().splitlines() if line.startswith("ingress_failures")
        ]
        self.assertEqual(
            lines, ['ingress_failures_total{cause="limit",ingress="shop",namespace="web",service="web"} 1.0']
        )

    def test_durations_by_service(self) -> None:
        """Each row has histograms only where that is asked for, and the whole house is told without labels all the same."""
        metrics = Metrics()
        metrics.snapshot_published(1, 0, {}, 0.0, frozenset((SHOP,)), frozenset((WEB,)))
        metrics.exchanges.ended(record_of(SHOP, 200, 0.2))
        name = "ingress_request_duration_by_service_seconds"
        self.assertNotIn(name, metrics.render().decode())
        metrics.shows_durations_by_service = True
        text = metrics.render().decode()
        self.assertIn(
            f'\n{name}_bucket{{ingress="shop",le="0.25",namespace="web",service="web"}} 1.0\n', text
        )
        self.assertIn(f'\n{name}_count{{ingress="shop",namespace="web",service="web"}} 1.0\n', text)
        self.assertIn("\ningress_request_duration_seconds_count 1.0\n", text)


class QuantileTests(SynchronousTestCase):
    """``quantile``."""

    def counts(self, **by_bound: int) -> list[int]:
        return [by_bound.get(f"at_{bound:g}".replace(".", "_"), 0) for bound in BOUNDS] + [
            by_bound.get("beyond", 0)
        ]

    def test_nothing(self) -> None:
        """Of nothing there is no quantile."""
        self.assertIsNone(quantile([0] * BUCKETS, 0.5))

    def test_within(self) -> None:
        """Within a bucket, requests are spread evenly."""
        self.assertAlmostEqual(quantile(self.counts(at_1=10), 0.5) or 0, 0.75)
        self.assertAlmostEqual(quantile(self.counts(at_0_001=4), 0.5) or 0, 0.0005)

    def test_between(self) -> None:
        """Of fast and slow ones, the share says which bucket counts."""
        counts = self.counts(at_0_01=98, at_10=2)
        self.assertLess(quantile(counts, 0.5) or 0, 0.01)
        self.assertGreater(quantile(counts, 0.99) or 0, 5.0)

    def test_beyond(self) -> None:
        """What is slower than all bounds is as slow as the last."""
        self.assertEqual(quantile(self.counts(beyond=1), 0.99), BOUNDS[-1])

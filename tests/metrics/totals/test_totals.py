"""What workers count, added up."""

import json
import re
from random import Random

from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.exchanges.exchange_rows import PLACES
from ingress.metrics.metrics import Metrics
from ingress.metrics.series.filters import MAX_EVENTS
from ingress.metrics.totals.tallies import MAX_BYTES, ROWS, TallyError, tally_from_bytes
from ingress.metrics.totals.tallying import Tallying
from ingress.metrics.totals.totals import Life, Totals
from ingress.model.cluster.objects import ObjectKey
from ingress.model.exchanges.causes import Cause
from ingress.model.network.streams import StreamSort
from ingress.model.observability.traces import TraceContext
from tests.fakes.records import ENDPOINT, record_of

SHOP = ObjectKey("web", "shop")
BLOG = ObjectKey("web", "blog")
GONE = ObjectKey("web", "gone")
SERVICES = frozenset((ObjectKey("web", "web"), ObjectKey("web", "cart")))


def shown(metrics: Metrics, *, without: str = "process_|python_") -> dict[str, float]:
    """The numbers of all series of *metrics* that are not 0, by name and labels."""
    lines = [line.rsplit(" ", 1) for line in metrics.render().decode().splitlines() if line[0] != "#"]
    return {
        series: float(number) for series, number in lines if float(number) and not re.match(without, series)
    }


def happen(random: Random, metrics: Metrics) -> None:
    """Have something happen that *metrics* count."""
    choice = random.randrange(9)
    if choice < 4:
        owner = random.choice((SHOP, BLOG, GONE, None))
        metrics.exchanges.ended(
            record_of(
                owner,
                random.choice((0, 200, 404, 503)),
                random.choice((0.0625, 4.0)),
                7,
                service=random.choice(("web", "cart", "gone")),
                cause=random.choice((None, *Cause)),
                bytes_received=3,
                endpoint=random.choice((None, ENDPOINT)),
            )
        )
    elif choice == 4:
        metrics.downstream_opened(random.random() < 0.5)
    elif choice == 5:
        metrics.filters.counted("limit", random.choice(("passed", "refused")))
        metrics.filters.failed("limit")
    elif choice == 6:
        metrics.connections.stream_opened(StreamSort.TCP)
        metrics.connections.stream_ended(StreamSort.TCP, 200, 3, 5)
    elif choice == 7:
        metrics.http2.downstream.streams += 1
        metrics.sub_requests.ended("ask", "answered")
    else:
        metrics.upstream_opened()


class WorkersCase(SynchronousTestCase):
    """Has the metrics of a parent, and those of workers."""

    def setUp(self) -> None:
        self.metrics = Metrics()
        self.metrics.snapshot_published(2, 0, {}, 0.0, frozenset((SHOP, BLOG)), SERVICES)
        self.totals = Totals(self.metrics)

    def tell(self, life: Life, tallying: Tallying, with_own: bool = False) -> int:
        """Have a worker tell what it counted; return how many bytes it took."""
        size = 0
        for octets in tallying.take(with_own):
            size += len(octets)
            if octets:
                life.take(octets)
        return size


class TotalsTests(WorkersCase):
    """``Totals`` with ``Tallying``, seen through what Prometheus would get."""

    def test_split(self) -> None:
        """However events are split among workers and lives, and whenever they tell, the sum is what one process would have counted."""
        for seed in range(20):
            random = Random(seed)
            self.setUp()
            alone = Metrics()
            alone.snapshot_published(2, 0, {}, 0.0, frozenset((SHOP, BLOG)), SERVICES)
            workers = []
            for slot in range(3):
                counting = Metrics()
                workers.append((counting, Tallying(counting), self.totals.begin(slot)))
            for _ in range(300):
                # The same event for both.
                event = random.randrange(1 << 30)
                happen(Random(event), alone)
                counting, tallying, life = random.choice(workers)
                happen(Random(event), counting)
                if random.random() < 0.05:
                    self.tell(life, tallying)
            for _, tallying, life in workers:
                self.tell(life, tallying)
            self.assertEqual(shown(self.metrics), shown(alone))

    def test_lives(self) -> None:
        """A worker that ended stays in all counters, and its open connections are gone."""
        for _ in range(3):
            counting = Metrics()
            life = self.totals.begin(0)
            tallying = Tallying(counting)
            counting.downstream_opened(True)
            counting.exchanges.ended(record_of(SHOP, 200, 0.3, 10))
            self.tell(life, tallying)
            self.assertEqual(shown(self.metrics)['ingress_downstream_connections{tls="true"}'], 1)
            life.ended()
            life.ended()
        found = shown(self.metrics)
        self.assertEqual(found['ingress_downstream_connections_accepted_total{tls="true"}'], 3)
        self.assertNotIn('ingress_downstream_connections{tls="true"}', found)
        self.assertEqual(
            found['ingress_requests_total{ingress="shop",namespace="web",service="web",status="2xx"}'], 3
        )
        self.assertEqual(found["ingress_request_duration_seconds_count"], 3)

    def test_untold(self) -> None:
        """What a worker counted since it last told is lost with it, and nothing else."""
        counting = Metrics()
        life, tallying = self.totals.begin(0), Tallying(counting)
        counting.upstream_failed()
        self.tell(life, tallying)
        counting.upstream_failed()
        life.ended()
        self.assertEqual(shown(self.metrics)["ingress_upstream_failures_total"], 1)

    def test_gauges_as_they_are(self) -> None:
        """A gauge is what its worker told last, not a sum of what it told."""
        counting = Metrics()
        life, tallying = self.totals.begin(0), Tallying(counting)
        for open_now in (5, 3, 0):
            counting.http2.downstream.open = open_now
            self.tell(life, tallying)
            found = shown(self.metrics).get('ingress_http2_connections{side="downstream"}', 0)
            self.assertEqual(found, open_now)

    def test_two_lives_of_a_slot(self) -> None:
        """While the worker of a slot drains beside the next one, open connections are those of both, and each series is there once."""
        lives = []
        for _ in range(2):
            counting = Metrics()
            counting.downstream_opened(False)
            lives.append(self.totals.begin(0))
            self.tell(lives[-1], Tallying(counting), with_own=True)
        self.assertEqual(shown(self.metrics)['ingress_downstream_connections{tls="false"}'], 2)
        text = self.metrics.render().decode()
        self.assertEqual(text.count('\nprocess_resident_memory_bytes{worker="0"} '), 1)
        lives[0].ended()
        self.assertIn('\nprocess_resident_memory_bytes{worker="0"} ', self.metrics.render().decode())

    def test_own(self) -> None:
        """What means nothing in sum has the label of its worker; the parent's has none."""
        for slot in (1, 0):
            self.tell(self.totals.begin(slot), Tallying(Metrics()), with_own=True)
        lines = [line for line in self.metrics.render().decode().splitlines() if "_resident_" in line]
        self.assertEqual(
            [line.split(" ")[0] for line in lines if line[0] != "#"],
            [
                "process_resident_memory_bytes",
                'process_resident_memory_bytes{worker="0"}',
                'process_resident_memory_bytes{worker="1"}',
            ],
        )

    def test_own_after_the_end(self) -> None:
        """Memory of a worker that ended is not shown; its processor time stays in the sum of its slot."""
        life = self.totals.begin(0)
        for _ in range(2):
            life.take(b'{"own":[["process_cpu_seconds_total",1.5],["process_open_fds",9]]}')
            life.ended()
            life = self.totals.begin(0)
        found = shown(self.metrics, without="ingress_")
        self.assertEqual(found['process_cpu_seconds_total{worker="0"}'], 3.0)
        self.assertNotIn('process_open_fds{worker="0"}', found)

    def test_interpreter_of_a_fork(self) -> None:
        """What the collector did before a worker began is not counted as the worker's."""
        life = self.totals.begin(0)
        self.tell(life, Tallying(Metrics()), with_own=True)
        collected = shown(self.metrics, without="ingress_|process_")
        for series, number in collected.items():
            if series.startswith("python_gc_collections_total") and "worker" in series:
                self.assertLess(number, 100)
        self.assertGreater(collected['python_gc_collections_total{generation="0"}'], 0)

    def test_ingress_gone(self) -> None:
        """What a worker counted of an Ingress that left meanwhile is shown under empty labels, as in one process."""
        counting = Metrics()
        life, tallying = self.totals.begin(0), Tallying(counting)
        counting.exchanges.ended(record_of(SHOP, 200, 0.1, 10))
        self.tell(life, tallying)
        self.metrics.snapshot_published(1, 0, {}, 0.0, frozenset((BLOG,)), SERVICES)
        self.assertEqual(len(list(self.metrics.exchanges.drop())), 1)
        counting.exchanges.ended(record_of(SHOP, 200, 0.1, 10))
        self.tell(life, tallying)
        text = self.metrics.render().decode()
        self.assertNotIn('ingress="shop"', text)
        self.assertIn('ingress_requests_total{ingress="",namespace="",service="",status="2xx"} 1.0\n', text)

    def test_no_workers(self) -> None:
        """Where one process serves by itself, the text is the same as without any of this."""
        counting = Metrics()
        counting.exchanges.ended(record_of(SHOP, 200, 0.1, 10))
        before = counting.render().decode()
        Totals(counting)
        after = counting.render().decode()
        self.assertNotIn("worker", after)
        self.assertEqual(
            *("\n".join(text.split("# HELP process_")[0].splitlines()) for text in (before, after))
        )

    def test_every_family(self) -> None:
        """Workers tell of all series but those that are the parent's alone, or have rows that come and go; a new one is on one of the lists."""
        told = {family.name for family in self.metrics.serving_families()}
        of_parent = {
            "ingress_routes",
            "ingress_certificates",
            "ingress_problems",
            "ingress_snapshot_seconds",
            "ingress_translations_failed",
            "ingress_certificate_expiry_timestamp_seconds",
            "ingress_last_change_timestamp_seconds",
            "ingress_last_publish_timestamp_seconds",
            "ingress_build_info",
            "ingress_changes_waiting_seconds",
            "ingress_admin_refused",
            "ingress_admission_reviews",
        }
        of_each = {"ingress_reactor_lag_seconds"}
        of_rows = {
            "ingress_requests",
            "ingress_failures",
            "ingress_response_body_bytes",
            "ingress_request_body_bytes",
            "ingress_request_seconds",
            "ingress_upstream_seconds",
            "ingress_request_duration_seconds",
            "ingress_upstream_duration_seconds",
            "ingress_filter_events",
            "ingress_filter_failures",
        }
        others = of_parent | of_rows | of_each
        self.assertEqual({family.name for family in self.metrics.families()} - told, others)
        self.assertEqual(told & others, set())
        own = {family.name for family in self.metrics.own_families() if family is not None}
        self.assertEqual(own & others, of_each)

    def test_nothing_new(self) -> None:
        """A worker to which nothing happened says nothing."""
        tallying = Tallying(Metrics())
        self.assertEqual(list(tallying.take(False)), [])

    def test_many_ingresses(self) -> None:
        """Of ten thousand Ingresses with requests a worker tells in many tallies of bounded size, and next of none."""
        counting = Metrics()
        tallying = Tallying(counting)
        keys = [ObjectKey("n" * 63, f"{number:05}-{'x' * 247}") for number in range(10_000)]
        for key in keys:
            counting.exchanges.ended(record_of(key, 200, 0.1, 10))
        tallies = list(tallying.take(False))
        self.assertGreater(len(tallies), 10_000 // ROWS)
        self.assertLess(max(map(len, tallies)), MAX_BYTES)
        self.assertEqual(list(tallying.take(False)), [])

    def test_large_rows(self) -> None:
        """However long the names, and however large and many the numbers of rows are, each tally can be read."""
        counting = Metrics()
        tallying = Tallying(counting)
        for number in range(100):
            key = ObjectKey("n" * 63, f"{number:03}-{'x' * 249}")
            counting.exchanges.ended(record_of(key, service="s" * 63))
        for row in counting.exchanges.rows:
            row.counts = [(1 << 62) + 1] * PLACES
            row.bytes_sent = row.bytes_received = (1 << 62) + 1
            row.seconds = row.upstream_seconds = 1.2345678901234567e15
        tallies = [tally_from_bytes(octets) for octets in tallying.take(False)]
        self.assertEqual(sum(len(tally.exchanges) for tally in tallies), 101)

    def test_examples(self) -> None:
        """The parent shows the newest example of each bucket of all workers; one whose trace is told stays before others."""
        lives = [
            (counting, Tallying(counting), self.totals.begin(slot))
            for slot, counting in enumerate((Metrics(), Metrics()))
        ]
        trace = TraceContext("c" * 32, "d" * 16, is_sampled=True)

        def say(slot: int, seconds: float, request: bytes, trace: TraceContext | None = None) -> None:
            counting, tallying, life = lives[slot]
            counting.exchanges.ended(
                record_of(SHOP, 200, seconds, request=request, trace=trace, endpoint=ENDPOINT)
            )
            self.tell(life, tallying)

        say(0, 0.03, b"one")
        say(1, 0.04, b"two")
        say(1, 3.0, b"three", trace)
        say(0, 4.0, b"four")
        exchanges = self.metrics.exchanges
        for examples in (exchanges.examples, exchanges.upstream_examples):
            found = [one for one in examples.shown() if one is not None]
            self.assertEqual(found, [("", "two", 0.04), ("c" * 32, "", 3.0)])

    def test_house(self) -> None:
        """What is known of the whole house is that of all workers, those of Ingresses that are gone included."""
        counting = Metrics()
        life, tallying = self.totals.begin(0), Tallying(counting)
        for owner in (SHOP, GONE, None):
            counting.exchanges.ended(
                record_of(owner, 502, 0.0625, cause=Cause.BAD_GATEWAY, endpoint=ENDPOINT)
            )
        self.tell(life, tallying)
        self.metrics.snapshot_published(0, 0, {}, 0.0)
        exchanges = self.metrics.exchanges
        self.assertEqual((sum(exchanges.durations), sum(exchanges.upstream_durations)), (3, 3))
        self.assertEqual((exchanges.seconds, exchanges.upstream_seconds), (0.1875, 0.1875))
        self.assertEqual(exchanges.failures, [3 * (cause is Cause.BAD_GATEWAY) for cause in Cause])


class HostileTests(WorkersCase):
    """What a worker says that is not itself any more."""

    def test_refused(self) -> None:
        """What is no tally, or has anything in it that no worker says, is refused and adds nothing at all."""
        life = self.totals.begin(0)
        before = self.metrics.render().decode().split("# HELP process_")[0]
        count = ["ingress_upstream_failures_total", 1]
        example = [False, 5, "", "abc", 0.03]
        exchanges = ["web", "shop", "web", 5, 6, 0.25, 0.125, 2, 1]
        parts: list[dict[str, object]] = [
            {"other": []},
            {"summed": {}},
            {"summed": [[]]},
            {"summed": [["ingress_upstream_failures_total"]]},
            {"summed": [count, "row"]},
            {"summed": [count, ["no_such_series", 1]]},
            {"summed": [count, ["process_open_fds", 1]]},
            {"summed": [count, ["ingress_requests_total", "web", "shop", "2xx", 1]]},
            {"summed": [count, ["ingress_routes", 1]]},
            {"summed": [count, ["ingress_upstream_failures_total", "label", 1]]},
            {"summed": [count, ["ingress_upstream_failures_total", -1]]},
            {"summed": [count, ["ingress_upstream_failures_total", float("nan")]]},
            {"summed": [count, ["ingress_upstream_failures_total", float("inf")]]},
            {"summed": [count, ["ingress_upstream_failures_total", True]]},
            {"summed": [count, ["ingress_upstream_failures_total", "1"]]},
            {"summed": [count, ["ingress_upstream_failures_total", 1 << 64]]},
            {"summed": [count], "own": [["ingress_upstream_failures_total", 1]]},
            {"summed": [count], "exchanges": [exchanges[:-1]]},
            {"summed": [count], "exchanges": [[*exchanges[:-1], -5]]},
            {"summed": [count], "exchanges": [[*exchanges[:-1], 1.5]]},
            {"summed": [count], "exchanges": [[7, *exchanges[1:]]]},
            {"summed": [count], "exchanges": [[*exchanges, 3]]},
            {"summed": [count], "exchanges": [[*exchanges, 1, 1] * 40]},
            {"summed": [count], "exchanges": [[*exchanges[:-2], PLACES, 1]]},
            {"summed": [count], "exchanges": [[*exchanges[:-2], -1, 1]]},
            {"summed": [count], "exchanges": [[*exchanges[:-2], True, 1]]},
            {"summed": [count], "exchanges": [[*exchanges[:5], float("inf"), *exchanges[6:]]]},
            {"summed": [count], "exchanges": [[*exchanges[:5], -0.5, *exchanges[6:]]]},
            {"summed": [count], "examples": [example[:-1]]},
            {"summed": [count], "examples": [[0, *example[1:]]]},
            {"summed": [count], "examples": [[*example[:1], 6, *example[2:]]]},
            {"summed": [count], "examples": [[*example[:1], 99, *example[2:4], 9e9]]},
            {"summed": [count], "examples": [[*example[:2], "A" * 32, "", 0.03]]},
            {"summed": [count], "examples": [[*example[:2], "a" * 32, "both", 0.03]]},
            {"summed": [count], "examples": [[*example[:3], 'a"} 1', 0.03]]},
            {"summed": [count], "examples": [[*example[:3], "x" * 65, 0.03]]},
            {"summed": [count], "examples": [[*example[:4], float("nan")]]},
            {"summed": [count], "events": [["limit", "\ud800", 1]]},
            {"summed": [count], "events": [["limit", "x" * 254, 1]]},
            {"summed": [count], "events": [["limit", "passed"]]},
            {"summed": [count], "failures": [["limit", 1, 2]]},
        ]
        for wrong in (
            b"",
            b"\xff",
            b"[]",
            b"null",
            b"{",
            b"[" * 100_000,
            b'{"a":' * 40_000,
            b"1" * 5000,
            b" " * (1 << 20),
            *(json.dumps(part).encode() for part in parts),
        ):
            with self.assertRaises(TallyError) as refused:
                life.take(wrong)
            # Nothing of what came gets into a log.
            self.assertLess(len(str(refused.exception)), 60)
        self.assertEqual(self.metrics.render().decode().split("# HELP process_")[0], before)

    def test_strange_names(self) -> None:
        """Names of Ingresses that there are not are shown nowhere, however they are spelled."""
        life = self.totals.begin(0)
        for name in ('a"} 1\nfake 2', "\u202e", "\\", "\x00", "x" * 253):
            life.take(json.dumps({"exchanges": [["web", name, "web", 5, 0, 0.5, 0.25, 2, 1]]}).encode())
        text = self.metrics.render().decode()
        self.assertIn('\ningress_requests_total{ingress="",namespace="",service="",status="2xx"} 5.0\n', text)
        self.assertNotIn("fake", text)

    def test_strange_events(self) -> None:
        """An event is one label value, however it is spelled, and there are never more series than a bound."""
        life = self.totals.begin(0)
        life.take(json.dumps({"events": [['a"} 1\nfake 2', "\n", 1]]}).encode())
        self.assertNotIn("\nfake", self.metrics.render().decode())
        for number in range(60):
            rows = [[f"{number} {row}", f"{row}", 1] for row in range(100)]
            life.take(json.dumps({"events": rows, "failures": [[row[0], 1] for row in rows]}).encode())
        text = self.metrics.render().decode()
        self.assertLessEqual(text.count("\ningress_filter_events_total{"), 2 * MAX_EVENTS + 1)
        self.assertLessEqual(text.count("\ningress_filter_failures_total{"), MAX_EVENTS + 1)
        total = sum(number for series, number in shown(self.metrics).items() if "filter_events" in series)
        self.assertEqual(total, 6001)

    def test_halves_of_characters(self) -> None:
        """A filter that counts a word which no page can show does not keep other events from being told."""
        counting = Metrics()
        tallying = Tallying(counting)
        counting.filters.counted("limit", "\ud800" + "x" * 1000)
        counting.filters.counted("limit", "passed")
        self.tell(self.totals.begin(0), tallying)
        self.assertEqual(shown(self.metrics)['ingress_filter_events_total{event="passed",filter="limit"}'], 1)

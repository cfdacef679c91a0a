"""A real Prometheus scrapes two replicas while things break, one after the other, and tells of these and of nothing else."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from twisted.internet.defer import Deferred

from ingress.model.upstream.backends import Endpoint
from tests.end_to_end.cluster.test_watch_process import WatchProcessCase
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import ingress_object, secret_object, service_object, slice_object
from tests.fakes.peers.upstreams import Upstream, UpstreamWire
from tests.fakes.processes import ControllerProcess, free_port
from tests.monitoring.files import THEIR_NAMES, recording_rules
from tests.monitoring.prometheus import LOOKED_BACK, Prometheus

WANTED: Final = "TXINGRESS_TEST_PROMETHEUS"
_PREFIX: Final = "nginx.ingress.kubernetes.io/"
OF_THE_MACHINE: Final = frozenset(("TxingressReactorLag",))
"""What a machine that has other work may have told besides."""

FAILURES: Final = {
    "dead": ("bad-gateway", 502, "connection refused", "", "no connection could be made"),
    "none": ("unavailable", 503, "has no EndpointSlice", "", ""),
    "lost": ("unavailable", 503, "there is no Service shop/lost", "", ""),
    "slow": ("gateway-timeout", 504, "silent", "", "upstream was silent for too long, from the start"),
    "faulty": ("upstream", 500, "", "", "500"),
    "cut": ("cut", 200, "connection closed", "", "200"),
    "limited": ("limit", 503, "", "rate-limit", ""),
    "kept-out": ("auth", 403, "", "address-ranges", ""),
    "unasked": ("auth-failed", 500, "", "external-auth", ""),
}
"""What the runbook has people look for: cause, status, some of the reason, the filter, and what became of the last attempt."""

Told: TypeAlias = tuple[str, str]
"""An alert, and whom it names: the Ingress, Secret, reason, kind or pod."""
_NAMED_BY: Final = ("ingress", "secret", "reason", "kind", "pod")


def named(labels: dict[str, str]) -> Told:
    """Return an alert with what it leads to."""
    return labels["alertname"], next((labels[name] for name in _NAMED_BY if labels.get(name)), "")


def _cut(wire: UpstreamWire) -> None:
    wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it")
    wire.transport.loseConnection()


def _fail(wire: UpstreamWire) -> None:
    wire.write(b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")


def _say_nothing(wire: UpstreamWire) -> None:
    pass


class OutageCase(WatchProcessCase):
    """Replicas, a Prometheus that watches them, and somebody who asks them."""

    timeout = 90
    count = 2
    """How many replicas there are."""
    more_options: tuple[str, ...] = ()

    if os.environ.get(WANTED) is None:
        skip = "starts a Prometheus, which takes a minute: make test-monitoring"

    async def begin(self) -> None:
        """Start the replicas, a Prometheus, and somebody who asks."""
        self.hosts: list[str] = []
        self.seen: set[Told] = set()
        self.authority = make_authority()
        self.replicas: list[tuple[ControllerProcess, int, int]] = []
        self.serve("fine", b"fine")
        for _ in range(self.count):
            controller = self.start_watching(
                "--election-ttl=6",
                "--publish-status-address=192.0.2.80",
                "--auth-url-allow=127.0.0.1",
                # A machine with other work would have it tell of that.
                "--overload-after=0",
                *self.more_options,
            )
            await self.until_ready(controller)
            self.replicas.append((controller, self.http, self.admin))
        program = shutil.which("prometheus")
        assert program is not None, "apt-get install prometheus"
        folder, port = self.directory / "prometheus", free_port()
        self.admins.add(port)
        Prometheus.write_files(
            folder, {f"txingress-{n}": admin for n, (_, _, admin) in enumerate(self.replicas)}
        )
        self.prometheus = Prometheus(self.reactor, program, folder, port, self.content)
        self.addCleanup(lambda: Deferred.fromCoroutine(self.prometheus.stop()))
        while not await self.prometheus.is_ready():
            await self.turn(0.1)
        # It evaluates rules for some seconds before it has targets, and tells of their absence meanwhile.
        while len(await self.prometheus.query('up{job="txingress"} == 1')) < self.count:
            await self.turn(0.1)
        await self.until_quiet_about({"TxingressAbsent"})
        self.is_over = False
        askers = [Deferred.fromCoroutine(self.keep_asking(host)) for host in self.hosts]
        self.askers = askers
        self.addCleanup(self.ask_no_more)

    async def ask_no_more(self) -> None:
        """Have nobody ask any more."""
        self.is_over = True
        for asker in self.askers:
            await asker

    async def content(self, port: int, path: str) -> bytes:
        """Return what is answered; empty where nobody answers well."""
        status, body = await self.get(port, path)
        return body if status == 200 else b""

    async def keep_asking(self, host: str) -> None:
        """Ask for *host*, each replica in its turn, one request after the other."""
        while not self.is_over:
            for controller, http, _ in self.replicas:
                if controller.status is None and not self.is_over and controller not in self.stopped_ones:
                    await self.get(http, "/", host)
            await self.turn(0.05)

    stopped_ones: frozenset[ControllerProcess] = frozenset()
    """Replicas that stand still, and would keep those waiting who ask."""

    # What is served

    def ingress(self, name: str, secret: str | None = None, **annotations: str) -> dict[str, Any]:
        """Return an Ingress of host NAME.test, and have it asked for from now on."""
        made = ingress_object(name, f"{name}.test", secret)
        made["metadata"]["annotations"] = {
            f"{_PREFIX}{key.replace('_', '-')}": value for key, value in annotations.items()
        }
        self.hosts.append(f"{name}.test")
        return made

    def serve(
        self, name: str, *behind: bytes | Callable[[UpstreamWire], None] | None, **annotations: str
    ) -> None:
        """Create an Ingress with a Service, and upstreams behind it; None is an endpoint where nobody is."""
        self.server.create(self.ingress(name, **annotations))
        self.server.create(service_object(name))
        endpoints = [Endpoint("127.0.0.1", self.listening(one)) for one in behind]
        for number, endpoint in enumerate(endpoints):
            made = slice_object(name, endpoint)
            made["metadata"]["name"] = f"{name}-{number}"
            self.server.create(made)

    def listening(self, script: bytes | Callable[[UpstreamWire], None] | None) -> int:
        """Return the port of a new upstream."""
        if script is None:
            return free_port()
        if isinstance(script, bytes):
            return self.upstream(script).endpoint.port
        upstream = Upstream(self.reactor, script)
        upstream.listen()
        self.addCleanup(upstream.stop)
        return upstream.endpoint.port

    def certificate(self, name: str, lasts: timedelta) -> None:
        """Create a Secret with a certificate that ends so long from now, and an Ingress that shows it."""
        chain, key = issue(self.authority, [f"{name}.test"], not_after=datetime.now(UTC) + lasts)
        self.server.create(secret_object(name, chain, key))
        self.server.create(service_object(name))
        self.server.create(slice_object(name, Endpoint("127.0.0.1", self.listening(b"secure"))))
        self.server.create(self.ingress(name, name, ssl_redirect="false"))

    # What is told

    async def watch(self, *states: str) -> set[Told]:
        """Return which alerts there are, and note those that fire."""
        found = {named(labels) for labels in await self.prometheus.alerts(*states)}
        return {told for told in found if told[0] not in OF_THE_MACHINE}

    async def until_told(self, *expected: Told) -> None:
        """Wait until each of *expected* has fired."""
        missing = set(expected)
        deadline = self.reactor.seconds() + 40
        while missing:
            now = await self.watch("firing")
            self.seen |= now
            missing -= now
            if self.reactor.seconds() > deadline:
                self.fail(f"not told: {sorted(missing)}; told: {sorted(now)}")
            self.server.send_bookmarks()
            await self.turn(0.5)

    async def until_quiet_about(self, names: Iterable[str]) -> None:
        """Wait until none of these alerts is there any more."""
        deadline = self.reactor.seconds() + 30
        while found := {told for told in await self.watch("pending", "firing") if told[0] in names}:
            if self.reactor.seconds() > deadline:
                self.fail(f"still told: {sorted(found)}")
            self.server.send_bookmarks()
            await self.turn(0.5)

    async def check_scrapes(self) -> None:
        """Each scrape is taken whole: no error of parsing, nothing twice, nothing out of order."""
        targets = (await self.prometheus.ask("targets"))["activeTargets"]
        self.assertEqual([(one["health"], one["lastError"]) for one in targets], [("up", "")] * self.count)
        for bad in (
            b"Error on ingesting",
            b"duplicate",
            b"out of order",
            b"level=error",
            b"Scrape commit failed",
        ):
            self.assertNotIn(bad, self.prometheus.log)
        groups = (await self.prometheus.ask("rules"))["groups"]
        self.assertEqual(len(groups), 2)
        rules = [rule for group in groups for rule in group["rules"]]
        self.assertEqual([(rule["name"], rule["lastError"]) for rule in rules if rule.get("lastError")], [])
        self.assertEqual({rule["health"] for rule in rules}, {"ok"})

    async def check_failures(self) -> None:
        """The cause of each failure is on the page of failures, by the words of the runbook."""
        for name, (cause, status, reason, by, outcome) in FAILURES.items():
            page = json.loads(await self.content(self.replicas[0][2], f"/api/v1/failures?host={name}.test"))
            found = page["failures"][-1]
            attempts = [attempt["outcome"] for attempt in found["attempts"]]
            self.assertEqual((found["cause"], found["status"], found["filter"]), (cause, status, by), name)
            self.assertIn(reason, found["reason"])
            self.assertEqual(attempts[-1:], [outcome] if outcome else [], name)

    async def check_their_names(self) -> None:
        """What is recorded under names of ingress-nginx is there of each replica, and as much as what it is made of."""
        for rule in recording_rules(THEIR_NAMES):
            found = await self.prometheus.query(f"count by (controller_pod) ({rule.name})")
            if "ssl_expire" not in rule.name:
                self.assertEqual(
                    {labels.get("controller_pod") for labels, _ in found},
                    {"txingress-0", "txingress-1"},
                    rule.name,
                )
            self.assertTrue(found, rule.name)
        requests = (
            'nginx_ingress_controller_requests{exported_namespace="shop", ingress="fine", status=~"2.."}'
        )
        ((_, theirs),) = await self.prometheus.query(f"sum({requests})")
        ((_, ours),) = await self.prometheus.query(
            'sum(ingress_requests_total{ingress="fine", status="2xx"})'
        )
        # What was scraped a moment ago is recorded a moment later.
        self.assertTrue(0 < theirs <= ours, (theirs, ours))

    async def check_exemplars(self) -> None:
        """Buckets have examples, by which a request is found again."""
        now = datetime.now(UTC).timestamp()
        found = await self.prometheus.ask(
            "query_exemplars",
            query="ingress_request_duration_seconds_bucket",
            start=f"{now - 60:.0f}",
            end=f"{now + 1:.0f}",
        )
        examples = [example for one in found for example in one["exemplars"]]
        self.assertGreater(len(examples), 5)
        for example in examples:
            self.assertEqual(len({"request_id", "trace_id"} & set(example["labels"])), 1)


class OutageTests(OutageCase):
    """What breaks outside of the process."""

    async def test_outage(self) -> None:
        """Nothing is told while all is well; then each thing that breaks is, by the name of whose it is, and nothing else; and that ends."""
        await self.begin()
        for _ in range(8):
            self.server.send_bookmarks()
            await self.turn(1)
        await self.check_scrapes()
        self.assertEqual(await self.watch("firing"), set())
        self.assertEqual(len(await self.prometheus.query('up{job="txingress"} == 1')), 2)
        fine = 'namespace_ingress_service:ingress_requests:rate5m{namespace="shop", ingress="fine", service="fine"}'
        self.assertEqual([value > 1 for _, value in await self.prometheus.query(fine)], [True])

        await self.check_exemplars()
        # What is compared with a time before has to be known of then.
        while not await self.prometheus.query(f"ingress_problems offset {LOOKED_BACK}"):
            self.server.send_bookmarks()
            await self.turn(0.5)

        known = len(self.hosts)
        self.serve("dead", None)
        self.serve("half", b"alive", None)
        self.serve("none")
        self.serve("slow", _say_nothing, proxy_read_timeout="1")
        self.serve("faulty", _fail)
        self.serve("cut", _cut)
        self.serve("limited", b"limited", limit_rps="1")
        self.serve("kept-out", b"never", whitelist_source_range="192.0.2.0/24")
        self.serve("unasked", b"never", auth_url=f"http://127.0.0.1:{free_port()}/")
        self.server.create(self.ingress("lost"))
        self.certificate("week", timedelta(days=7))
        self.certificate("day", timedelta(days=1))
        self.certificate("over", timedelta(hours=-1))
        self.askers += [Deferred.fromCoroutine(self.keep_asking(host)) for host in self.hosts[known:]]
        broken: set[Told] = {
            ("TxingressServiceDown", "dead"),
            ("TxingressServiceDown", "none"),
            ("TxingressServiceDown", "slow"),
            ("TxingressServiceDown", "lost"),
            ("TxingressBadGateway", "dead"),
            ("TxingressUnavailable", "none"),
            ("TxingressUnavailable", "lost"),
            ("TxingressGatewayTimeout", "slow"),
            ("TxingressUpstreamErrors", "faulty"),
            ("TxingressAnswersCut", "cut"),
            ("TxingressLimiting", "limited"),
            ("TxingressAuthRefusing", "kept-out"),
            ("TxingressAuthRefusing", "unasked"),
            ("TxingressAuthServiceFailing", "txingress-0"),
            ("TxingressAuthServiceFailing", "txingress-1"),
            ("TxingressTrafficFailing", ""),
            ("TxingressEndpointsEjected", "txingress-0"),
            ("TxingressEndpointsEjected", "txingress-1"),
            ("TxingressProblemsNew", "ServiceNotFound"),
            ("TxingressProblemsNew", "CertificateExpired"),
            ("TxingressCertificateEnding", "week"),
            ("TxingressCertificateEndingSoon", "day"),
            ("TxingressCertificateExpired", "over"),
        }
        await self.until_told(*broken)
        self.assertEqual(self.seen - broken, set())
        await self.check_failures()
        await self.check_their_names()
        await self.check_scrapes()

        # The API server says nothing any more, and one replica stands still.
        still, _, _ = self.replicas[1]
        self.stopped_ones = frozenset((still,))
        self.server.freeze()
        still.signal(signal.SIGSTOP)
        self.addCleanup(still.signal, signal.SIGCONT)
        silent = {
            ("TxingressDown", "txingress-1"),
            ("TxingressLeaderMissing", ""),
            *(("TxingressWatchSilent", kind) for kind in ("Ingress", "Service", "EndpointSlice", "Secret")),
        }
        await self.until_told(*silent)
        others = {told for told in self.seen - broken - silent if told[0] != "TxingressWatchSilent"}
        self.assertEqual(others, set())

        still.signal(signal.SIGCONT)
        self.server.thaw()
        await self.until_quiet_about({name for name, _ in silent})
        await self.check_scrapes()


class WorkerOutageTests(OutageCase):
    """What breaks inside of it."""

    count = 1
    more_options = ("--workers=2",)

    async def workers(self) -> list[dict[str, Any]]:
        """Return what is known of workers."""
        page = json.loads(await self.content(self.replicas[0][2], "/api/v1/workers"))
        return list(page["workers"])

    async def test_workers(self) -> None:
        """The numbers of all workers are scraped as one; one that is killed is told of, and so is one that stands still; the rest is quiet."""
        await self.begin()
        for _ in range(6):
            self.server.send_bookmarks()
            await self.turn(1)
        await self.check_scrapes()
        self.assertEqual(await self.watch("firing"), set())
        self.assertEqual(len(await self.prometheus.query("ingress_worker_up == 1")), 2)
        asked = 'ingress_requests_total{ingress="fine", service="fine", status="2xx"} > 10'
        self.assertEqual(len(await self.prometheus.query(asked)), 1)

        killed, still = [worker["pid"] for worker in await self.workers()]
        os.kill(killed, signal.SIGKILL)
        await self.until_told(("TxingressWorkersRestarting", "txingress-0"))
        (cause,) = {
            labels["cause"]
            for labels in await self.prometheus.alerts("firing")
            if labels["alertname"] == "TxingressWorkersRestarting"
        }
        self.assertEqual(cause, "killed")
        os.kill(still, signal.SIGSTOP)
        await self.until(lambda: b"has done nothing for a while, and is killed" in self.replicas[0][0].output)
        ended = 'ingress_worker_ends_total{cause="hung"} == 1'
        while not await self.prometheus.query(ended):
            await self.turn(0.5)
        names = {name for name, _ in self.seen | await self.watch("firing")}
        self.assertLessEqual(names, {"TxingressWorkersRestarting", "TxingressWorkerDown"})
        await self.check_scrapes()

"""A filter of an installed package that asks and tells other services, in a whole process."""

from __future__ import annotations

import re
import signal

from tests.end_to_end.end_to_end_case import EndToEndCase
from tests.fakes.objects import NAMESPACE, ingress_object, service_object
from tests.fakes.peers.upstreams import OK, UpstreamWire
from tests.fakes.processes import ControllerProcess

FILTER = '''
"""A filter of a test: asks one URL about each request, and tells another one of it."""

from typing import ClassVar

from attrs import frozen

from ingress.filters import Facts, Filter, Phase, Reply, Services, SubRequest


@frozen
class Asks:
    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "asks"
    asked: str
    told: str

    def describe(self) -> str:
        return f"asks {self.asked} and tells {self.told}"

    def make(self, services: Services) -> Filter:
        return Asking(self, services)


class Asking(Filter):
    def __init__(self, spec: Asks, services: Services) -> None:
        self.spec = spec
        self.services = services

    async def on_request(self, facts: Facts) -> Reply | None:
        fields = ((b"X-Target", facts.target),)
        self.services.tell(SubRequest(self.spec.told, method=b"POST", fields=fields, is_trusted=True))
        answer = await self.services.ask(SubRequest(self.spec.asked, fields=fields, seconds=60.0, is_trusted=True))
        return None if answer.status == 200 else Reply(answer.status)


def read(arguments: str) -> Asks:
    return Asks(*arguments.split(","))
'''


class AskingTests(EndToEndCase):
    """One upstream, one that is asked, and one that is told and never answers."""

    async def serving(self) -> ControllerProcess:
        """Start it with the filter, and wait until it serves."""
        site = self.directory / "site"
        brought = site / "asks-1.0.dist-info"
        brought.mkdir(parents=True)
        (site / "asks.py").write_text(FILTER)
        (brought / "METADATA").write_text("Metadata-Version: 2.1\nName: asks\nVersion: 1.0\n")
        (brought / "entry_points.txt").write_text("[txingress.filters]\nasks = asks:read\n")
        self.environment = {"PYTHONPATH": str(site)}
        self.app, self.auth, self.mirror = self.upstream(b"app"), self.upstream(b""), self.upstream(b"")
        self.auth.on_request = self.decide
        self.mirror.on_request = lambda wire: None
        self.write("app", ingress_object("app", "shop.test"), service_object("app"))
        urls = f"http://{self.auth.endpoint}/may,http://{self.mirror.endpoint}/told"
        controller = self.start_with_manifests(
            f"--endpoint={NAMESPACE}/app={self.app.endpoint}", f"--filter=asks={urls}"
        )
        await self.until_ready(controller)
        return controller

    def decide(self, wire: UpstreamWire) -> None:
        """Let nobody have ``/secret``, and leave whoever asks for ``/slow`` without a decision."""
        if b"\r\nX-Target: /secret" in wire.heads[-1]:
            wire.write(b"HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n")
        elif b"\r\nX-Target: /slow" not in wire.heads[-1]:
            wire.write(OK)

    async def count(self, kind: str, outcome: str) -> int:
        """Return how many sub-requests ended so."""
        _, body = await self.get(self.admin, "/metrics")
        series = f'ingress_sub_requests_total{{kind="{kind}",outcome="{outcome}"}}'
        found = re.search(rf"^{re.escape(series)} (\S+)$", body.decode(), re.MULTILINE)
        assert found is not None, body
        return int(float(found[1]))

    async def test_decisions(self) -> None:
        """The service decides, whoever is told of it keeps nobody waiting, and visitors alone stand in the log."""
        await self.serving()
        for _ in range(3):
            self.assertEqual(await self.get(self.http, "/"), (200, b"app"))
        self.assertEqual((await self.get(self.http, "/secret"))[0], 403)
        await self.until(lambda: self.mirror.requests == 4)
        self.assertEqual((self.app.requests, self.auth.requests, len(self.auth.wires)), (3, 4, 1))
        self.assertEqual(await self.count("ask", "answered"), 4)
        await self.until(lambda: self.access_log.exists() and self.access_log.read_bytes().count(b"\n") >= 4)
        self.assertEqual(self.access_log.read_bytes().count(b"\n"), 4)
        self.assertNotIn(b"/may", self.access_log.read_bytes())

    async def test_left(self) -> None:
        """A client that leaves ends what is asked on its behalf."""
        await self.serving()
        client = await self.connect(self.http)
        client.get(b"/slow", b"shop.test")
        await self.until(lambda: self.auth.requests == 1)
        client.transport.abortConnection()
        await self.until(lambda: self.auth.wires[0].lost)
        self.assertEqual(await self.count("ask", "cancelled"), 1)
        self.assertEqual(self.app.requests, 0)

    async def test_stopped(self) -> None:
        """A process that ends waits for no mirror, and for what is asked as long as for any request."""
        controller = await self.serving()
        self.assertEqual(await self.get(self.http, "/"), (200, b"app"))
        await self.until(lambda: self.mirror.requests == 1)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        await self.until(lambda: self.mirror.wires[0].lost)

"""One controller takes the place of another, behind a load balancer that learns of it late: the order in which both must go."""

from __future__ import annotations

import signal
from base64 import b64encode

from attrs import frozen

from tests.end_to_end.end_to_end_case import NO_ANSWER, EndToEndCase
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object
from tests.fakes.peers.downstreams import DownstreamWire
from tests.fakes.peers.load_balancers import Checks, LoadBalancer, Target
from tests.fakes.peers.steady_clients import SteadyClients
from tests.fakes.peers.upstreams import OK, Upstream, UpstreamWire
from tests.fakes.peers.web_sockets import TEXT, EchoUpstream, message
from tests.fakes.processes import ControllerProcess, free_port

HOST = "shop.test"
CHAT = "chat.test"
CHECKS = Checks()
DELAY = CHECKS.seconds_to_turn_away + 4.3
"""Seconds that a controller serves on: what the load balancer takes to turn away, and some for a machine that is busy."""
GRACE = 10.0
"""Seconds that those that run have then: few use them, but for what is to be cut."""
SLOW = 0.2
"""Seconds that some answers take, so that there are always some under way."""
ENOUGH = 10
"""Answers that each kind of client is to have had at a time before something is changed."""


@frozen
class Pod:
    """A controller with its ports."""

    process: ControllerProcess
    target: Target


class RollingUpdateCase(EndToEndCase):
    """A load balancer, clients of every kind, and controllers of the same objects."""

    more: tuple[str, ...] = ()
    """Options that controllers have besides."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start what stays the same."""
        super().setUp()
        self.authority = make_authority()
        self.app = Upstream(self.reactor, self.reply)
        self.echo = EchoUpstream(self.reactor)
        self.endpoints = [
            f"--endpoint={NAMESPACE}/{name}=127.0.0.1:{upstream.listen().port}"
            for name, upstream in (("app", self.app), ("chat", self.echo))
        ]
        self.addCleanup(self.app.stop)
        self.addCleanup(self.echo.stop)
        self.write(
            "all",
            ingress_object("app", HOST, "cert"),
            ingress_object("chat", CHAT),
            service_object("app"),
            service_object("chat"),
            secret_object("cert", *issue(self.authority, [HOST])),
        )
        self.balancer = LoadBalancer(self.reactor, CHECKS)
        self.addCleanup(self.balancer.stop)
        self.fronts = [self.balancer.listen(name) for name in ("http", "https")]
        self.steady = SteadyClients(self.reactor, HOST, self.authority, self.until)
        self.addCleanup(self.steady.stop)

    def reply(self, wire: UpstreamWire) -> None:
        """Answer at once, or a while later."""
        if b" /slow " in wire.heads[-1]:
            self.reactor.callLater(SLOW, self.reply_late, wire)
        else:
            wire.write(OK)

    def reply_late(self, wire: UpstreamWire) -> None:
        """Answer, if anybody still listens."""
        if wire.transport.connected:
            wire.write(OK)

    def start_pod(
        self, delay: float = DELAY, ports: dict[str, int] | None = None, grace: float = GRACE
    ) -> Pod:
        """Start a controller, at ports of its own or at these."""
        ports = ports or {name: free_port() for name in ("http", "https", "probes", "admin")}
        process = ControllerProcess(
            self.reactor,
            str(self.directory),
            *(f"--{name}=tcp:{port}:interface=127.0.0.1" for name, port in ports.items()),
            f"--manifests={self.manifests}",
            *self.endpoints,
            "--no-ssl-redirect",
            "--disable-access-log",
            f"--shutdown-delay={delay}",
            f"--shutdown-grace={grace}",
            # On a busy machine nobody is refused.
            "--overload-after=0",
            *self.more,
        )
        self.addCleanup(process.kill)
        target = Target(ports, ports["probes"])
        self.balancer.add(target)
        return Pod(process, target)

    async def in_rotation(self, pod: Pod) -> None:
        """Wait until the load balancer uses a controller."""
        await self.until(lambda: pod.target.is_in or pod.process.status is not None)
        self.assertIsNone(pod.process.status, pod.process.errors)

    async def out_of_rotation(self, pod: Pod) -> None:
        """Wait until the load balancer has turned away from a controller."""
        await self.until(lambda: not pod.target.is_in)

    async def asked_enough(self) -> None:
        """Wait until clients of every kind have had some more answers, or one had none."""
        before = dict(self.steady.answered)
        await self.until(
            lambda: (
                self.steady.failed
                or (
                    len(self.steady.answered) == 5
                    and all(now - before.get(kind, 0) >= ENOUGH for kind, now in self.steady.answered.items())
                )
            )
        )

    async def open_chat(self) -> DownstreamWire:
        """Open a WebSocket, through the load balancer."""
        wire = await self.connect(self.fronts[0])
        wire.send(
            b"GET / HTTP/1.1\r\nHost: %b\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %b\r\n\r\n"
            % (CHAT.encode(), b64encode(bytes(16)))
        )
        await self.until(lambda: wire.answers or wire.lost)
        self.assertEqual([answer.status for answer in wire.answers], [101])
        return wire

    async def chatted(self, wire: DownstreamWire) -> None:
        """Say something, and hear it back."""
        heard = len(wire.tunnel)
        wire.send(message(TEXT, b"still there?", masked=True))
        await self.until(lambda: len(wire.tunnel) > heard or wire.lost)
        self.assertIsNone(wire.lost)

    async def ended(self, pod: Pod) -> None:
        """Wait for the end of a controller, and check that it was in good order."""
        self.assertEqual(await self.end_of(pod.process), 0)
        self.assertEqual(pod.process.errors, b"")
        self.assertEqual(pod.process.faults(), [])


class DeploymentTests(RollingUpdateCase):
    """The new pod is ready before the old one is told to end, as with ``maxUnavailable: 0``."""

    async def replaced(self, delay: float) -> tuple[Pod, Pod]:
        """Have a new controller take the place of an old one, under load; return both once the old one has ended."""
        old = self.start_pod(delay)
        await self.in_rotation(old)
        self.steady.start(*self.fronts)
        await self.asked_enough()
        new = self.start_pod()
        await self.in_rotation(new)
        await self.asked_enough()
        old.process.signal(signal.SIGTERM)
        await self.ended(old)
        await self.out_of_rotation(old)
        await self.asked_enough()
        await self.steady.stop()
        return old, new

    async def test_in_order(self) -> None:
        """No request fails where the old one serves on while the load balancer learns of it: new and kept connections, TLS, HTTP/2."""
        await self.in_order()

    async def test_workers(self) -> None:
        """Nor with workers, which all learn of the end."""
        self.more = ("--workers=2",)
        await self.in_order()

    async def in_order(self) -> None:
        """Have one replaced, and check that no request failed."""
        old, new = await self.replaced(DELAY)
        self.assertEqual((self.steady.failed, self.balancer.failed), ([], 0))
        self.assertEqual(len(self.steady.answered), 5)
        self.assertGreaterEqual(self.steady.least(), 3 * ENOUGH)
        self.assertGreater(min(old.target.carried, new.target.carried), ENOUGH)

    async def test_too_early(self) -> None:
        """Where it closes at once, new connections fail until the load balancer has learned of it: the test above can fail."""
        await self.replaced(0)
        self.assertGreater(self.balancer.failed, 0)
        self.assertTrue(any("not connected" in one or "new" in one for one in self.steady.failed))

    async def test_web_socket(self) -> None:
        """A WebSocket lives until the end of the grace, however long the old one has accepted nothing; then it is cut."""
        old = self.start_pod(0.0, grace=5.0)
        await self.in_rotation(old)
        chat = await self.open_chat()
        new = self.start_pod()
        await self.in_rotation(new)
        old.process.signal(signal.SIGTERM)
        await self.until_get((NO_ANSWER, b""), old.target.ports["http"])
        await self.chatted(chat)
        self.assertIsNone(old.process.status)
        await self.until(lambda: chat.lost)
        await self.ended(old)

    async def test_pages(self) -> None:
        """While it drains ``/readyz`` says so, ``/healthz`` is fine, and that lasts to the end."""
        old = self.start_pod(0.3)
        await self.in_rotation(old)
        held = await self.open_chat()
        probes = old.target.ports["probes"]
        self.admins.add(probes)
        self.assertEqual(await self.get(probes, "/readyz"), (200, b"ok\n"))
        old.process.signal(signal.SIGTERM)
        await self.until_get((503, b"stopping\n"), probes, "/readyz")
        for _ in range(2):
            self.assertEqual((await self.get(probes, "/healthz"))[0], 200)
            self.assertEqual(await self.get(probes, "/readyz"), (503, b"stopping\n"))
            # And again when nothing is accepted any more.
            await self.until_get((NO_ANSWER, b""), old.target.ports["http"])
        self.assertIsNone(held.lost)
        held.transport.abortConnection()
        await self.ended(old)


class DaemonSetTests(RollingUpdateCase):
    """The old pod has to end before the new one can have the port of the node."""

    async def test_one_node_after_the_other(self) -> None:
        """No request fails where the load balancer has learned that the first node serves again before the second one's turn."""
        nodes = [self.start_pod(), self.start_pod()]
        for node in nodes:
            await self.in_rotation(node)
        self.steady.start(*self.fronts)
        await self.asked_enough()
        for old in nodes:
            old.process.signal(signal.SIGTERM)
            await self.out_of_rotation(old)
            await self.ended(old)
            # Nobody has the port now, until the next pod has started.
            self.assertEqual(await self.get(old.target.ports["http"]), (NO_ANSWER, b""))
            self.balancer.remove(old.target)
            new = self.start_pod(ports=old.target.ports)
            await self.in_rotation(new)
            await self.asked_enough()
        await self.steady.stop()
        self.assertEqual((self.steady.failed, self.balancer.failed), ([], 0))
        self.assertGreaterEqual(self.steady.least(), 3 * ENOUGH)

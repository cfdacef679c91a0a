"""What end-to-end tests share: the controller as a process, and requests to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml
from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import TCP4ClientEndpoint, wrapClientTLS
from twisted.internet.error import ConnectError
from twisted.internet.ssl import Certificate, optionsForClientTLS
from twisted.trial.unittest import TestCase

from tests.fakes.at_work import has_ended, is_at_work
from tests.fakes.certificates import Authority
from tests.fakes.connecting import connect_protocol
from tests.fakes.peers.downstreams import Answer, DownstreamWire
from tests.fakes.peers.upstreams import Upstream, UpstreamWire
from tests.fakes.processes import ControllerProcess, free_port

PATIENCE = 60.0
"""Seconds after which a wait is a failure; generous, because the machine may be busy."""

AT_ONCE = 3.5
"""Seconds that a process may only wait, and do nothing, before it ends: less than what it could wait for in vain.

A request to the API server waits ten for its answer, and a worker that hangs is killed after five, which ``--shutdown-delay`` is, too; a
lease that cannot be released is given up after one.
"""

PAUSE, LONGEST_PAUSE = 0.02, 0.15
"""Seconds before a controller is asked again, and what they grow to by halves: questions cost it, and whoever asks, more than the rest of a start."""

NO_ANSWER = 0
"""Stands for the status where there is no answer: refused, reset or cut."""


def growing_pauses() -> Iterator[float]:
    """Yield how many seconds to wait before each question, without end."""
    pause = PAUSE
    while True:
        yield pause
        pause = min(1.5 * pause, LONGEST_PAUSE)


def telling(name: bytes) -> Callable[[UpstreamWire], None]:
    """Return a script that answers each request with a name."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(name), name)
    return lambda wire: wire.write(answer)


class EndToEndCase(TestCase):
    """A directory, some upstreams, and controllers that end with the test."""

    timeout = 240
    endpoint_networks: tuple[str, ...] = ("127.0.0.0/8",)
    """Where endpoints may be that an API server tells of: upstreams of tests are on this host."""

    environment: Mapping[str, str] = MappingProxyType({})
    """What controllers have in their environment besides our own."""
    runner: tuple[str, ...] = ()
    """Options of ``twistd``."""
    through: tuple[str, ...] = ()
    """A command that runs controllers."""
    given: tuple[str, ...] = ()
    """Options that all controllers of a case have."""

    def setUp(self) -> None:
        self.reactor: Any = real_reactor
        self.directory = Path(self.mktemp()).resolve()
        self.directory.mkdir(parents=True)
        self.manifests = self.directory / "manifests"
        self.manifests.mkdir()
        self.access_log = self.directory / "access.log"
        self.clients: list[DownstreamWire] = []
        self.admins: set[int] = set()
        self.addCleanup(self.disconnect)

    def start(self, *options: str) -> ControllerProcess:
        """Start a controller on ports of its own, which takes no busy machine for an overload and refuses nobody."""
        self.http, self.https, self.admin = (free_port() for _ in range(3))
        self.admins.add(self.admin)
        listeners = (("http", self.http), ("https", self.https), ("admin", self.admin))
        controller = ControllerProcess(
            self.reactor,
            str(self.directory),
            *(f"--{name}=tcp:{port}:interface=127.0.0.1" for name, port in listeners),
            f"--access-log={self.access_log}",
            "--overload-after=0",
            *(f"--allow-endpoint-networks={network}" for network in self.endpoint_networks),
            *self.given,
            *options,
            environment=self.environment,
            runner=self.runner,
            through=self.through,
        )
        self.addCleanup(controller.kill)
        return controller

    def start_with_manifests(self, *options: str) -> ControllerProcess:
        """Start a controller on the manifests of this test, without a delay at its end."""
        return self.start(f"--manifests={self.manifests}", "--shutdown-delay=0", *options)

    def upstream(self, name: bytes) -> Upstream:
        """Return a new upstream, already listening, that answers with its name."""
        upstream = Upstream(self.reactor, telling(name))
        upstream.listen()
        self.addCleanup(upstream.stop)
        return upstream

    def write(self, name: str, *objects: dict[str, Any]) -> None:
        """Write a manifest, as an editor does: a new file under the old name."""
        draft = self.directory / "draft"
        draft.write_text(yaml.dump_all(objects, Dumper=yaml.CSafeDumper))
        draft.rename(self.manifests / f"{name}.yaml")

    # Requests

    async def connect(self, port: int, name: str = "", trust: Authority | None = None) -> DownstreamWire:
        """Connect, with TLS if there is somebody to trust."""
        endpoint: Any = TCP4ClientEndpoint(self.reactor, "127.0.0.1", port)
        if trust is not None:
            authority = Certificate.loadPEM(trust.pem)
            endpoint = wrapClientTLS(optionsForClientTLS(name, trustRoot=authority), endpoint)
        client = DownstreamWire()
        await connect_protocol(endpoint, client)
        self.clients.append(client)
        return client

    async def disconnect(self) -> None:
        """End all connections to the controller."""
        for client in self.clients:
            if client.lost is None:
                client.transport.abortConnection()
        await self.until(lambda: all(client.lost for client in self.clients))

    async def get(
        self, port: int, path: str = "/", host: str = "shop.test", trust: Authority | None = None
    ) -> tuple[int, bytes]:
        """Return status and body of an answer; ``NO_ANSWER`` when there is none."""
        answer = await self.answer(port, path, host, trust)
        return (answer.status, answer.body) if answer is not None else (NO_ANSWER, b"")

    async def answer(self, port: int, path: str, host: str, trust: Authority | None = None) -> Answer | None:
        """Return an answer, if there is one."""
        if port in self.admins:
            # Its pages are shown by address alone.
            host = "127.0.0.1"
        try:
            client = await self.connect(port, host, trust)
        except ConnectError:
            return None
        client.get(path.encode(), host.encode(), b"Connection: close\r\n")
        await client.answer().addTimeout(PATIENCE, self.reactor)
        client.transport.abortConnection()
        return client.answers[0] if client.answers and client.answers[0].whole else None

    async def until_get(
        self, wanted: tuple[int, bytes], port: int, path: str = "/", trust: Authority | None = None
    ) -> None:
        """Ask again and again until this is the answer."""
        deadline, pauses = self.reactor.seconds() + PATIENCE, growing_pauses()
        while (answer := await self.get(port, path, trust=trust)) != wanted:
            if self.reactor.seconds() > deadline:
                self.fail(f"still {answer}, not {wanted}")
            await self.turn(next(pauses))

    async def until_shown(self, words: bytes, path: str = "/metrics") -> bytes:
        """Wait until a page of the admin port has these *words*; return it."""
        deadline, pauses = self.reactor.seconds() + PATIENCE, growing_pauses()
        while words not in (page := (await self.get(self.admin, path))[1]):
            if self.reactor.seconds() > deadline:
                self.fail(f"no {words!r} in {page!r}")
            await self.turn(next(pauses))
        return page

    async def until_ready(self, controller: ControllerProcess) -> None:
        """Wait until the controller says that it is ready."""
        deadline, pauses = self.reactor.seconds() + PATIENCE, growing_pauses()
        while (answer := await self.get(self.admin, "/readyz"))[0] != 200:
            if controller.status is not None or self.reactor.seconds() > deadline:
                self.fail(f"not ready: {answer} {controller.output!r} {controller.errors!r}")
            await self.turn(next(pauses))

    async def stopped(self, controller: ControllerProcess) -> None:
        """Check that a controller that was asked to stop does so at once, cleanly, with status 0."""
        self.assertEqual(await self.end_at_once(controller), 0)
        self.assertEqual(controller.errors, b"")
        self.assertEqual(controller.faults(), [])

    # Waiting

    async def turn(self, seconds: float) -> None:
        """Give others a turn before asking again."""
        turn: Deferred[None] = Deferred()
        self.reactor.callLater(seconds, turn.callback, None)
        await turn

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until *condition* holds; a test that waits in vain fails."""
        deadline = self.reactor.seconds() + PATIENCE
        while not condition():
            if self.reactor.seconds() > deadline:
                self.fail(f"waited {PATIENCE:g} s in vain")
            await self.turn(0.01)

    async def end_at_once(self, controller: ControllerProcess) -> int:
        """Wait for the end of a controller that has nothing to wait for; return its status."""
        waited = 0.0
        deadline = self.reactor.seconds() + PATIENCE
        while controller.status is None:
            self.assertLess(waited, AT_ONCE, "it waits for something")
            self.assertLess(self.reactor.seconds(), deadline)
            await self.turn(PAUSE)
            # What it waits for a processor does not count, nor what whoever started it does: others may have those.
            if not (is_at_work(controller.pid) or has_ended(controller.pid)):
                waited += PAUSE
        return controller.status

    async def end_of(self, controller: ControllerProcess) -> int:
        """Wait for the end of a controller that ends of itself; return its status."""
        return await controller.end().addTimeout(PATIENCE, self.reactor)

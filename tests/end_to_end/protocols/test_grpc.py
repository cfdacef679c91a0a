"""gRPC through the whole controller as a process: clients and servers are those of grpcio, and clients come over TLS."""

from __future__ import annotations

import base64
import signal
from collections import Counter
from collections.abc import Callable
from queue import Queue
from threading import Event
from time import monotonic
from typing import Any, TypeVar

import grpc
from twisted.internet.defer import Deferred

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object
from tests.fakes.peers.grpc_upstreams import GrpcClient, GrpcUpstream, in_thread
from tests.fakes.processes import ControllerProcess

T = TypeVar("T")

KIBIBYTE = 1 << 10
MEBIBYTE = 1 << 20
PREFIX = "nginx.ingress.kubernetes.io"

PLAIN = "plain.test"
"""Its Ingress says GRPC."""
SECURE = "secure.test"
"""Its Ingress says GRPCS, and who the endpoint must be."""
SAID = "said.test"
"""The port of its Service says h2c."""
STRICT = "strict.test"
"""It leads where the first one does, takes little, and has four seconds of patience."""
NOBODY = "nobody.test"
"""It has no endpoint."""
HOSTS = (PLAIN, SECURE, SAID)


def ingress(host: str, **annotations: str) -> dict[str, Any]:
    """Return the Ingress of a host, with annotations whose names have underscores for hyphens."""
    name = host.removesuffix(".test")
    made = ingress_object(name, host, "front")
    made["spec"]["rules"][0]["http"]["paths"][0]["path"] = "/shop.Cart"
    made["metadata"]["annotations"] = {
        f"{PREFIX}/{key.replace('_', '-')}": value for key, value in annotations.items()
    }
    return made


def outcome_of(call: Callable[[], object]) -> tuple[str, str]:
    """Return code and words of a call: OK, or how it failed."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code().name, str(error.details())
    return "OK", ""


class Conversation:
    """A call of *Chat*: what is said is put in at one end, and *heard* has what came back."""

    outcome: Deferred[str]

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self._said: Queue[bytes | None] = Queue()
        self.say(b"first")

    def say(self, *messages: bytes | None) -> None:
        """Say these; None is the end of our side."""
        for message in messages:
            self._said.put(message)

    def hold(self, client: GrpcClient) -> str:
        """Hold it to its end; return how that was."""
        call = client.chat()(iter(self._said.get, None), timeout=PATIENCE)
        return outcome_of(lambda: self.heard.extend(call))[0]


class GrpcProcessCase(EndToEndCase):
    """Three hosts that lead to gRPC servers in three ways, and two of which little can be had."""

    options: tuple[str, ...] = ("--client-body-timeout=3",)

    async def setUp(self) -> None:  # type: ignore[override]
        """Start servers and the controller."""
        super().setUp()
        self.authority = make_authority()
        self.plain = self.serving()
        self.secure = self.serving(issue(self.authority, ["cart.internal"]))
        trust = secret_object("trust", *issue(self.authority, [], common_name="proxy", is_client=True))
        trust["data"]["ca.crt"] = base64.b64encode(self.authority.pem).decode()
        said = service_object("said")
        said["spec"]["ports"][0]["appProtocol"] = "kubernetes.io/h2c"
        self.write(
            "all",
            secret_object("front", *issue(self.authority, [*HOSTS, STRICT, NOBODY])),
            trust,
            said,
            *(service_object(name) for name in ("plain", "secure", "strict", "nobody")),
            ingress(PLAIN, backend_protocol="GRPC", proxy_body_size="0", proxy_read_timeout="20"),
            ingress(
                SECURE,
                backend_protocol="GRPCS",
                proxy_body_size="0",
                proxy_ssl_secret=f"{NAMESPACE}/trust",
                proxy_ssl_verify="on",
                proxy_ssl_name="cart.internal",
            ),
            ingress(SAID, proxy_body_size="0"),
            ingress(STRICT, backend_protocol="GRPC", proxy_body_size="1k", proxy_read_timeout="4"),
            ingress(NOBODY, backend_protocol="GRPC"),
        )
        ports = {"plain": self.plain, "said": self.plain, "strict": self.plain, "secure": self.secure}
        self.controller = self.start_with_manifests(
            *self.options,
            *(f"--endpoint={NAMESPACE}/{name}=127.0.0.1:{server.port}" for name, server in ports.items()),
        )
        await self.until_ready(self.controller)

    def serving(self, identity: tuple[bytes, bytes] | None = None, **options: Any) -> GrpcUpstream:
        """Return a server that listens."""
        server = GrpcUpstream(identity, **options)
        self.addCleanup(lambda: in_thread(self.reactor, lambda: server.stop().wait(PATIENCE)))
        return server

    async def do(self, work: Callable[[GrpcClient], T], host: str = PLAIN) -> T:
        """Do *work* with a client of its own, in a thread."""

        def with_client() -> T:
            with GrpcClient(self.https, host, self.authority.pem) as client:
                return work(client)

        return await in_thread(self.reactor, with_client).addTimeout(2 * PATIENCE, self.reactor)

    def converse(self, host: str) -> Conversation:
        """Return a conversation that goes on until its end is said."""
        conversation = Conversation()
        with_client = self.do(conversation.hold, host)
        conversation.outcome = Deferred.fromCoroutine(with_client)
        self.addCleanup(conversation.say, None)
        return conversation

    async def happens(self, event: Any) -> None:
        """Wait for what a server tells."""
        self.assertTrue(await in_thread(self.reactor, lambda: event.wait(PATIENCE)))

    async def lines(self, count: int) -> list[list[bytes]]:
        """Return the lines of the access log, as fields, once there are so many."""
        await self.until(lambda: self.access_log.read_bytes().count(b"\n") >= count)
        return [line.split(b" ") for line in self.access_log.read_bytes().splitlines()]

    async def count(self, series: bytes) -> float:
        """Return what a series has come to."""
        text = (await self.get(self.admin, "/metrics"))[1]
        return sum(float(line.rsplit(b" ", 1)[1]) for line in text.splitlines() if line.startswith(series))

    async def ends_well(self, controller: ControllerProcess) -> None:
        """Check that the process stops cleanly."""
        await self.disconnect()
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)


def talk(client: GrpcClient, count: int) -> int:
    """Say *count* messages, each once the one before came back, then end our side; return how many came."""
    questions: Queue[bytes | None] = Queue()
    questions.put(b"0")
    answered = 0
    for answer in client.chat()(iter(questions.get, None), timeout=PATIENCE):
        assert answer == b"%d" % answered, answer
        answered += 1
        questions.put(b"%d" % answered if answered < count else None)
    return answered


class GrpcCallTests(GrpcProcessCase):
    """Calls."""

    async def test_calls(self) -> None:
        """Calls of all kinds, small and large, come back whole wherever HTTP/2 is spoken to the endpoint."""

        def work(client: GrpcClient) -> tuple[object, ...]:
            large = len(client.unary("Echo")(bytes(3 * MEBIBYTE), timeout=PATIENCE))
            metadata = (("x-sent", "yes"), ("x-sent-bin", b"\x00\x01"))
            message, call = client.unary("Echo").with_call(b"hello", metadata=metadata, timeout=PATIENCE)
            trailing = dict(call.trailing_metadata())
            return (
                message,
                (trailing["x-length"], trailing["x-bin-bin"]),
                outcome_of(lambda: client.unary("Refuse")(b"", timeout=PATIENCE)),
                large,
                sum(map(len, client.give()(b"%d" % (8 * MEBIBYTE), timeout=PATIENCE))),
                client.take()((bytes(MEBIBYTE) for _ in range(5)), timeout=PATIENCE),
                talk(client, 300),
            )

        for host in HOSTS:
            self.assertEqual(
                await self.do(work, host),
                (
                    b"hello",
                    ("5", b"\x00\xff"),
                    ("FAILED_PRECONDITION", "no: 100 % sure, ä"),
                    3 * MEBIBYTE,
                    8 * MEBIBYTE,
                    b"%d" % (5 * MEBIBYTE),
                    300,
                ),
            )
            server = self.secure if host == SECURE else self.plain
            self.assertTrue({("x-sent", "yes"), ("x-sent-bin", "b'\\x00\\x01'")} <= set(server.metadata))
        lines = await self.lines(6 * len(HOSTS))
        kinds = Counter((fields[2], fields[3].decode(), fields[5], fields[10]) for fields in lines)
        self.assertEqual(kinds, {(b"POST", host, b"200", b"HTTP/2.0"): 6 for host in HOSTS})
        self.assertEqual({fields[9] for fields in lines}, {b"shop/plain", b"shop/secure", b"shop/said"})
        await self.ends_well(self.controller)

    async def test_many_at_once(self) -> None:
        """Hundreds of calls at once, which a client may have only so many of on a connection, all come back."""

        def work(client: GrpcClient) -> set[bytes]:
            futures = [client.unary("Echo").future(b"%d" % number, timeout=PATIENCE) for number in range(300)]
            return {future.result() for future in futures}

        for host in (PLAIN, SECURE):
            self.assertEqual(await self.do(work, host), {b"%d" % number for number in range(300)})
        self.assertLessEqual(await self.count(b"ingress_upstream_connections_opened_total"), 8)
        self.assertEqual(await self.count(b'ingress_http2_connections_failed_total{side="downstream"}'), 0)
        await self.ends_well(self.controller)

    async def test_given_up(self) -> None:
        """A deadline that is over, or a client that gives up, ends the call at the server."""

        def in_time(client: GrpcClient) -> tuple[str, str]:
            return outcome_of(lambda: client.unary("Wait")(b"", timeout=3))

        while not self.plain.waiting.is_set():
            # Where the time goes by before it comes to the server, as it may on a busy machine, it is not ended there.
            self.assertEqual((await self.do(in_time))[0], "DEADLINE_EXCEEDED")
        await self.happens(self.plain.cancelled)
        self.plain.cancelled.clear()
        self.plain.waiting.clear()

        def cancelled(client: GrpcClient) -> tuple[bool, str]:
            call = client.unary("Wait").future(b"", timeout=PATIENCE)
            self.plain.waiting.wait(PATIENCE)
            return call.cancel(), outcome_of(call.result)[0] if not call.cancelled() else "CANCELLED"

        self.assertEqual(await self.do(cancelled), (True, "CANCELLED"))
        await self.happens(self.plain.cancelled)

        def amid(client: GrpcClient) -> int:
            call = client.give()(b"%d" % (200 * MEBIBYTE), timeout=PATIENCE)
            received = len(next(call))
            call.cancel()
            return received

        self.assertEqual(await self.do(amid), MEBIBYTE)
        *late, left, cut = await self.lines(3)
        # The server keeps the deadline, too, and may answer in time that it is over.
        self.assertLessEqual({fields[5] for fields in late}, {b"200", b"499"})
        self.assertEqual((left[5], cut[5]), (b"499", b"200"))
        self.assertLess(int(cut[6]), 100 * MEBIBYTE)
        await self.ends_well(self.controller)

    async def test_errors_of_ours(self) -> None:
        """What the proxy refuses itself, clients are told in gRPC's words, and the log in those of HTTP."""

        def unary(method: str, size: int = 0) -> Callable[[GrpcClient], tuple[str, str]]:
            return lambda client: outcome_of(lambda: client.unary(method)(bytes(size), timeout=PATIENCE))

        def other(client: GrpcClient) -> tuple[str, str]:
            call: Any = client.channel.unary_unary("/shop.Till/Open")
            return outcome_of(lambda: call(b"", timeout=PATIENCE))

        def crowded(client: GrpcClient) -> tuple[str, str]:
            metadata = tuple((f"x-{number}", "v") for number in range(101))
            return outcome_of(lambda: client.unary("Echo")(b"", metadata=metadata, timeout=PATIENCE))

        self.assertEqual((await self.do(unary("Echo"), NOBODY))[0], "UNAVAILABLE")
        self.assertEqual((await self.do(other))[0], "UNIMPLEMENTED")
        self.assertEqual((await self.do(unary("Echo", 8 * KIBIBYTE), STRICT))[0], "RESOURCE_EXHAUSTED")
        self.assertEqual((await self.do(unary("Wait"), STRICT))[0], "DEADLINE_EXCEEDED")
        await self.happens(self.plain.cancelled)
        self.assertEqual((await self.do(unary("Echo" * 2100)))[0], "RESOURCE_EXHAUSTED")
        self.assertEqual((await self.do(crowded))[0], "RESOURCE_EXHAUSTED")
        statuses = [fields[5] for fields in await self.lines(6)]
        self.assertEqual(statuses, [b"503", b"404", b"413", b"504", b"414", b"431"])
        await self.ends_well(self.controller)

    async def test_rest(self) -> None:
        """A conversation rests for as long as its route lets the endpoint be silent, and then goes on, or ends."""

        patient, strict = self.converse(PLAIN), self.converse(STRICT)
        for conversation in (patient, strict):
            await self.until(lambda one=conversation: one.heard == [b"first"])  # type: ignore[misc]
        await self.turn(6.0)
        patient.say(b"second", None)
        self.assertEqual((await patient.outcome, patient.heard), ("OK", [b"first", b"second"]))
        strict.say(None)
        self.assertIn(await strict.outcome, ("INTERNAL", "UNAVAILABLE", "CANCELLED"))
        await self.ends_well(self.controller)


class GrpcServerTests(GrpcProcessCase):
    """Servers that come and go, and a controller that goes."""

    async def test_restart(self) -> None:
        """While a server is away calls are UNAVAILABLE; from when it is back on none fails."""

        def work(client: GrpcClient) -> Counter[str]:
            call = client.unary("Echo")
            return Counter(outcome_of(lambda: call(b"x", timeout=PATIENCE))[0] for _ in range(50))

        for _ in range(2):
            self.assertEqual(await self.do(work), {"OK": 50})
            await in_thread(self.reactor, lambda: self.plain.stop().wait(PATIENCE))
            self.assertEqual(await self.do(work), {"UNAVAILABLE": 50})
            self.plain = self.serving(port=self.plain.port)
            self.assertEqual(await self.do(work), {"OK": 50})
        await self.ends_well(self.controller)

    async def test_drain(self) -> None:
        """A controller that is to stop takes no further calls, and lets those that run come to their end."""
        conversation = self.converse(PLAIN)
        await self.until(lambda: conversation.heard == [b"first"])
        await self.disconnect()
        self.controller.signal(signal.SIGTERM)
        code = ""
        while code != "UNAVAILABLE":
            code, _ = await self.do(
                lambda client: outcome_of(lambda: client.unary("Echo")(b"", timeout=PATIENCE))
            )
            self.assertIn(code, ("OK", "UNAVAILABLE"))
        conversation.say(b"second")
        await self.until(lambda: conversation.heard == [b"first", b"second"])
        self.assertIsNone(self.controller.status)
        conversation.say(None)
        self.assertEqual(await conversation.outcome, "OK")
        self.assertEqual(await self.end_at_once(self.controller), 0)
        self.assertEqual(self.controller.errors, b"")


_GIVEN_UP = "UNAVAILABLE: Stream removed (GOAWAY received"
"""What gRPC says of a call that it did not send."""


class GrpcGoodbyeTests(GrpcProcessCase):
    """Connections that do not last, on either side."""

    options = ("--keep-alive-time=1",)

    async def test_goodbyes_under_load(self) -> None:
        """Neither a server that ends each of its connections after a moment fails a call, nor do we by the same.

        A busy gRPC now and then gives up calls that it was about to send on a connection when GOAWAY came: such calls are
        never seen here, so all that came was answered well.  They can only be of the few that were made at that moment.
        """
        await in_thread(self.reactor, lambda: self.plain.stop().wait(PATIENCE))
        ages = (("grpc.max_connection_age_ms", 150), ("grpc.max_connection_age_grace_ms", 10_000))
        self.plain = self.serving(port=self.plain.port, options=ages)
        opened = await self.count(b"ingress_upstream_connections_opened_total")
        accepted = await self.count(b"ingress_downstream_connections_accepted_total")
        came = await self.count(b"ingress_requests_total")

        pause = Event()

        def work(client: GrpcClient) -> tuple[Counter[str], int]:
            outcomes: Counter[str] = Counter()
            struck = 0
            until = monotonic() + 3.5
            while monotonic() < until:
                calls = [client.unary("Echo").future(b"x", timeout=PATIENCE) for _ in range(20)]
                at_once = Counter(": ".join(outcome_of(call.result)) for call in calls)
                outcomes += at_once
                struck += any(one.startswith(_GIVEN_UP) for one in at_once)
                # Many connections are to end amid calls, and a few calls at a time are enough for that.
                pause.wait(0.02)
            return outcomes, struck

        outcomes: Counter[str] = Counter()
        ended, struck, clients = 0.0, 0, 0
        deadline = self.reactor.seconds() + PATIENCE
        # On a busy machine few calls are made in that time, and so few connections.
        while ended <= 5 and self.reactor.seconds() < deadline:
            clients += 1
            heard, times = await self.do(work)
            outcomes += heard
            struck += times
            ended = await self.count(b"ingress_upstream_connections_opened_total") - opened
        given_up = {one for one in outcomes if one.startswith(_GIVEN_UP)}
        self.assertEqual(set(outcomes) - given_up, {"OK: "}, outcomes)
        self.assertEqual(await self.count(b"ingress_requests_total") - came, outcomes["OK: "])
        self.assertGreater(ended, 5)
        # What asks for the metrics comes over connections that are not counted.
        goodbyes = await self.count(b"ingress_downstream_connections_accepted_total") - accepted
        self.assertGreater(goodbyes, clients)
        self.assertLessEqual(struck, goodbyes, outcomes)
        await self.ends_well(self.controller)

"""The whole controller as a process: objects go in, traffic follows; and how it starts and ends."""

from __future__ import annotations

import json
import re
import signal
import socket
from typing import Any

from twisted.internet.defer import Deferred

from tests.end_to_end.end_to_end_case import NO_ANSWER, EndToEndCase
from tests.fakes.apiserver.faults import Hang
from tests.fakes.apiserver.server import ApiServer
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import NAMESPACE, ingress_object, secret_object, service_object, slice_object
from tests.fakes.peers.upstreams import OK, UpstreamWire
from tests.fakes.processes import ControllerProcess

HOST = "shop.test"
CLOSED = (NO_ANSWER, b"")


class ManifestTests(EndToEndCase):
    """Objects from manifests on disk."""

    async def test_traffic_follows_the_files(self) -> None:
        """Files that come, change and go decide where requests lead, over HTTP and HTTPS."""
        one, two = self.upstream(b"one"), self.upstream(b"two")
        controller = self.start_with_manifests()
        await self.until_ready(controller)
        self.assertEqual((await self.get(self.http))[0], 404)

        self.write("app", ingress_object("app", HOST), service_object("app"))
        self.write("slice", slice_object("app", one.endpoint))
        await self.until_get((200, b"one"), self.http)
        self.write("slice", slice_object("app", two.endpoint))
        await self.until_get((200, b"two"), self.http)

        authority = make_authority()
        self.write("app", ingress_object("app", HOST, "cert"), service_object("app"))
        self.write("secret", secret_object("cert", *issue(authority, [HOST])))
        await self.until_get((200, b"two"), self.https, trust=authority)
        redirect = await self.answer(self.http, "/cart?id=1", HOST)
        assert redirect is not None
        self.assertEqual(redirect.status, 308)
        self.assertTrue(redirect.has(f"Location: https://{HOST}:{self.https}/cart?id=1".encode()))

        # A broken file leaves in force what it said before.
        (self.manifests / "app.yaml").write_text("kind: [")
        self.write("slice", slice_object("app", one.endpoint))
        await self.until_get((200, b"one"), self.https, trust=authority)
        (self.manifests / "app.yaml").unlink()
        await self.until_get((404, b"404 Not Found\n"), self.http)

    async def test_access_log(self) -> None:
        """Each exchange is one line of the file, and nothing of it stands on standard output."""
        self.write("app", ingress_object("app", HOST), service_object("app"))
        app = self.upstream(b"hello")
        controller = self.start_with_manifests(f"--endpoint={NAMESPACE}/app={app.endpoint}")
        await self.until_ready(controller)
        await self.get(self.http, "/a?b=c")
        await self.get(self.http, '/"quoted"')
        await self.get(self.http, "/\x1b[31m")
        await self.get(self.http, host="nobody.test")
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        lines = self.access_log.read_bytes().splitlines()
        time = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
        for line, wanted in zip(
            lines,
            (
                rb'127\.0\.0\.1 GET shop\.test "/a\?b=c" 200 5 \d+\.\d{3} %b shop/app'
                % re.escape(str(app.endpoint).encode()),
                rb'127\.0\.0\.1 GET shop\.test "/\\x22quoted\\x22" 200 5 .* shop/app',
                rb"127\.0\.0\.1 - - \"\" 400 \d+ \d+\.\d{3} - -",
                rb'127\.0\.0\.1 GET nobody\.test "/" 404 \d+ \d+\.\d{3} - -',
            ),
            strict=True,
        ):
            self.assertRegex(line, rb"^%b %b HTTP/1\.1 [0-9a-f]{32}$" % (time, wanted))
        self.assertNotIn(b"/a?b=c", controller.output)


class ApiServerTests(EndToEndCase):
    """Objects from an API server."""

    async def setUp(self) -> None:  # type: ignore[override]
        """Start an API server."""
        super().setUp()
        self.server = ApiServer(self.reactor, tls=True)
        await self.server.listen()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.server.stop()))
        self.kubeconfig = self.directory / "kubeconfig"
        self.server.write_kubeconfig(self.kubeconfig)

    def start_with_server(self) -> ControllerProcess:
        """Start a controller that reads from the API server."""
        return self.start(f"--kubeconfig={self.kubeconfig}", "--shutdown-delay=0")

    async def test_traffic_follows_the_objects(self) -> None:
        """Ingress, Service, EndpointSlice and Secret are made, changed and deleted, and traffic follows."""
        one, two = self.upstream(b"one"), self.upstream(b"two")
        controller = self.start_with_server()
        await self.until_ready(controller)
        self.assertEqual((await self.get(self.http))[0], 404)

        self.server.create(ingress_object("app", HOST))
        await self.until_get((503, b"503 Service Unavailable\n"), self.http)
        self.server.create(service_object("app"))
        self.server.create(slice_object("app", one.endpoint))
        await self.until_get((200, b"one"), self.http)
        self.server.apply(slice_object("app", two.endpoint))
        await self.until_get((200, b"two"), self.http)

        authority, other = make_authority(), make_authority()
        self.server.create(secret_object("cert", *issue(authority, [HOST])))
        self.server.apply(ingress_object("app", HOST, "cert"))
        await self.until_get((200, b"two"), self.https, trust=authority)
        open_before = await self.connect(self.https, HOST, authority)
        open_before.get(host=HOST.encode())
        await open_before.answer()
        self.server.apply(secret_object("cert", *issue(other, [HOST])))
        await self.until_get((200, b"two"), self.https, trust=other)
        open_before.get(host=HOST.encode())
        await open_before.answer()
        self.assertEqual([answer.body for answer in open_before.answers], [b"two", b"two"])
        self.server.delete("Secret", "cert", NAMESPACE)
        self.server.apply(ingress_object("app", HOST))
        await self.until_get((200, b"two"), self.http)

        self.server.delete("EndpointSlice", "app-1", NAMESPACE)
        await self.until_get((503, b"503 Service Unavailable\n"), self.http)
        self.server.delete("Service", "app", NAMESPACE)
        self.server.delete("Ingress", "app", NAMESPACE)
        await self.until_get((404, b"404 Not Found\n"), self.http)
        routes = json.loads((await self.get(self.admin, "/api/routes"))[1])
        self.assertNotIn(HOST, json.dumps(routes))

    async def test_nothing_is_open_before_the_first_sync(self) -> None:
        """Until all kinds are listed, readiness says what is missing, and the listeners are closed."""
        self.server.create(ingress_object("app", HOST))
        self.server.faults.add(Hang(), times=None, resource="services")
        controller = self.start_with_server()

        def others_are_there() -> bool:
            return b"Ingress: synced" in controller.output and b"Secret: synced" in controller.output

        await self.until(others_are_there)
        status, missing = await self.get(self.admin, "/readyz")
        self.assertEqual(status, 503)
        self.assertIn(b"Service\n", missing)
        self.assertIn(b"listeners not open", missing)
        self.assertEqual((await self.get(self.admin, "/healthz"))[0], 200)
        for port in (self.http, self.https):
            self.assertEqual(await self.get(port), CLOSED)
        self.server.faults.clear()
        self.server.reset_connections()
        await self.until_get((503, b"503 Service Unavailable\n"), self.http)
        await self.until_ready(controller)

    async def test_stop_before_the_first_sync(self) -> None:
        """An API server that accepts and never answers does not hold up the end."""
        self.server.freeze()
        for number in (signal.SIGTERM, signal.SIGINT):
            controller = self.start_with_server()
            await self.until(lambda: self.server.connection_count)
            controller.signal(number)
            await self.stopped(controller)
            await self.until(lambda: not self.server.connection_count)

    async def test_stop_while_watching(self) -> None:
        """Watches that are open do not hold up the end either, nor does an API server that went away."""
        for goes_away in (False, True):
            controller = self.start_with_server()
            await self.until_ready(controller)
            if goes_away:
                await self.server.stop_listening()
                self.server.reset_connections()
                await self.until(lambda: not self.server.connection_count)
            controller.signal(signal.SIGTERM)
            await self.stopped(controller)


class StopTests(EndToEndCase):
    """The end of the process."""

    async def serve(self, *options: str) -> tuple[ControllerProcess, list[UpstreamWire]]:
        """Start a controller with an application whose requests wait; they are put into the list."""
        waiting: list[UpstreamWire] = []
        app = self.upstream(b"")
        app.on_request = lambda wire: (
            waiting.append(wire) if b" /nothing " not in wire.heads[-1] else wire.write(OK)
        )
        self.write("app", ingress_object("app", HOST), service_object("app"))
        controller = self.start_with_manifests(f"--endpoint=*={app.endpoint}", *options)
        await self.until_ready(controller)
        return controller, waiting

    async def test_at_rest(self) -> None:
        """SIGTERM and SIGINT end a controller at once that serves nobody, idle connections or not."""
        for number in (signal.SIGTERM, signal.SIGINT):
            controller, _ = await self.serve()
            idle = await self.connect(self.http)
            controller.signal(number)
            await self.stopped(controller)
            await self.until(lambda idle=idle: idle.lost)  # type: ignore[misc]

    async def test_running_request(self) -> None:
        """A request under way gets its answer, while new connections are refused and readiness says no."""
        controller, waiting = await self.serve()
        client = await self.connect(self.http)
        client.get(host=HOST.encode())
        await self.until(lambda: waiting)
        controller.signal(signal.SIGTERM)
        await self.until_get(CLOSED, self.http, "/nothing")
        self.assertEqual(await self.get(self.admin, "/readyz"), (503, b"stopping\n"))
        waiting[0].write(OK)
        await client.answer()
        self.assertEqual(client.answers[0].body, b"ok")
        self.assertTrue(client.answers[0].has(b"Connection: close"))
        await self.stopped(controller)

    async def test_second_signal(self) -> None:
        """A second signal cuts what still runs, which is in the log like everything else."""
        controller, waiting = await self.serve()
        client = await self.connect(self.http)
        client.get(b"/cut", HOST.encode())
        await self.until(lambda: waiting)
        controller.signal(signal.SIGTERM)
        await self.until_get(CLOSED, self.http, "/nothing")
        self.assertIsNone(controller.status)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        await self.until(lambda: client.lost)
        self.assertEqual(client.answers, [])
        self.assertIn(b'"/cut" 503 0 ', self.access_log.read_bytes())

    async def test_grace(self) -> None:
        """When the grace is over, what still runs is cut."""
        controller, waiting = await self.serve("--shutdown-grace=0.2")
        client = await self.connect(self.http)
        client.get(host=HOST.encode())
        await self.until(lambda: waiting)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        await self.until(lambda: client.lost)

    async def test_delay(self) -> None:
        """During the delay new connections are served, and told that they are the last; a signal ends it."""
        controller, waiting = await self.serve("--shutdown-delay=60")
        controller.signal(signal.SIGTERM)
        await self.until_get((503, b"stopping\n"), self.admin, "/readyz")
        client = await self.connect(self.http)
        client.get(host=HOST.encode())
        await self.until(lambda: waiting)
        waiting[0].write(OK)
        await client.answer()
        self.assertTrue(client.answers[0].has(b"Connection: close"))
        controller.signal(signal.SIGINT)
        await self.stopped(controller)


class StartTests(EndToEndCase):
    """Starts that cannot succeed."""

    async def refused(self, pattern: str, controller: ControllerProcess) -> None:
        """Check that the process ends with one line on standard error and status 1."""
        self.assertEqual(await self.end_of(controller), 1)
        self.assertRegex(controller.errors.decode(), rf"\Aingress: {pattern}\n\Z")
        self.assertNotIn(b"Traceback", controller.output)

    async def test_port_in_use(self) -> None:
        """A port of somebody else's is named, whichever listener it is for."""
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            description = f"tcp:{other.getsockname()[1]}:interface=127.0.0.1"
            for option in ("http", "https", "admin"):
                options: tuple[Any, ...] = (f"--{option}={description}",)
                named = "--admin: " if option == "admin" else ""
                line = rf"{named}cannot listen on {description}: .*in use"
                await self.refused(line, self.start_with_manifests(*options))

    async def test_no_kubeconfig(self) -> None:
        """A kubeconfig that is not there is named."""
        missing = self.directory / "nowhere"
        await self.refused(rf".*{missing}.*", self.start(f"--kubeconfig={missing}"))

    async def test_nothing_to_read_from(self) -> None:
        """Without cluster and manifests, the line says what is possible."""
        await self.refused("no API server to read from: .*manifests.*", self.start())

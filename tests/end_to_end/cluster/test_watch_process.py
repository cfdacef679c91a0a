"""The controller as a process beside an API server in trouble: it serves what it knows, and ends when asked to."""

from __future__ import annotations

import signal
import socket
import sys
from typing import Any

import yaml
from twisted.internet.defer import Deferred

from ingress.history.problem_log import SETTLE_SECONDS
from tests.end_to_end.end_to_end_case import NO_ANSWER, PATIENCE, EndToEndCase
from tests.fakes.apiserver.faults import Answer, Delay, Hang, RawBody
from tests.fakes.apiserver.kubeconfig import kubeconfig
from tests.fakes.apiserver.server import ApiServer
from tests.fakes.certificates import issue, make_authority
from tests.fakes.objects import ingress_object, secret_object, service_object, slice_object
from tests.fakes.processes import ControllerProcess

HOST = "shop.test"
SOON = 10.0
"""Seconds within which the last of many updates counts, on a busy machine too; if each took its turn, it would be many times that."""


class WatchProcessCase(EndToEndCase):
    """An API server, with or without TLS."""

    tls = False

    async def setUp(self) -> None:  # type: ignore[override]
        """Start the API server."""
        super().setUp()
        self.server = ApiServer(self.reactor, tls=self.tls)
        await self.server.listen()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.server.stop()))
        self.kubeconfig = self.directory / "kubeconfig"
        self.server.write_kubeconfig(self.kubeconfig)

    def start_watching(self, *options: str) -> ControllerProcess:
        """Start a controller that reads from the API server, without a delay at its end."""
        return self.start(f"--kubeconfig={self.kubeconfig}", "--shutdown-delay=0", *options)

    def plugin(self, program: str) -> None:
        """Let a credential plugin find the token."""
        config = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        config["users"][0]["user"] = {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1",
                "command": sys.executable,
                "args": ["-S", "-c", program],
                "interactiveMode": "Never",
            }
        }
        self.kubeconfig.write_text(yaml.safe_dump(config), encoding="utf-8")

    async def end(self, controller: ControllerProcess) -> None:
        """SIGTERM ends the controller at once, with status 0 and nothing that went wrong in the log."""
        controller.signal(signal.SIGTERM)
        self.assertEqual(await self.end_at_once(controller), 0)
        self.assertEqual(controller.errors, b"")
        self.assertEqual(controller.faults(), [])


class StopTests(WatchProcessCase):
    """SIGTERM, whatever the API server is doing."""

    async def test_while_lists_are_not_answered(self) -> None:
        """Requests without an answer do not hold up the end."""
        self.server.faults.add(Hang(), times=None)
        controller = self.start_watching()
        await self.until(lambda: len(self.server.requests) >= 4)
        await self.end(controller)

    async def test_while_a_list_does_not_go_on(self) -> None:
        """A list that broke off in its middle and stays open does not hold up the end."""
        self.server.faults.add(RawBody(b'{"type":"ADDED","obj', "stay"), times=None)
        controller = self.start_watching()
        await self.until(lambda: len(self.server.requests) >= 4)
        await self.end(controller)

    async def test_between_pages(self) -> None:
        """A list in pages does not hold up the end."""
        self.server.streaming_list = False
        for number in range(600):
            self.server.create(service_object(f"s{number}"))
        self.server.faults.add(Delay(0), verb="list", resource="services")
        self.server.faults.add(Delay(60), verb="list", resource="services")
        controller = self.start_watching()
        await self.until(lambda: len(self.server.requests_of("list", "services")) == 2)
        await self.end(controller)

    async def test_while_waiting_after_errors(self) -> None:
        """Waits after errors do not hold up the end, however long the API server asks for."""
        self.server.faults.add(Answer(503, {"Retry-After": "600"}), times=None)
        controller = self.start_watching()
        await self.until(lambda: len(self.server.requests) >= 4)
        await self.end(controller)

    async def test_while_nobody_may_read(self) -> None:
        """An API server that refuses everything does not hold up the end."""
        for status in (401, 403):
            self.server.faults.clear()
            self.server.requests.clear()
            self.server.faults.add(Answer(status), times=None)
            controller = self.start_watching()
            await self.until(lambda: len(self.server.requests) >= 4)
            await self.end(controller)

    async def test_while_a_secret_is_not_answered(self) -> None:
        """A Secret that is asked for by name, in vain, does not hold up the end."""
        self.server.create(ingress_object("app", HOST, "tls"))
        self.server.faults.add(Hang(), times=None, verb="get")
        controller = self.start_watching("--secret-mode=get")
        await self.until(lambda: self.server.requests_of("get", "secrets"))
        self.assertIn(b"1 referenced Secret\n", (await self.get(self.admin, "/readyz"))[1])
        await self.end(controller)

    async def test_while_watches_are_frozen(self) -> None:
        """Connections that died without a word after the sync do not hold up the end."""
        controller = self.start_watching()
        await self.until_ready(controller)
        self.server.freeze()
        await self.end(controller)

    async def test_while_watches_are_busy(self) -> None:
        """A storm of changes does not hold up the end."""
        controller = self.start_watching()
        await self.until_ready(controller)
        storm = self.reactor.callLater(0, lambda: None)

        def change(number: int) -> None:
            nonlocal storm
            for name in range(50):
                self.server.apply(ingress_object(f"a{name}", f"h{number}-{name}.test"))
            storm = self.reactor.callLater(0.01, change, number + 1)

        change(0)
        self.addCleanup(lambda: storm.active() and storm.cancel())
        await self.turn(0.3)
        await self.end(controller)

    async def test_while_connecting(self) -> None:
        """An address that never answers does not hold up the end."""
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            deaf.listen(0)
            # The queue of a socket that nobody accepts from is soon full, and then connecting takes for ever.
            fillers = []
            for _ in range(4):
                filler = socket.socket()
                filler.setblocking(False)
                filler.connect_ex(deaf.getsockname())
                fillers.append(filler)
            self.kubeconfig.write_text(
                kubeconfig(f"http://127.0.0.1:{deaf.getsockname()[1]}", None, None), encoding="utf-8"
            )
            controller = self.start_watching()
            await self.until(lambda: b"API server http" in controller.output)
            await self.turn(0.2)
            await self.end(controller)
            for filler in fillers:
                filler.close()

    async def test_while_a_plugin_runs(self) -> None:
        """A credential plugin that does not come back holds up neither the admin port nor the end."""
        self.plugin("import os, time; os.close(0); time.sleep(20)")
        controller = self.start_watching()

        async def is_alive() -> bool:
            return (await self.get(self.admin, "/healthz"))[0] == 200

        while not await is_alive():
            await self.turn(0.02)
        await self.end(controller)


class TLSStopTests(WatchProcessCase):
    """The same over TLS, as far as the wire matters."""

    tls = True
    test_while_lists_are_not_answered = StopTests.test_while_lists_are_not_answered
    test_while_a_list_does_not_go_on = StopTests.test_while_a_list_does_not_go_on
    test_while_a_secret_is_not_answered = StopTests.test_while_a_secret_is_not_answered
    test_while_watches_are_frozen = StopTests.test_while_watches_are_frozen
    test_while_watches_are_busy = StopTests.test_while_watches_are_busy


class OutageTests(WatchProcessCase):
    """An API server that is away."""

    async def serve(self) -> tuple[ControllerProcess, Any]:
        """Start a controller that serves one application."""
        app = self.upstream(b"hello")
        for one in (ingress_object("app", HOST), service_object("app"), slice_object("app", app.endpoint)):
            self.server.create(one)
        controller = self.start_watching()
        await self.until_ready(controller)
        return controller, app

    async def go_away(self) -> int:
        """End the API server's listening and all its connections; return the port."""
        port = self.server.port
        await self.server.stop_listening()
        self.server.reset_connections()
        return port

    async def test_the_data_epoll_goes_on(self) -> None:
        """Without an API server everything is served as before, readiness stays, and metrics tell of the silence."""
        controller, _ = await self.serve()
        port = await self.go_away()
        for _ in range(20):
            self.assertEqual(await self.get(self.http), (200, b"hello"))
        self.assertEqual((await self.get(self.admin, "/readyz"))[0], 200)
        shown = (await self.get(self.admin, "/metrics"))[1].decode()
        self.assertIn('ingress_watch_last_contact_seconds{kind="Ingress",namespace=""}', shown)
        self.assertIn('ingress_watch_objects{kind="EndpointSlice",namespace=""} 1.0', shown)
        self.server.delete("Ingress", "app", "shop")
        await self.server.listen(port)
        await self.until_get((404, b"404 Not Found\n"), self.http)
        await self.end(controller)

    async def test_api_server_restarts(self) -> None:
        """A restart of the API server is one line for all kinds, the election and the writers, and one when it is back."""
        for how in ("it forgot its past", "it answers 503 for a moment", "it denies all for a moment"):
            controller, _ = await self.serve()
            await self.watch_a_restart(controller, how)
            await self.end(controller)
            for kind, name in (("Ingress", "app"), ("Service", "app"), ("EndpointSlice", "app-1")):
                self.server.delete(kind, name, "shop")

    async def watch_a_restart(self, controller: ControllerProcess, how: str) -> None:
        """Take the API server away and back; check what is said."""
        await self.until(lambda: b"Leading:" in controller.output)
        before = len(controller.output)
        port = await self.go_away()
        await self.turn(1.5)
        await self.until(lambda: b"The API server does not answer" in controller.output[before:])
        if how == "it forgot its past":
            self.server.compact()
        elif how == "it answers 503 for a moment":
            for _ in range(6):
                self.server.faults.add(Answer(503))
        else:
            for _ in range(6):
                self.server.faults.add(Answer(401))
        await self.server.listen(port)
        await self.until(lambda: len(self.server.watches_of("services")) == 1)
        self.server.apply(ingress_object("app", "other.test"))
        await self.until_get((404, b"404 Not Found\n"), self.http)
        self.server.apply(ingress_object("app", HOST))
        await self.until_get((200, b"hello"), self.http)
        await self.until(lambda: b"answers again" in controller.output[before:])
        lines = [
            line
            for line in controller.output[before:].decode().splitlines()
            if "Published" not in line and "#info] Log " not in line
        ]
        self.assertEqual(len(lines), 2, lines)
        self.assertIn("The API server does not answer, what is known stays in force", lines[0])
        self.assertRegex(lines[1], r"The API server answers again after [0-9.]+ s$")

    async def test_restart_without_api_server(self) -> None:
        """A process that was killed and starts without API server serves nothing stale, waits, and does not end."""
        controller, _ = await self.serve()
        controller.signal(signal.SIGKILL)
        await self.end_of(controller)
        port = await self.go_away()
        controller = self.start_watching()
        await self.until(lambda: b"Connection refused" in controller.output)
        # Another kind may be the first that is refused.
        deadline = self.reactor.seconds() + PATIENCE
        missing = b""
        while b"Ingress: Connection refused\n" not in missing:
            self.assertLess(self.reactor.seconds(), deadline, missing)
            status, missing = await self.get(self.admin, "/readyz")
            self.assertEqual(status, 503)
        self.assertEqual((await self.get(self.http))[0], NO_ANSWER)
        await self.server.listen(port)
        await self.until_ready(controller)
        self.assertEqual(await self.get(self.http), (200, b"hello"))
        await self.end(controller)

    async def test_certificates_are_there_from_the_first_moment(self) -> None:
        """The first connection over HTTPS already gets its certificate, by whichever way the Secret is read."""
        authority = make_authority()
        app = self.upstream(b"hello")
        for one in (
            ingress_object("app", HOST, "cert"),
            service_object("app"),
            slice_object("app", app.endpoint),
        ):
            self.server.create(one)
        opaque = secret_object("cert", *issue(authority, [HOST]))
        opaque["type"] = "Opaque"
        self.server.create(opaque)
        for mode in ("watch", "get"):
            self.server.faults.add(Delay(0.3), verb="get", resource="secrets")
            controller = self.start_watching(f"--secret-mode={mode}")
            await self.until_ready(controller)
            self.assertEqual(await self.get(self.https, trust=authority), (200, b"hello"))
            self.assertNotIn(b"SecretNotFound", controller.output)
            await self.end(controller)


class RolloutTests(WatchProcessCase):
    """Pods that are replaced while requests come."""

    async def test_rolling_restart(self) -> None:
        """While every pod of a Service is replaced, in the order in which it happens, no request fails."""
        # Each pod has a port of its own here, and so a slice of its own.
        pods = {number: self.upstream(b"pod") for number in range(4)}

        def publish(number: int, *, ready: bool, serving: bool, terminating: bool) -> None:
            raw = slice_object("app", pods[number].endpoint)
            raw["metadata"]["name"] = f"app-{number}"
            conditions = {"ready": ready, "serving": serving, "terminating": terminating}
            raw["endpoints"][0]["conditions"] = conditions
            self.server.apply(raw)

        self.server.create(ingress_object("app", HOST))
        self.server.create(service_object("app"))
        for number in (0, 1):
            publish(number, ready=True, serving=True, terminating=False)
        controller = self.start_watching()
        await self.until_ready(controller)
        answers: list[int] = []
        is_over = False

        async def ask() -> None:
            while not is_over:
                answers.append((await self.get(self.http))[0])

        asking = [Deferred.fromCoroutine(ask()) for _ in range(3)]
        for leaving in (0, 1):
            coming = leaving + 2
            publish(coming, ready=False, serving=False, terminating=False)
            await self.turn(0.1)
            publish(coming, ready=True, serving=True, terminating=False)
            # Whoever sends requests to the new pod knows of it.
            await self.until(lambda: pods[coming].requests)  # noqa: B023 - it is awaited here
            publish(leaving, ready=False, serving=True, terminating=True)
            # A pod goes on for a moment, and then takes its idle connections along.
            await self.turn(0.3)
            pods[leaving].stop()
            self.server.delete("EndpointSlice", f"app-{leaving}", "shop")
            await self.turn(0.1)
        await self.until(lambda: len(answers) > 20)
        is_over = True
        for one in asking:
            await one
        self.assertEqual(set(answers), {200})
        await self.end(controller)


def ingress_to(service: str, name: str, host: str) -> dict[str, Any]:
    """Return an Ingress that sends all of a host to *service*."""
    raw = ingress_object(name, host)
    raw["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = service
    return raw


class FloodTests(WatchProcessCase):
    """Changes that never cease while requests come."""

    async def test_usual_order(self) -> None:
        """While 2,000 good Ingresses are applied, each before its Service and that before its endpoints, nobody is warned."""
        app = self.upstream(b"hello")
        controller = self.start_watching()
        await self.until_ready(controller)
        began = self.reactor.seconds()
        # Where this process had no processor for so long that it was right to warn.
        stalled: set[str] = set()
        for number in range(2000):
            name, begins = f"a{number}", self.reactor.seconds()
            for one in (
                ingress_object(name, f"{name}.test"),
                service_object(name),
                slice_object(name, app.endpoint),
            ):
                self.server.create(one)
                if number % 20 == 0:
                    await self.turn(0.01)
            if self.reactor.seconds() - begins > SETTLE_SECONDS / 2:
                stalled.add(f"/{name}:")
        await self.until(
            lambda: b"Published 2,000 routes of 2,000 hosts, with 0 problems" in controller.output
        )
        await self.turn(2.5)
        warnings = [
            line
            for line in controller.output.decode().splitlines()
            if any(word in line for word in ("Solved", "ServiceNotFound", "warn"))
            and not any(name in line for name in stalled)
        ]
        self.assertEqual(warnings, [])
        # There is one a second at most, and not one for each change.
        self.assertLess(controller.output.count(b"Published"), 60 + self.reactor.seconds() - began)
        await self.end(controller)

    async def test_many_updates(self) -> None:
        """While Ingresses change hundreds of times a second, each request gets its own answer, and the last state counts soon."""
        for name in ("app", "other"):
            self.server.create(service_object(name))
            self.server.create(slice_object(name, self.upstream(name.encode()).endpoint))
        self.server.create(ingress_to("app", "app", HOST))
        controller = self.start_watching()
        await self.until_ready(controller)
        answers: list[tuple[int, bytes]] = []
        is_over = False

        async def ask() -> None:
            while not is_over:
                answers.append(await self.get(self.http))

        asking = [Deferred.fromCoroutine(ask()) for _ in range(3)]
        deadline = self.reactor.seconds() + PATIENCE
        update = 0
        while update < 50 or len(answers) <= 100:
            self.assertLess(self.reactor.seconds(), deadline, answers)
            update += 1
            for number in range(10):
                raw = ingress_to("other", f"other-{number}", f"other-{number}.test")
                raw["spec"]["rules"][0]["http"]["paths"][0]["path"] = f"/{update}"
                self.server.apply(raw)
            await self.turn(0.02)
        self.assertEqual(set(answers), {(200, b"app")})
        self.server.apply(ingress_to("other", "app", HOST))
        deadline = self.reactor.seconds() + SOON
        while (last := await self.get(self.http)) != (200, b"other"):
            self.assertLess(self.reactor.seconds(), deadline, last)
        is_over = True
        for one in asking:
            await one
        self.assertEqual(set(answers), {(200, b"app"), (200, b"other")})
        await self.end(controller)

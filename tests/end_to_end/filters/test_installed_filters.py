"""The example of filters as an installed package: what it decides, and a controller that serves with it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from shutil import copytree
from typing import ClassVar

from tests.end_to_end.end_to_end_case import PATIENCE, EndToEndCase
from tests.fakes.objects import ingress_object, service_object, slice_object
from tests.fakes.peers.downstreams import Answer
from tests.fakes.peers.upstreams import Upstream, UpstreamWire
from tests.fakes.processes import free_port

ROOT = Path(__file__).resolve().parents[3]
TIMES = (b"night", b"morning", b"afternoon", b"evening")


def install(place: Path) -> str:
    """Install the example into a new directory, as an operator would, and return that."""
    # A build leaves files beside the sources.
    copytree(ROOT / "examples" / "filter", place / "source")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    command += ["--disable-pip-version-check", "--target", str(place / "site"), str(place / "source")]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"status {done.returncode} of {command}:\n{done.stdout}{done.stderr}")
    return str(place / "site")


def guard(wire: UpstreamWire) -> None:
    """Answer who it is to ann, and 401 to everybody else."""
    if b"authorization: ann" in wire.heads[-1].lower():
        wire.write(b"HTTP/1.1 204 No Content\r\nX-User: ann\r\n\r\n")
    else:
        wire.write(b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")


class InstalledFilterTests(EndToEndCase):
    """A controller with filters that a package brings."""

    site: ClassVar[str] = ""

    def setUp(self) -> None:
        """Install the package once, and have an app, and a guard to ask."""
        super().setUp()
        case = type(self)
        case.site = case.site or install(self.directory / "package")
        self.environment = {"PYTHONPATH": f"{ROOT}:{case.site}"}
        self.app = self.upstream(b"app")
        self.guard = Upstream(self.reactor, guard)
        self.guard.listen()
        self.addCleanup(self.guard.stop)
        self.guard_url = f"http://127.0.0.1:{self.guard.endpoint.port}/may"

    def write_app(self, filters: str = "") -> None:
        """Have an Ingress of the app that asks for *filters*."""
        ingress = ingress_object("app", "shop.test")
        if filters:
            ingress["metadata"]["annotations"] = {"nginx.ingress.kubernetes.io/filters": filters}
        self.write("app", ingress, service_object("app"), slice_object("app", self.app.endpoint))

    async def ask(self, fields: bytes = b"") -> Answer:
        """Ask the app for something."""
        client = await self.connect(self.http)
        client.get(b"/", b"shop.test", fields + b"Connection: close\r\n")
        await client.answer().addTimeout(PATIENCE, self.reactor)
        return client.answers[0]

    def assert_says_time(self, answer: Answer) -> None:
        """Check that an answer says what time of day it is."""
        said = [name for name in TIMES if answer.has(b"X-Time-Of-Day: " + name)]
        self.assertEqual(len(said), 1, answer.head)

    async def test_for_everybody(self) -> None:
        """Filters of the command line stand before all requests: a decision first, and a field on every answer."""
        self.write_app()
        controller = self.start_with_manifests(
            "--filter=time-of-day", f"--filter=ask-first-anywhere={self.guard_url}"
        )
        await self.until_ready(controller)
        refused = await self.ask()
        self.assertEqual((refused.status, refused.has(b"WWW-Authenticate: Basic")), (401, True))
        self.assert_says_time(refused)
        self.assertEqual((self.app.requests, self.guard.requests), (0, 1))
        served = await self.ask(b"Authorization: ann\r\nX-User: root\r\n")
        self.assertEqual((served.status, served.body), (200, b"app"))
        self.assert_says_time(served)
        head = self.app.wires[0].heads[0].lower()
        self.assertEqual((head.count(b"x-user:"), b"\r\nx-user: ann" in head), (1, True))
        asked = self.guard.wires[-1].heads[-1].lower()
        self.assertIn(b"x-original-host: shop.test", asked)
        lines = self.access_log
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)
        self.assertEqual(lines.read_bytes().count(b"\n"), 2)

    async def test_by_annotation(self) -> None:
        """An Ingress asks for what the operator allows, and nobody else has it; what it may not have closes it."""
        self.write_app("time-of-day=X-When")
        controller = self.start_with_manifests("--allow-filter=time-of-day")
        await self.until_ready(controller)
        answer = await self.ask()
        self.assertEqual(answer.status, 200)
        self.assertEqual(sum(answer.has(b"X-When: " + name) for name in TIMES), 1)
        self.write_app(f"ask-first={self.guard_url}")
        await self.until_get((503, b"503 Service Unavailable\n"), self.http)
        status, text = await self.get(self.admin, "/api/problems")
        self.assertEqual(status, 200)
        (problem,) = json.loads(text)["problems"]
        self.assertIn(
            "which the operator does not allow; allowed by --allow-filter: time-of-day", problem["message"]
        )

    async def test_by_annotation_in_workers(self) -> None:
        """So it is where workers serve: what an Ingress asked for reaches them by name, and is made there."""
        self.write_app("time-of-day=X-When")
        controller = self.start_with_manifests("--allow-filter=time-of-day", "--workers=2")
        await self.until_ready(controller)
        answer = await self.ask()
        self.assertEqual(answer.status, 200)
        self.assertEqual(sum(answer.has(b"X-When: " + name) for name in TIMES), 1)
        controller.signal(signal.SIGTERM)
        await self.stopped(controller)

    async def test_address_of_our_own(self) -> None:
        """A URL that a tenant may have chosen leads to no address of this host: the guard is not asked, and nobody passes."""
        self.write_app(f"ask-first={self.guard_url}")
        controller = self.start_with_manifests("--allow-filter=ask-first")
        await self.until_ready(controller)
        answer = await self.ask(b"Authorization: ann\r\n")
        self.assertEqual((answer.status, answer.has(b"Retry-After: 1")), (503, True))
        self.assertEqual((self.app.requests, self.guard.requests), (0, 0))

    async def test_guard_that_is_away(self) -> None:
        """Without an answer of the service nobody passes."""
        self.write_app()
        controller = self.start_with_manifests(f"--filter=ask-first-anywhere=http://127.0.0.1:{free_port()}/")
        await self.until_ready(controller)
        answer = await self.ask(b"Authorization: ann\r\n")
        self.assertEqual((answer.status, answer.has(b"Retry-After: 1"), self.app.requests), (503, True, 0))

    async def test_start_that_cannot_be(self) -> None:
        """A filter that is not there, or refuses its arguments, ends the start in one line."""
        for option, why in (
            (
                "--filter=other",
                b"no installed package brings filter other; brought are: ask-first, ask-first-anywhere, time-of-day",
            ),
            ("--filter=ask-first=nothing", b"is refused by filter ask-first: give it the URL to ask"),
            ("--allow-filter=time-of-day=X", b"is allowed by its name alone"),
        ):
            controller = self.start_with_manifests(option)
            self.assertEqual(await self.end_of(controller), 1)
            self.assertIn(why, controller.errors)
            self.assertEqual(controller.errors.count(b"\n"), 1)

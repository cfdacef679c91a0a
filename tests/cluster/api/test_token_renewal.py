"""Tests for ``ingress.cluster.api.token_renewal``: tokens of credential plugins that end."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import time

import yaml
from attrs import evolve
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_client import ApiAccess, ApiConnection
from ingress.cluster.api.credential_plugin import PluginCredentials, PluginError
from ingress.cluster.api.credentials import CredentialSource
from ingress.cluster.api.package_parts import Configuration
from ingress.cluster.api.token_renewal import PAUSE_SECONDS, RENEWED_BEFORE_SECONDS, TokenRenewal
from tests.cluster.api_server_case import ApiServerTestCase, in_thread

VERSION = "client.authentication.k8s.io/v1"


class TokenRenewalTests(SynchronousTestCase):
    """When the plugin runs, and which token is used."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.runs = 0
        self.failure: Exception | None = None
        self.next = PluginCredentials("next", ends_at=2000.0)
        self.running: list[Callable[[], None]] = []
        self.configuration = Configuration()
        first = PluginCredentials("first", ends_at=1000.0)
        self.begin_it = self.begin
        renewal = TokenRenewal(
            first, self.run_it, self.clock.seconds, self.clock.seconds, lambda work: self.begin_it(work)
        )
        renewal.keep(self.configuration)

    def begin(self, work: Callable[[], None]) -> Callable[[], None]:
        """Stand for a thread, which does *work* once somebody waits for it, or ``end`` is called."""
        self.running.append(work)
        return self.end

    def end(self) -> None:
        """Let the plugin come to its end, if it runs."""
        while self.running:
            self.running.pop()()

    def run_it(self) -> PluginCredentials:
        """Stand for the plugin."""
        self.runs += 1
        if self.failure is not None:
            raise self.failure
        return self.next

    def token(self) -> str:
        """Return what a request would carry."""
        return str(self.configuration.auth_settings()["BearerToken"]["value"]).removeprefix("Bearer ")

    def test_before_the_end(self) -> None:
        """The next token is asked for a minute before the end, once, and what is good still is used until it is there."""
        self.clock.advance(1000.0 - RENEWED_BEFORE_SECONDS - 1)
        self.assertEqual((self.token(), len(self.running)), ("first", 0))
        self.clock.advance(1)
        self.assertEqual([self.token(), self.token(), len(self.running)], ["first", "first", 1])
        self.clock.advance(RENEWED_BEFORE_SECONDS - 1)
        self.assertEqual([self.token(), len(self.running), self.runs], ["first", 1, 0])
        self.end()
        self.assertEqual([self.token(), self.token(), self.runs], ["next", "next", 1])

    def test_no_thread(self) -> None:
        """Where no thread can be started, what is good still is used, and it is tried again after a while."""
        self.clock.advance(1000.0 - 30)
        begin, self.begin_it = self.begin_it, self.refuse_to_begin
        with capturedLogs() as events:
            self.assertEqual([self.token(), self.token()], ["first", "first"])
        self.assertEqual(
            [formatEvent(event) for event in events],
            ["credentials cannot be loaded anew: can't start new thread"],
        )
        self.begin_it = begin
        self.clock.advance(PAUSE_SECONDS)
        self.assertEqual((self.token(), len(self.running)), ("first", 1))
        self.end()
        self.assertEqual(self.token(), "next")

    def refuse_to_begin(self, work: Callable[[], None]) -> Callable[[], None]:
        """Stand for a process that has as many threads as it may."""
        raise RuntimeError("can't start new thread")

    def test_at_the_end(self) -> None:
        """Who asks once the token has ended waits for the plugin, be it that runs already or not."""
        for begins_before in (True, False):
            self.setUp()
            if begins_before:
                self.clock.advance(1000.0 - 1)
                self.assertEqual((self.token(), len(self.running)), ("first", 1))
            self.clock.advance(1000.0 - self.clock.seconds())
            self.assertEqual((self.token(), self.runs), ("next", 1))

    def test_failing(self) -> None:
        """While the plugin fails the token is used as long as it is good; then requests fail with the plugin's words, which is not run for each."""
        self.failure = PluginError("it failed", "its words")
        self.clock.advance(1000.0 - RENEWED_BEFORE_SECONDS)
        with capturedLogs() as events:
            self.assertEqual(self.token(), "first")
            self.end()
            self.assertEqual(self.token(), "first")
        (event,) = events
        self.assertEqual(formatEvent(event), "credentials cannot be loaded anew: it failed: its words")
        self.clock.advance(RENEWED_BEFORE_SECONDS)
        for _ in range(3):
            error = self.assertRaises(PluginError, self.token)
            self.assertEqual((error.message, error.aside), ("it failed", "its words"))
        self.assertEqual(self.runs, 2)
        self.failure = None
        self.clock.advance(PAUSE_SECONDS)
        self.assertEqual((self.token(), self.runs), ("next", 3))

    def test_pause_after_the_end(self) -> None:
        """A plugin that takes long is left alone for a while after it, and not only after it was begun."""
        self.failure = PluginError("it took too long")
        self.clock.advance(1000.0 - RENEWED_BEFORE_SECONDS)
        self.token()
        self.clock.advance(2 * PAUSE_SECONDS)
        self.end()
        self.token()
        self.assertEqual(len(self.running), 0)
        self.clock.advance(PAUSE_SECONDS)
        self.token()
        self.assertEqual(len(self.running), 1)

    def test_bug(self) -> None:
        """A bug is logged, and the plugin is run again later."""
        self.failure = ZeroDivisionError()
        self.clock.advance(1000.0)
        self.assertEqual(self.token(), "first")
        self.assertEqual(len(self.flushLoggedErrors(ZeroDivisionError)), 1)
        self.failure = None
        self.clock.advance(PAUSE_SECONDS)
        self.assertEqual(self.token(), "next")

    def test_one_that_has_ended(self) -> None:
        """A plugin whose tokens have ended already is left alone for a while, too."""
        self.next = evolve(self.next, ends_at=0.0)
        self.clock.advance(1000.0)
        for _ in range(3):
            self.assertEqual(self.token(), "next")
        self.assertEqual(self.runs, 1)


PROGRAM = """
import datetime, json, os, sys, time
folder, token, seconds = sys.argv[1:]
if os.path.exists(folder + "/runs"):
    end = time.monotonic() + 20
    while not os.path.exists(folder + "/goes-on") and time.monotonic() < end:
        time.sleep(0.01)
    open(folder + "/ended", "w").close()
    token = "new"
open(folder + "/runs", "w").close()
until = datetime.datetime.fromtimestamp(float(seconds), datetime.timezone.utc).isoformat()
status = {"token": token, "expirationTimestamp": until}
print(json.dumps({"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}))
"""


class HangingPluginTests(ApiServerTestCase):
    """An API server that is asked while the plugin hangs."""

    async def test_requests_go_on(self) -> None:
        """In the last minute of a token, which is good still, requests do not wait for the plugin."""
        folder = Path(self.mktemp()).resolve()
        folder.mkdir()
        now = time()
        config = yaml.safe_load(self.kubeconfig.read_text(encoding="utf-8"))
        arguments = ["-S", "-c", PROGRAM, str(folder), "old", str(now + RENEWED_BEFORE_SECONDS + 100)]
        plugin = {
            "apiVersion": VERSION,
            "command": sys.executable,
            "args": arguments,
            "interactiveMode": "Never",
        }
        config["users"][0]["user"] = {"exec": plugin}
        self.kubeconfig.write_text(json.dumps(config), encoding="utf-8")
        self.server.access.tokens = {"old": None, "new": None}
        clock, wall = Clock(), Clock()
        wall.advance(now)
        source = CredentialSource(
            str(self.kubeconfig), None, None, environ={}, clock=clock.seconds, wall=wall.seconds
        )
        access = ApiAccess(source, clock=clock.seconds)
        await in_thread(access.load)
        connection = ApiConnection(access)
        self.addCleanup(connection.close)
        for one in (clock, wall):
            one.advance(RENEWED_BEFORE_SECONDS + 50)

        def ask() -> None:
            connection.get("/api/v1/services", []).read_all()

        try:
            await in_thread(ask)
            await in_thread(ask)
            self.assertFalse((folder / "ended").exists())
        finally:
            (folder / "goes-on").touch()
        wall.advance(RENEWED_BEFORE_SECONDS)
        await in_thread(ask)
        self.assertEqual([call.token for call in self.server.requests], ["old", "old", "new"])

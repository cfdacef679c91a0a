"""Proxies are told the same, and ours is told what it knows."""

import json
from pathlib import Path

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from bench.disruptions.faults import objects
from bench.disruptions.faults.proxies import COMMANDS, DEFAULT_DEADLINES, Deadlines, Site, deadline_options
from ingress.cluster.manifests.manifest_files import read_manifest
from ingress.model.serving.limits import Limits
from ingress.tap import Options


class SiteTests(SynchronousTestCase):
    """What each proxy is told."""

    def setUp(self) -> None:
        """Make a site in a folder of its own."""
        folder = Path(self.mktemp())
        folder.mkdir()
        self.site = Site(folder, 1001, 1002, 1003, (2001, 2002))

    def test_endpoints_and_deadlines(self) -> None:
        """nginx and HAProxy have both endpoints, and the deadlines, in what they read."""
        site = evolve(self.site, deadlines=Deadlines(silence=7))
        for name, silence in (("nginx", "proxy_read_timeout 7s"), ("haproxy", "timeout server 7s")):
            text = Path(COMMANDS[name](site, 1024)[-1]).read_text()
            for wanted in ("127.0.0.1:1001", "127.0.0.1:2001", "127.0.0.1:2002", silence):
                self.assertIn(wanted, text)

    def test_ours(self) -> None:
        """Ours reads manifests with both endpoints, and gets the options of the site last."""
        command = COMMANDS["ours"](evolve(self.site, options=("--more",)), 1024)
        self.assertEqual(command[-1], "--more")
        self.assertIn(f"--manifests={self.site.manifests}", command)
        written = json.loads((self.site.manifests / "all.json").read_text())
        ports = [one["ports"][0]["port"] for one in written["items"] if one["kind"] == "EndpointSlice"]
        self.assertEqual(ports, [2001, 2002])

    def test_objects_are_good(self) -> None:
        """Everything that is written is read without a problem."""
        made = [*objects.one_service((1, 2), "a.test"), objects.external_name("e", "other.test", 5)]
        content = read_manifest(objects.manifest(made).encode(), "all.json", "nginx.ingress.kubernetes.io")
        self.assertEqual(len(content.objects), len(made))
        self.assertEqual([problem for one in content.objects for problem in one.projection.problems], [])


class DeadlineTests(SynchronousTestCase):
    """Deadlines of ours that a script shortens."""

    def limits(self, deadlines: Deadlines) -> Limits:
        """What ours makes of *deadlines*."""
        options = Options()
        options.parseOptions(["--manifests=.", *deadline_options(deadlines)])
        return options.settings().serving.limits

    def test_only_what_differs(self) -> None:
        """Defaults are not touched."""
        self.assertEqual(deadline_options(DEFAULT_DEADLINES), [])
        self.assertEqual(deadline_options(Deadlines(silence=2)), ["--proxy-read-timeout=2"])

    def test_each_is_obeyed(self) -> None:
        """What a script shortens is what ours gets, and the defaults are those that users have."""
        for deadlines in (DEFAULT_DEADLINES, Deadlines(1, 2, 3, 4, 5, 6)):
            limits = self.limits(deadlines)
            upstream = limits.upstream
            found = Deadlines(
                limits.head_seconds,
                limits.body_seconds,
                upstream.connect_seconds,
                upstream.read_seconds,
                limits.send_seconds,
                limits.keep_alive_seconds,
            )
            self.assertEqual(found, deadlines)

"""A script is played to a real proxy, and whatever happens on the stage, nothing is left of it."""

import asyncio
import os
import resource
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.disruptions.faults.__main__ import play
from bench.disruptions.faults.checks import Finding, Verdict
from bench.disruptions.faults.fault import Fault
from bench.disruptions.faults.stage import Stage
from bench.disruptions.faults.visitors import Probe, ask, get
from bench.setup.errors import BenchError


class PlayTests(SynchronousTestCase):
    """Scripts with processes of their own."""

    if not Path("/proc/self/fd").exists() or shutil.which("taskset") is None:
        skip = "needs the /proc and the taskset of Linux"

    def setUp(self) -> None:
        """Make a folder, and keep the limit of open files as it is."""
        self.folder = Path(self.mktemp()).resolve()
        self.folder.mkdir()
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, limit)
        self.pids: list[int] = []

    def played(self, script: Callable[[Stage], Awaitable[None]]) -> Finding:
        """Play *script* to ours."""
        cpus = sorted(os.sched_getaffinity(0))
        stage = Stage("ours", self.folder, sys.executable, cpus[0], cpus[-1])
        return asyncio.run(play(Fault("test", "something", script), stage))

    def check_that_nothing_runs(self) -> None:
        """Fail if a process of the script is still there."""
        self.assertTrue(self.pids)
        for pid in self.pids:
            self.assertFalse(Path(f"/proc/{pid}").exists(), pid)

    def test_played(self) -> None:
        """Ours serves a pod, answers 502 when it is killed, and serves it again when it is back."""

        async def script(stage: Stage) -> None:
            """Kill the only pod."""
            (pod,) = await stage.pods(1)
            proxy = await stage.proxy(pod.port)
            self.pids.append(proxy.pid)
            stage.checks.equal("at first", (await ask(proxy.http, get())).status, 200)
            pod.kill()
            stage.checks.equal("without it", (await ask(proxy.http, get())).status, 502)
            await pod.start()
            told = await ask(proxy.http, get())
            stage.checks.equal("with it again", told.body.decode(), pod.name)
            stage.checks.holds("a probe is served", bool((await Probe(proxy.http).run(0.3)).latencies))

        finding = self.played(script)
        self.assertIs(finding.verdict, Verdict.PASSED, finding.measured)
        self.assertEqual((finding.fault, finding.target, len(finding.checks)), ("test", "ours", 4))
        self.check_that_nothing_runs()

    def test_death_and_tracebacks_are_seen(self) -> None:
        """A proxy that trips over a bug, or is gone at the end, fails a script that has not asked for that."""

        async def script(stage: Stage) -> None:
            """Find a bug that is not part of the script, and lose the proxy."""
            (pod,) = await stage.pods(1)
            proxy = await stage.proxy(pod.port, plants_bug=True)
            self.pids.append(proxy.pid)
            await ask(proxy.http, get("/bug"))
            # The log is written by a thread of its own, which may come after the answer.
            async with asyncio.timeout(30):
                while not proxy.tracebacks():
                    await asyncio.sleep(0.02)
            stage.checks.holds("the script itself is content", True)
            proxy.running.popen.kill()
            proxy.running.popen.wait()

        finding = self.played(script)
        self.assertIs(finding.verdict, Verdict.FAILED)
        self.assertIn("NOT: the proxy still runs", finding.measured)
        self.assertIn("tracebacks 1 (must be 0)", finding.measured)

    def test_broken_script(self) -> None:
        """A script that cannot go on fails, keeps what it found, and leaves nothing running."""

        async def script(stage: Stage) -> None:
            """Break."""
            (pod,) = await stage.pods(1)
            self.pids.append((await stage.proxy(pod.port)).pid)
            stage.checks.none("failed", 0)
            raise BenchError("there is no tide today")

        finding = self.played(script)
        self.assertIs(finding.verdict, Verdict.FAILED)
        self.assertEqual(finding.measured, "failed 0; the script broke: BenchError: there is no tide today")
        self.check_that_nothing_runs()

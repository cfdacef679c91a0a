"""Children are started pinned, measured with all of their descendants, and ended whatever happens."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.measuring import gauges
from bench.setup.errors import BenchError
from bench.setup.processes import HOST, POLL_SECONDS, Processes, free_ports, pause, wait_until_it_answers

# A parent with a child of its own that outlives SIGTERM.
STUBBORN = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen([sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"])
signal.signal(signal.SIGTERM, signal.SIG_DFL)
time.sleep(60)
"""
SPIN = "for _ in range(3_000_000): pass\nprint('done', flush=True)\nimport time; time.sleep(60)"
# A benchmark that starts a process and waits.
PARENT = """
import sys
from pathlib import Path
from bench.setup.processes import Processes, pause
with Processes.logging_to(Path(sys.argv[1])) as processes:
    print(processes.start("child", [sys.executable, "-c", "import time; time.sleep(60)"], sys.argv[2]).pid, flush=True)
    pause(60)
"""
WAITS = 1200
"""So often at most, a minute: on a busy machine a child may not run for seconds."""


def is_running(pid: int) -> bool:
    """Whether there is such a process, a zombie not counted."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class ProcessesTests(SynchronousTestCase):
    """Real processes."""

    if not Path("/proc/self/schedstat").exists():
        skip = "needs the /proc of Linux"

    def setUp(self) -> None:
        """Make a folder for logs."""
        self.folder = Path(self.mktemp())
        self.folder.mkdir()
        self.cpu = min(os.sched_getaffinity(0))

    def test_whole_tree_is_ended(self) -> None:
        """Leaving the block by an exception ends the child and its children, even those that ignore SIGTERM."""
        tree: list[int] = []
        with self.assertRaises(KeyboardInterrupt), Processes.logging_to(self.folder) as processes:
            running = processes.start("stubborn", [sys.executable, "-c", STUBBORN], self.cpu)
            for _ in range(WAITS):
                tree = list(gauges.process_tree(running.pid))
                if len(tree) == 2:
                    break
                pause(POLL_SECONDS)
            raise KeyboardInterrupt
        self.assertEqual(len(tree), 2)
        for _ in range(WAITS):
            if not any(map(is_running, tree)):
                break
            pause(POLL_SECONDS)
        self.assertEqual([pid for pid in tree if is_running(pid)], [])

    def test_killed(self) -> None:
        """Of a benchmark that is killed, which leaves no block, no process is left."""
        words = [sys.executable, "-c", PARENT, str(self.folder), str(self.cpu)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as parent:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            for _ in range(WAITS):
                # Before that it is not tied to its parent yet.
                program, _, _ = Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")
                if os.path.basename(program) == os.path.basename(os.fsencode(sys.executable)):
                    break
                pause(POLL_SECONDS)
            self.assertTrue(is_running(pid))
            parent.kill()
        for _ in range(WAITS):
            if not is_running(pid):
                break
            pause(POLL_SECONDS)
        self.assertFalse(is_running(pid))

    def test_pinned_and_measured(self) -> None:
        """A child runs on the CPU that was named; the CPU time and memory it took are known."""
        with Processes.logging_to(self.folder) as processes:
            running = processes.start("spin", [sys.executable, "-c", SPIN], self.cpu)
            for _ in range(WAITS):
                if b"done" in running.log.read_bytes():
                    break
                pause(POLL_SECONDS)
            self.assertEqual(os.sched_getaffinity(running.pid), {self.cpu})
            self.assertGreater(gauges.cpu_seconds(running.pid), 0.01)
            self.assertGreater(sum(gauges.user_and_system_seconds(running.pid)), 0.0)
            self.assertGreater(gauges.peak_kib(running.pid), 1000)

    def test_early_end(self) -> None:
        """Waiting for a child that ended tells its status and its last words, without waiting on."""
        with Processes.logging_to(self.folder) as processes:
            running = processes.start(
                "short", [sys.executable, "-c", "print('no such luck'); raise SystemExit(3)"], self.cpu
            )
            (port,) = free_ports(1)
            error = self.assertRaises(BenchError, wait_until_it_answers, running, port, "a.test")
        self.assertIn("short ended with status 3: no such luck", str(error))


class FreePortTests(SynchronousTestCase):
    """Ports for servers that are started later."""

    def test_held(self) -> None:
        """Nobody else who looks for a free port finds one that was given out, and whoever listens on it can, time and again."""
        (port,) = free_ports(1)
        with socket.socket() as probe, self.assertRaises(OSError):
            probe.bind((HOST, port))
        for address in (HOST, "0.0.0.0", HOST):
            with socket.create_server((address, port)):
                socket.create_connection((HOST, port), 10).close()

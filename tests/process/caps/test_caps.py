"""Tests for ``ingress.process.caps.caps``."""

import resource
from pathlib import Path

from attrs import evolve
from twisted.logger import LogLevel, capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.process.caps.caps import (
    Caps,
    caps_of_system,
    connections_allowed,
    connections_in_memory,
    tell_caps,
    workers_of_use,
)
from tests.fakes.system_files import system

MIB = 1 << 20


class CapsTests(SynchronousTestCase):
    """What there may be, and what follows."""

    def test_system(self) -> None:
        """The lowest counts: of the machine's memory and the group's, of its quota and the processors that may be used."""
        files = {
            "cpu.max": "150000 100000",
            "memory.max": str(256 * MIB),
            "pids.max": "100",
            "pids.current": "40",
        }
        root = system(Path(self.mktemp()), files)
        (root / "proc/meminfo").write_text("MemTotal: 1048576 kB\n")
        self.patch(resource, "getrlimit", lambda which: (1024, 1024))
        self.assertEqual(caps_of_system(root, lambda: 8), Caps(1.5, 256 * MIB, 60, 1024))
        self.assertEqual(caps_of_system(root, lambda: 1).processors, 1)
        (root / "proc/meminfo").write_text("MemTotal: 131072 kB\n")
        self.assertEqual(caps_of_system(root, lambda: 8).memory, 128 * MIB)

    def test_unbounded(self) -> None:
        """Where nobody says anything, only the processors bound."""
        self.patch(resource, "getrlimit", lambda which: (5000, 5000))
        self.assertEqual(caps_of_system(Path(self.mktemp()), lambda: 4), Caps(4, None, None, 5000))
        self.assertGreaterEqual(caps_of_system().processors, 0.01)

    def test_connections(self) -> None:
        """Half of the memory is for connections; there is always one."""
        for memory, expected in ((None, 8000), (1024 * MIB, 8000), (256 * MIB, 4096), (1, 1)):
            self.assertEqual(connections_in_memory(Caps(1, memory), 8000), expected)

    def test_asked(self) -> None:
        """Who asks for a number gets it, and a warning for each thing that it is too large for."""
        with capturedLogs() as events:
            few_files = Caps(descriptors=1024)
            self.assertEqual(connections_allowed(None, 8000, few_files), 384)
            self.assertEqual(connections_allowed(100, 8000, few_files), 100)
            self.assertEqual(connections_allowed(None, 8000, Caps(memory=128 * MIB)), 2048)
            self.assertEqual(events, [])
            self.assertEqual(connections_allowed(5000, 8000, evolve(few_files, memory=128 * MIB)), 5000)
        self.assertEqual(
            [formatEvent(event) for event in events],
            [
                "--max-connections=5000 needs more open files than the 1024 that are allowed (ulimit -n); "
                "they suffice for 384 connections that are served at once",
                "--max-connections=5000 may need more memory than the 128 MiB that there are; "
                "half of them suffices for 2,048 connections of HTTP/2 over TLS",
            ],
        )

    def test_divided(self) -> None:
        """Workers share the memory and the processors; open files each has for itself."""
        caps = Caps(3, 1024 * MIB, 50, 2000).divided_by(4)
        self.assertEqual((caps.processors, caps.memory, caps.descriptors), (0.75, 256 * MIB, 2000))
        self.assertIsNone(Caps().divided_by(2).memory)

    def test_workers(self) -> None:
        """A worker for each whole processor, as far as memory and tasks suffice, and none where that is one."""
        for caps, expected in (
            (Caps(0.25), None),
            (Caps(1.5), None),
            (Caps(2), 2),
            (Caps(3.9), 3),
            (Caps(64), 64),
            (Caps(64, 1024 * MIB), 10),
            (Caps(64, 64 * MIB), None),
            (Caps(64, None, 100), 3),
            (Caps(64, None, 0), None),
        ):
            self.assertEqual(workers_of_use(caps), expected, caps)

    def test_told(self) -> None:
        """The log says what was found, what was not limits nothing, and what is too little is a warning."""
        with capturedLogs() as events:
            tell_caps(Caps(1.5, 256 * MIB, 12, 1024), 384)
            tell_caps(Caps(2, descriptors=20_000), 8000)
        self.assertEqual(
            [(formatEvent(event), event["log_level"]) for event in events],
            [
                (
                    "This process may have the time of 1.5 processors, 256 MiB of memory, 12 further tasks, 1,024 open files "
                    "for each process; so 384 connections of clients at once at most",
                    LogLevel.info,
                ),
                (
                    "12 further tasks may be too few: up to 40 threads are begun (pids.max of the control group)",
                    LogLevel.warn,
                ),
                (
                    "This process may have the time of 2 processors, 20,000 open files for each process; "
                    "so 8,000 connections of clients at once at most",
                    LogLevel.info,
                ),
            ],
        )

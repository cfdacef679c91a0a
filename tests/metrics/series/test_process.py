"""The series about the process."""

import os
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.metrics.series.process import AT_ONCE, ProcessMetrics, counted, resident_bytes
from ingress.metrics.text import as_text


class ProcessMetricsTests(SynchronousTestCase):
    """``ProcessMetrics``."""

    def setUp(self) -> None:
        self.proc = Path(self.mktemp())
        (self.proc / "self" / "fd").mkdir(parents=True)
        (self.proc / "stat").write_text("cpu 1 2 3\nbtime 1700000000\nprocesses 5\n")
        numbers = ["S", *map(str, range(4, 14)), "250", "150", "0", "0", "20", "0", "1", "0", "500"]
        (self.proc / "self" / "stat").write_text(f"42 (a (strange) name) {' '.join(numbers)} 4096000 100 1\n")

    def shown(self) -> str:
        return "".join(as_text(ProcessMetrics(self.proc).families()))

    def test_numbers(self) -> None:
        """Processor time, memory and the time of the start are those that the system tells."""
        ticks = os.sysconf("SC_CLK_TCK")
        text = self.shown()
        self.assertIn(f"\nprocess_cpu_seconds_total {400 / ticks}\n", text)
        self.assertIn("\nprocess_virtual_memory_bytes 4.096e+06\n", text)
        started = next(line for line in text.splitlines() if line.startswith("process_start_time_seconds "))
        self.assertEqual(float(started.split()[1]), 1700000000 + 500 / ticks)

    def test_others(self) -> None:
        """Of another process the resident memory is told, and nothing of one that is gone."""
        (self.proc / "7").mkdir()
        (self.proc / "7" / "statm").write_text("500 300 200 1 0 100 0\n")
        self.assertEqual(resident_bytes(7, self.proc), 300 * os.sysconf("SC_PAGE_SIZE"))
        self.assertIsNone(resident_bytes(8, self.proc))
        (self.proc / "7" / "statm").write_text("")
        self.assertIsNone(resident_bytes(7, self.proc))

    def test_this_process(self) -> None:
        """Of this process the number of file descriptors is right."""
        text = "".join(as_text(ProcessMetrics().families()))
        found = next(line for line in text.splitlines() if line.startswith("process_open_fds "))
        # Listing them takes one more.
        self.assertEqual(float(found.split()[1]), len(os.listdir("/proc/self/fd")) - 1)

    def test_counted(self) -> None:
        """Where the system does not tell how many descriptors there are, they are counted, some hundreds a step."""
        folder = Path(self.mktemp())
        folder.mkdir()
        for number in range(2 * AT_ONCE + 5):
            (folder / str(number)).touch()
        steps = counted(folder)
        self.assertEqual([next(steps), next(steps)], [None, None])
        with self.assertRaises(StopIteration) as ended:
            next(steps)
        self.assertEqual(ended.exception.value, 2 * AT_ONCE + 5)

    def test_no_system(self) -> None:
        """Where there is no such file system, nothing is shown."""
        self.assertEqual(list(ProcessMetrics(Path(self.mktemp())).families()), [])

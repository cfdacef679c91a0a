"""The page of memory that workers share."""

from __future__ import annotations

import os

from twisted.trial.unittest import SynchronousTestCase

from ingress.workers.shared_page import SharedPage


class SharedPageTests(SynchronousTestCase):
    """``SharedPage``, in one process and in two."""

    def test_rows(self) -> None:
        """What a worker says stands in its own row alone, until that is cleared."""
        page = SharedPage(3)
        row = page.row(1)
        row.count(17)
        row.pulse(True)
        row.accept(True)
        self.assertEqual([page.row(number).connections for number in range(3)], [0, 17, 0])
        self.assertTrue(row.beat and row.is_late and row.accepts)
        row.pulse(False)
        self.assertFalse(row.is_late)
        page.clear(1)
        self.assertFalse(row.beat or row.is_late or row.accepts or row.connections)

    def test_processes(self) -> None:
        """What a child writes its parent reads."""
        page = SharedPage(2)
        pid = os.fork()
        if pid == 0:
            page.row(1).count(5)
            os._exit(0)
        os.waitpid(pid, 0)
        self.assertEqual(page.row(1).connections, 5)

"""The benchmark of restarts, with few requests."""

from __future__ import annotations

import os
import sys

from twisted.internet.utils import getProcessOutputAndValue
from twisted.trial.unittest import TestCase

from tests.fakes.processes import ROOT


class RestartTests(TestCase):
    """Ours with two workers."""

    timeout = 400

    async def test_nothing_of_others(self) -> None:
        """A worker that is killed loses nothing of the other one's, on eight kinds of connections; a change loses nothing."""
        command = ["-m", "bench.disruptions.restarts", "--only=kill-worker,reload", "--targets=ours-2"]
        # Beside other tests of the same machine a worker may be so late that it refuses requests, as it should.
        few = ["--unhurried", "--rate=20", "--clients=4", "--seconds=1"]
        out, errors, status = await getProcessOutputAndValue(
            sys.executable,
            [*command, *few],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            path=str(ROOT),
        )
        said = out.decode()
        self.assertEqual((status, errors), (0, b""), said)
        self.assertIn("lost of ours what may not be lost: nothing\n", said)
        self.assertNotIn("not by itself", said)

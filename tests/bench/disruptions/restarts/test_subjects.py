"""How the proxies are started that are killed and replaced."""

from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from bench.disruptions.restarts.configurations import Site
from bench.disruptions.restarts.subjects import Ours
from bench.disruptions.takeover.loads import NAME, Ports
from bench.setup.certificate import write_key_pair
from bench.setup.processes import Processes


class OursTests(SynchronousTestCase):
    """``Ours``."""

    def test_unhurried(self) -> None:
        """Where the machine has other things to do it has more time, and refuses nobody for want of it; else all is as by default."""
        folder = Path(self.mktemp())
        folder.mkdir()
        site = Site(folder, Ports(1, 2), 3, 4, write_key_pair(folder, (NAME,)))
        with Processes.logging_to(folder) as processes:
            usual, unhurried = (Ours(site, processes, 2, unhurried=one) for one in (False, True))
            self.assertEqual(set(unhurried.command()) - set(usual.command()), {"--overload-after=0"})
            self.assertEqual(set(usual.command()) - set(unhurried.command()), set())
            self.assertGreater(unhurried.patience, 2 * usual.patience)

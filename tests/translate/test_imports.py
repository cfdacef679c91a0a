"""What is imported to read, translate and describe: ``lint`` and ``explain`` are to answer at once."""

import pkgutil
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("annotations", "gateway_filters", "routing", "translate")
FOREIGN = {"twisted", "zope", "kubernetes", "yaml", "asyncio", "http", "urllib3", "prometheus_client"}
MOST_MODULES = 220
"""Beside our own, those of the standard library included; an interpreter with attrs alone has some 150.  Seconds are for people to measure."""

SCRIPT = """
import importlib, sys, time
began = time.perf_counter()
for name in sys.argv[1:]:
    importlib.import_module(name)
print(*sorted(sys.modules))
print(f"{len(sys.modules)} modules in {time.perf_counter() - began:.3f} s", file=sys.stderr)
"""


def modules() -> list[str]:
    """Return the contract of filters, and all modules of the rooms that make a snapshot."""
    found = ["ingress.filters"]
    for room in ROOMS:
        walked = pkgutil.walk_packages([str(ROOT / "ingress" / room)], f"ingress.{room}.")
        found += [one.name for one in walked if not one.ispkg]
    return found


class ImportTests(SynchronousTestCase):
    """What comes along."""

    def test_neither_twisted_nor_kubernetes(self) -> None:
        """Specs, families and translation import neither Twisted nor ``kubernetes``, and not too much of anything else."""
        self.assertGreater(len(modules()), 60)
        command = [sys.executable, "-c", SCRIPT, *modules()]
        done = subprocess.run(command, capture_output=True, check=True, text=True, cwd=ROOT)
        found = done.stdout.split()
        self.assertEqual(FOREIGN & {name.partition(".")[0] for name in found}, set())
        self.assertLess(len([name for name in found if not name.startswith("ingress")]), MOST_MODULES)

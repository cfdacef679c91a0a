"""What is imported to read, translate and describe: ``lint`` and ``explain`` are to answer at once."""

import pkgutil
import subprocess
import sys
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("annotations", "gateway_filters", "routing", "translate")
FOREIGN = {
    "twisted",
    "zope.interface",
    "kubernetes",
    "yaml",
    "asyncio",
    "http",
    "urllib3",
    "prometheus_client",
}
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
        # Of two names, since old versions of zope.interface have zope itself there in every process.
        brought = {".".join(name.split(".")[:size]) for name in found for size in (1, 2)}
        self.assertEqual(FOREIGN & brought, set())
        self.assertLess(len([name for name in found if not name.startswith("ingress")]), MOST_MODULES)

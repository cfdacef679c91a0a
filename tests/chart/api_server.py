"""Run the tests of the chart that need an API server, beside one of their own, in a network of their own.

``python -m tests.chart.api_server`` is what ``make test-helm CLUSTER=1`` does: the API server is that of ``make conformance``, which
Go builds once.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from conformance import binaries, control_plane, network
from conformance.__main__ import WORK
from conformance.processes import Processes

KUBECONFIG: Final = "TXINGRESS_TEST_CHART_KUBECONFIG"
_TESTS: Final = "tests.chart.test_cluster"


def main() -> int:
    """The exit status of the tests."""
    cache = Path(os.environ.get("CONFORMANCE_CACHE") or WORK / "cache").resolve()
    programs = binaries.api_server_programs(cache, os.environ)
    if not os.environ.get(network.INSIDE):
        os.environ[network.INSIDE] = "1"
        kinds = (
            ["--net", "--mount"] if os.geteuid() == 0 else ["--net", "--mount", "--user", "--map-root-user"]
        )
        os.execvp("unshare", ["unshare", *kinds, "--", sys.executable, "-m", "tests.chart.api_server"])
    network.set_up()
    with tempfile.TemporaryDirectory() as folder, Processes(Path(folder)) as processes:
        plane = control_plane.start(programs, processes, Path(folder))
        environment = {**os.environ, KUBECONFIG: str(plane.kubeconfig)}
        command = [sys.executable, "-m", "twisted.trial", "--temp-directory", f"{folder}/trial", _TESTS]
        return subprocess.run(command, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())

"""How long another client waits beside what a script does, compared with how long it waits at rest."""

from typing import Final

from bench.disruptions.faults.checks import Checks
from bench.disruptions.faults.visitors import Probe

TIMES_REST: Final = 3
QUIET_MS: Final = 5.0
"""Below this, what is measured is when the client itself has its turn, as it shares a processor with whoever floods."""
REQUIRED: Final = f"another's p99 within {TIMES_REST} times rest, or {QUIET_MS:g} ms"


def check_p99(checks: Checks, rest: Probe, probe: Probe) -> None:
    """Judge how long *probe* waited, by how long it was at *rest*."""
    checks.note("p99 of another client at rest", rest.p99_ms, "ms")
    checks.at_most("beside it", probe.p99_ms, max(TIMES_REST * rest.p99_ms, QUIET_MS), "ms")

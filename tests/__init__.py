"""The tests of txingress.

``INGRESS_EXAMPLES=10`` tries properties with ten times as many examples as they name (``tests/properties.py``).
"""

import atexit
import gc
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

# What gRPC would do at each fork of a process that has used it locks up forks of the child; no child of tests uses it.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")


def _set_hypothesis() -> None:
    """Have properties tried as is fit for this suite."""
    from hypothesis import HealthCheck, settings
    from hypothesis.configuration import set_hypothesis_home_dir

    from tests.properties import examples

    # Three seconds of each process went to Unicode's tables and to the constants of our modules: trial has a new folder each
    # time, where what was found before is missing.
    set_hypothesis_home_dir(Path(__file__).parents[1] / ".hypothesis")
    # On a busy machine examples take their time; how long they do is not what properties are about.
    settings.register_profile(
        "txingress",
        deadline=None,
        # Each run is one of its own: what failed in one before is in its output.
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=examples(30),
    )
    settings.load_profile("txingress")


def _draw_examples() -> None:
    """Work out what examples are drawn from, which is kept for all processes: seconds that each of them would need."""
    from hypothesis import given, strategies

    given(strategies.lists(strategies.text()))(lambda texts: None)()


# Programs that tests start are some of this, too, and importing hypothesis would be most of their start.
if "unittest" in sys.modules:
    # Fuzzers and benchmarks, which use some of this, are installed without it.
    with suppress(ImportError):
        _set_hypothesis()

# Before each test trial empties the registry of warnings of each of 3,000 modules, which takes half a millisecond.  Filters that
# change, as trial's do right after that, make these registries void by themselves.
_trial: Any = sys.modules.get("twisted.trial._synctest")
if _trial is not None:
    _trial._setWarningRegistryToNone = lambda modules: None
    from tests.captured_logs import captured_logs
    from twisted import logger

    logger.capturedLogs = captured_logs
    # A seventh of the time went to walks for garbage, of which there is little: this process is no controller, and ends soon.  What
    # is started by tests sets its own pace.
    gc.set_threshold(100_000, 20, 1000)
    # Nor is all that was imported taken apart at the end.
    atexit.register(gc.freeze)
    _disttrial: Any = sys.modules.get("twisted.trial._dist.disttrial")
    if _disttrial is not None:
        from tests.forking import fork_processes
        from tests.handing_out import hand_out_modules

        hand_out_modules(_disttrial, sys.modules["twisted.trial._dist.worker"], _draw_examples)
        fork_processes(_disttrial)

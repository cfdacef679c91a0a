"""The controller, in a process that also measures itself: its CPU time, its memory, the garbage collector, and how long its reactor stands still.

It is ``twistd ingress`` without ``twistd``.  Commands come as lines on standard input, each is
answered with a line of JSON: ``look`` says what was measured, ``report`` also begins anew, ``timer on``
and ``timer off`` decide whether a timer of a millisecond watches the reactor, which costs about
2 % of a core.
"""

import gc
import json
import os
import sys
from threading import Thread
from time import monotonic, process_time
from typing import Any

from twisted.logger import globalLogBeginner, textFileLogObserver

from ingress.cluster_side import source_of
from ingress.metrics.metrics import Metrics
from ingress.process.interpreter import Interpreter
from ingress.service import IngressService
from ingress.tap import Options

_TICK_SECONDS = 0.001


class Collections:
    """How long the garbage collector took, with what the process does about it: the longest time, and all of it."""

    def __init__(self) -> None:
        self.longest = self.total = 0.0
        self._began = 0.0

    def __call__(self, phase: str, about: dict[str, int]) -> None:
        """Called by the collector, behind whoever else is."""
        if phase == "start":
            self._began = monotonic()
            return
        took = monotonic() - self._began
        self.longest = max(self.longest, took)
        self.total += took


class Subject:
    """A service with a timer beside it."""

    def __init__(self, reactor: Any, service: IngressService) -> None:
        self._reactor = reactor
        self._service = service
        self._is_ticking = False
        self._last = monotonic()
        self._last_cpu = process_time()
        self._longest = 0.0
        self._longest_cpu = 0.0
        self._ready: dict[str, float] | None = None
        self._began = process_time()
        self._began_at = monotonic()
        self._collections = Collections()
        gc.callbacks.append(self._collections)

    def start(self, is_ticking: bool) -> None:
        """Start service and timer."""
        self._service.startService()
        self._ticking(is_ticking)
        self._reactor.callWhenRunning(self._look)
        Thread(target=self._listen, daemon=True).start()

    def _ticking(self, wanted: bool) -> None:
        self._longest = self._longest_cpu = 0.0
        self._last, self._last_cpu = monotonic(), process_time()
        if wanted and not self._is_ticking:
            self._reactor.callLater(_TICK_SECONDS, self._tick)
        self._is_ticking = wanted

    def _tick(self) -> None:
        now, now_cpu = monotonic(), process_time()
        stall = now - self._last - _TICK_SECONDS
        self._longest = max(self._longest, stall)
        self._longest_cpu = max(self._longest_cpu, min(stall, now_cpu - self._last_cpu))
        self._last, self._last_cpu = now, now_cpu
        if self._is_ticking:
            self._reactor.callLater(_TICK_SECONDS, self._tick)

    def _look(self) -> None:
        """See whether the first snapshot is live."""
        if self._service.missing():
            self._reactor.callLater(0.01, self._look)
        else:
            self._ready = self._measured()

    def _measured(self) -> dict[str, float]:
        return {
            "cpu_seconds": process_time() - self._began,
            "wall_seconds": monotonic() - self._began_at,
            "resident_mib": _resident_mib(),
            "stall_ms": self._longest * 1000,
            # Of a stall, what this process did in it: on a busy machine others take their share.
            "stall_cpu_ms": self._longest_cpu * 1000,
            "collector_longest_ms": self._collections.longest * 1000,
            "collector_seconds": self._collections.total,
        }

    def _listen(self) -> None:
        """Thread: take commands."""
        for line in sys.stdin:
            self._reactor.callFromThread(self._obey, line.strip())
        self._reactor.callFromThread(self._reactor.stop)

    def _obey(self, command: str) -> None:
        print(json.dumps({"ready": self._ready, "now": self._measured()}), flush=True)
        if command != "look":
            self._collections.longest = 0.0
            self._ticking({"timer on": True, "timer off": False}.get(command, self._is_ticking))


def _resident_mib() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def main(arguments: list[str]) -> None:
    """Run until standard input ends."""
    from twisted.internet import reactor  # noqa: TID251 - as a program, it is the one to choose

    is_ticking = arguments.pop(0) == "ticking"
    with open(arguments.pop(0), "w", encoding="utf-8") as log:
        globalLogBeginner.beginLoggingTo([textFileLogObserver(log)], redirectStandardIO=False)
        options = Options()
        options.parseOptions(arguments)
        settings = options.settings()
        metrics = Metrics()

        def failed(error: Exception) -> None:
            print(f"ingress: {error}", file=sys.stderr)
            reactor.callWhenRunning(reactor.stop)

        interpreter = Interpreter(reactor)
        source = source_of(settings, reactor, metrics)
        service = IngressService(settings, reactor, source, failed, metrics, interpreter.settle)
        interpreter.set_up()
        Subject(reactor, service).start(is_ticking)
        reactor.run()


if __name__ == "__main__":
    main(sys.argv[1:])

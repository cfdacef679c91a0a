"""What a forked process drops of the one that it was forked from."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from twisted.internet import reactor as global_reactor  # noqa: TID251 - it is what a child must not keep
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.workers.forking.fresh_process import (
    can_be_renewed,
    drop_descriptors,
    holders_of,
    ignore_signals,
    renew_reactor,
)


class FreshProcessTests(SynchronousTestCase):
    """A real child, which tells what it has."""

    def in_child(self, look: Callable[[], Any]) -> Any:
        """Return what *look*, called in a child, returns there."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                os.write(writing, json.dumps(look()).encode())
            finally:
                os._exit(0)
        os.close(writing)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        with open(reading, "rb") as pipe:
            return json.loads(pipe.read())

    def test_reactor(self) -> None:
        """The new reactor is of the same class, is the global one, and no module has the old one any more."""

        old, holders = global_reactor, holders_of(global_reactor)

        def look() -> list[Any]:
            new = renew_reactor(old, holders)
            holding = [name for name, module in sys.modules.items() if _holds(module, old)]
            from twisted.internet import reactor  # noqa: TID251 - whether it is the new one is the question

            return [type(new) is type(old), reactor is new, holding]

        self.assertEqual(self.in_child(look), [True, True, []])

    def test_works(self) -> None:
        """It runs, by an epoll set of its own, and knows nothing of what was scheduled with the old one."""
        call = global_reactor.callLater(3600, int)
        self.addCleanup(call.cancel)

        def look() -> list[Any]:
            new = renew_reactor(global_reactor, ())
            called: list[bool] = []
            new.callLater(0, called.append, True)
            new.callLater(0.001, new.stop)
            new.run(installSignalHandlers=False)
            return [called, len(new.getDelayedCalls())]

        self.assertEqual(self.in_child(look), [[True], 0])

    def test_signals(self) -> None:
        """Handlers of the parent are not the child's."""
        before = signal.signal(signal.SIGUSR1, lambda number, frame: os._exit(9))
        self.addCleanup(signal.signal, signal.SIGUSR1, before)

        def look() -> str:
            ignore_signals()
            os.kill(os.getpid(), signal.SIGUSR1)
            return "lives"

        self.assertEqual(self.in_child(look), "lives")

    def test_descriptors(self) -> None:
        """What is not kept is closed, and its number leads nowhere; so whoever closes it once more harms nobody."""
        kept, dropped = os.pipe(), os.pipe()
        for descriptor in (*kept, *dropped):
            self.addCleanup(os.close, descriptor)
        telling = max(int(name) for name in os.listdir("/dev/fd")) + 20

        def look() -> list[str]:
            drop_descriptors({*kept, *range(dropped[1] + 1, telling)})
            return [os.readlink(f"/dev/fd/{number}") for number in (*kept, *dropped)]

        ours, theirs, *gone = self.in_child(look)
        self.assertTrue(ours.startswith("pipe:") and theirs == ours)
        self.assertEqual(gone, [os.devnull] * 2)

    def test_others(self) -> None:
        """A reactor that is none of those that can be made anew is refused."""
        self.assertTrue(can_be_renewed(global_reactor))
        self.assertFalse(can_be_renewed(Clock()))


def _holds(module: object, reactor: object) -> bool:
    return any(value is reactor for value in getattr(module, "__dict__", {}).values())

"""What is done to a proxy while clients ask it: each act a row of the table."""

import os
import signal
from collections.abc import Callable
from time import monotonic

from attrs import frozen

from bench.disruptions.restarts import kernel
from bench.disruptions.restarts.subjects import Subject
from bench.setup.processes import pause

ENDS = 5
FREEZE_SECONDS = 8.0
"""Then the process goes on, if nobody has ended it."""


def _victim(subject: Subject, number: signal.Signals) -> tuple[int, set[int]]:
    """Stop a worker, and then send it *number*; return it, and whose connections it had."""
    victim = max(subject.workers)
    # Nothing is accepted between the look and the end.
    os.kill(victim, signal.SIGSTOP)
    subject.until(lambda: kernel.is_stopped(victim))
    ports = subject.site.ports
    own = kernel.clients(victim, (ports.http, ports.https))
    os.kill(victim, number)
    if number == signal.SIGKILL:
        subject.until(lambda: not kernel.runs(victim))
    return victim, own


def nothing(subject: Subject) -> set[int]:
    """Nothing is done."""
    pause(1.0)
    return set()


def kill_worker(subject: Subject) -> set[int]:
    """A worker is killed."""
    return _victim(subject, signal.SIGKILL)[1]


def kill_five(subject: Subject) -> set[int]:
    """Five workers in a row are killed, each as soon as all is as before."""
    own: set[int] = set()
    for number in range(ENDS):
        own |= kill_worker(subject)
        if number < ENDS - 1:
            subject.until(lambda: subject.is_whole)
    return own


def freeze_worker(subject: Subject) -> set[int]:
    """A worker is stopped."""
    victim, own = _victim(subject, signal.SIGSTOP)
    began = monotonic()
    while kernel.runs(victim) and monotonic() - began < FREEZE_SECONDS:
        pause(0.02)
    if kernel.runs(victim):
        os.kill(victim, signal.SIGCONT)
    return own


def kill_parent(subject: Subject) -> set[int]:
    """The parent is killed."""
    if subject.workers == [subject.root]:
        return kill_worker(subject)
    parent = subject.root
    os.kill(parent, signal.SIGKILL)
    subject.until(lambda: not kernel.runs(parent))
    return set()


def restart(subject: Subject) -> set[int]:
    """The parent is told to stop, and is started anew as soon as it has ended."""
    old = subject.root
    os.kill(old, subject.stop_signal)
    subject.until(lambda: not kernel.runs(old))
    return set()


def exchange(subject: Subject) -> set[int]:
    """The program is exchanged in its place."""
    subject.exchange()
    return set()


def take_over(subject: Subject) -> set[int]:
    """Another process, with other options, takes over."""
    subject.take_over()
    return set()


def replace_workers(subject: Subject) -> set[int]:
    """All workers are replaced."""
    subject.replace_workers()
    return set()


def reload(subject: Subject) -> set[int]:
    """The configuration has one host more."""
    subject.add_host()
    return set()


ALL = ("ours-1", "ours-2", "nginx", "haproxy")
_MANY = ("ours-2", "nginx", "haproxy")
_OURS = ("ours-1", "ours-2")


@frozen
class Act:
    """A row.  *loses_nothing* are those of ours that may lose nothing but what a worker that ended had, and WebSockets after the grace."""

    name: str
    play: Callable[[Subject], set[int]]
    columns: tuple[str, ...] = ALL
    loses_nothing: tuple[str, ...] = _OURS
    ends_websockets: bool = False
    ours_activated: bool = False
    ours_first: bool = False
    exchanges: bool = False

    @property
    def sentence(self) -> str:
        """What is done."""
        return (self.play.__doc__ or "").rstrip(".")


ACTS = (
    Act("nothing", nothing),
    Act("kill-worker", kill_worker, loses_nothing=("ours-2",)),
    Act("kill-five", kill_five, loses_nothing=("ours-2",)),
    Act("freeze-worker", freeze_worker, loses_nothing=("ours-2",)),
    Act("kill-parent", kill_parent, _MANY, loses_nothing=()),
    Act("exchange", exchange, ends_websockets=True, exchanges=True),
    Act("take-over", take_over, _OURS, ends_websockets=True),
    Act("replace-workers", replace_workers, _MANY, ends_websockets=True, ours_first=True),
    Act("restart", restart, ends_websockets=True, ours_activated=True),
    Act("reload", reload),
)

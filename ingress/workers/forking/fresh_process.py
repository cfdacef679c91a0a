"""What a forked process drops of the one it was forked from.

A child of the parent has all that the parent had: handlers of signals, descriptors, a reactor with an epoll set of its own that
both would change, observers of the log.  Here it gets rid of them.  Nothing that was registered for the parent's end is run in
a child, since children end by ``os._exit``.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Collection, Iterable
from typing import Any, Final

import twisted.internet
from twisted.internet.asyncioreactor import AsyncioSelectorReactor
from twisted.internet.main import installReactor
from twisted.internet.posixbase import PosixReactorBase
from twisted.logger import ILogObserver, globalLogPublisher

_IGNORED: Final = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGQUIT,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGPIPE,
)
"""Terminals send some of them to all processes in front, and systemd to all of a unit; the parent says what is to be done."""

_STANDARD: Final = 3
_GLOBAL_REACTOR: Final = "twisted.internet.reactor"

_left_behind: list[object] = []
"""Reactors of processes that this one was forked from.  Were they freed, they would close numbers that are others' by now."""


def can_be_renewed(reactor: object) -> bool:
    """Whether a child can have a new reactor like *reactor*."""
    kind = type(reactor)
    # Those of graphical toolkits wrap a loop that belongs to the library.
    is_known = kind is AsyncioSelectorReactor or kind.__module__ in (
        "twisted.internet.epollreactor",
        "twisted.internet.pollreactor",
        "twisted.internet.selectreactor",
        "twisted.internet.kqreactor",
    )
    return is_known and isinstance(reactor, PosixReactorBase) and hasattr(os, "fork")


def ignore_signals() -> None:
    """Leave signals to the parent."""
    signal.set_wakeup_fd(-1)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def drop_descriptors(kept: Collection[int]) -> None:
    """Close what is neither standard input, output nor error, nor *kept*.

    The numbers stay taken, by the null device: objects of the parent's, which are never used again, still
    believe that they have them, and would close what came in their place.
    """
    nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    for name in os.listdir("/dev/fd"):
        descriptor = int(name)
        if descriptor < _STANDARD or descriptor == nothing or descriptor in kept:
            continue
        try:
            os.dup2(nothing, descriptor, inheritable=False)
        except OSError:
            continue  # That of the listing itself, which is closed by now.
    os.close(nothing)


def log_to(observer: ILogObserver) -> None:
    """Have *observer*, and nobody else, told of all that is logged."""
    for other in tuple(globalLogPublisher._observers):
        globalLogPublisher.removeObserver(other)
    globalLogPublisher.addObserver(observer)


def holders_of(reactor: object) -> tuple[tuple[Any, str], ...]:
    """Return each module that took hold of *reactor* when it was imported, as ``twisted.web.proxy`` does, and under which name.

    To look costs a reference to whatever there is in any module, and so, in a child, a copy of most of its memory.
    """
    return tuple(
        (module, attribute)
        for name, module in tuple(sys.modules.items())
        if name != _GLOBAL_REACTOR and module is not twisted.internet
        for attribute, value in tuple(getattr(module, "__dict__", {}).items())
        if value is reactor
    )


def renew_reactor(old: Any, holders: Iterable[tuple[Any, str]]) -> Any:
    """Return a new reactor of the class of *old*, which is the global one from now on, and that of the *holders* of the old one."""
    _left_behind.append(old)
    kind: Any = type(old)
    sys.modules.pop(_GLOBAL_REACTOR, None)
    if kind is AsyncioSelectorReactor:
        asyncio.set_event_loop(asyncio.new_event_loop())
    new = kind()
    installReactor(new)
    for module, attribute in holders:
        setattr(module, attribute, new)
    return new

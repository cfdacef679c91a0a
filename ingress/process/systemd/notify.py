"""Says how the process is to the service manager that started it: systemd, or what speaks as it does (``sd_notify(3)``).

A message is one datagram of ``NAME=value`` lines to the socket that the environment names.  Nothing here waits or raises: what
cannot be sent is said again a second later, each field with its newest value, so that little is kept however long nobody listens.
The variables are taken out of the environment, since whoever this process starts is not to speak for it.

    started ──▶ ready ─┬─▶ stopping ──▶ the end
                       └─▶ handed over: another process speaks from now on
"""

import socket
from collections.abc import MutableMapping
from typing import Any, Final, Self

from twisted.internet.interfaces import IDelayedCall
from twisted.internet.task import LoopingCall
from twisted.logger import Logger

AGAIN_SECONDS: Final = 1.0
"""How long it takes until what could not be sent is sent again."""
LEAST_WATCHDOG_SECONDS: Final = 0.1
"""The shortest time between two signs of life, whatever is asked for."""
MOST_STATUS_CHARACTERS: Final = 400
"""Of a status; it is one line of ``systemctl status``, and a message has 4,096 bytes."""
EXTENSION_SECONDS: Final = 30.0
"""How much time an extension asks for, from when it is asked."""
_LONGEST_ADDRESS: Final = 107

log = Logger()


def address_of(name: str) -> str | None:
    """Return the address of the socket that ``NOTIFY_SOCKET`` calls *name*: a path, or an abstract name behind ``@``."""
    if not name.startswith(("/", "@")) or len(name) < 2 or len(name.encode()) > _LONGEST_ADDRESS:
        return None
    return f"\0{name[1:]}" if name.startswith("@") else name


class Systemd:
    """What started the process and waits for word of it, at the socket that ``NOTIFY_SOCKET`` calls *name*.

    It wants a sign of life every *watchdog_seconds*, if these are given.  Without a name there is nobody, and nothing is said.
    """

    def __init__(self, name: str = "", watchdog_seconds: float | None = None) -> None:
        self._name = name
        self._address = address_of(name)
        self._watchdog_seconds = watchdog_seconds
        self._owed: dict[str, str] = {}
        """What could not be sent yet; a field has its newest value."""
        self._clock: Any = None
        self._again: IDelayedCall | None = None
        self._watchdog = LoopingCall(self._live)
        self._is_handed_over = self._has_failed = False
        if name and self._address is None:
            log.warn(
                "NOTIFY_SOCKET {name!r} is neither a path nor an abstract name: nothing is told", name=name
            )

    def __repr__(self) -> str:
        return f"<Systemd {self._name or 'nobody'}>"

    @classmethod
    def taken_from(cls, environment: MutableMapping[str, str], pid: int) -> Self:
        """Take what *environment* says of a service manager out of it; *pid* is this process."""
        name = environment.pop("NOTIFY_SOCKET", "")
        microseconds = environment.pop("WATCHDOG_USEC", "")
        watched = environment.pop("WATCHDOG_PID", "")
        seconds = None
        if microseconds.isascii() and microseconds.isdigit() and watched in ("", str(pid)):
            seconds = int(microseconds[:18]) / 1e6 or None
        return cls(name, seconds)

    @property
    def is_there(self) -> bool:
        """Whether anybody waits for word of this process."""
        return self._address is not None

    def environment(self) -> dict[str, str]:
        """Return what a process is to have in its environment that will speak after this one."""
        if self._address is None:
            return {}
        variables = {"NOTIFY_SOCKET": self._name}
        if self._watchdog_seconds is not None:
            variables["WATCHDOG_USEC"] = str(round(self._watchdog_seconds * 1e6))
        return variables

    def start(self, clock: Any) -> None:
        """Give signs of life from now on, twice as often as is asked; *clock* is the reactor, so that one that hangs gives none."""
        self._clock = clock
        if self._address is None:
            return
        self._send()
        if self._watchdog_seconds is not None:
            self._watchdog.clock = clock
            self._watchdog.start(max(self._watchdog_seconds / 2, LEAST_WATCHDOG_SECONDS)).addErrback(
                lambda failure: log.failure("Signs of life ended, which is a bug", failure=failure)
            )

    def stop(self) -> None:
        """Give no sign of life any more: the process is at its very end."""
        if self._watchdog.running:
            self._watchdog.stop()
        if self._again is not None:
            self._again.cancel()
            self._again = None
            self._clock = None
            self._send()

    # What is said

    def status(self, text: str) -> None:
        """Say in one line what the process does now."""
        self._tell(STATUS=_line(text))

    def ready(self, text: str) -> None:
        """Say that the process serves; *text* is the status."""
        self._tell(READY="1", STATUS=_line(text))

    def stopping(self, text: str) -> None:
        """Say that the process begins to end."""
        self._tell(STOPPING="1", STATUS=_line(text))

    def extend(self, seconds: float = EXTENSION_SECONDS) -> None:
        """Ask that the start, or the end, may take this much longer from now on."""
        self._tell(EXTEND_TIMEOUT_USEC=str(round(seconds * 1e6)))

    def hand_over(self, pid: int, text: str) -> None:
        """Say that *pid*, which serves, is the process to watch from now on; this one says nothing any more."""
        self._tell(MAINPID=str(pid), READY="1", STATUS=_line(text))
        self._is_handed_over = True
        if self._watchdog.running:
            self._watchdog.stop()

    def _live(self) -> None:
        self._tell(WATCHDOG="1")

    def _tell(self, **fields: str) -> None:
        if self._address is None or self._is_handed_over:
            return
        if "STOPPING" in fields:
            # Systemd takes the fields of a message together.
            self._owed.pop("READY", None)
        self._owed.update(fields)
        self._send()

    def _send(self) -> None:
        if not self._owed:
            return
        message = "\n".join(f"{name}={value}" for name, value in self._owed.items())
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.setblocking(False)
                sock.sendto(message.encode("utf-8", "replace"), self._address or "")
        except OSError as error:
            self._failed(error)
            return
        self._owed.clear()
        self._has_failed = False

    def _failed(self, error: OSError) -> None:
        if not self._has_failed:
            self._has_failed = True
            log.warn(
                "the service manager at {name} is not reached: {error}; trying again every {seconds:g} s",
                name=self._name,
                error=error.strerror,
                seconds=AGAIN_SECONDS,
            )
        if self._again is None and self._clock is not None:
            self._again = self._clock.callLater(AGAIN_SECONDS, self._try_again)

    def _try_again(self) -> None:
        self._again = None
        self._send()


def _line(text: str) -> str:
    """Return *text* as one line without anything that ends it or moves a terminal."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(shown.split())[:MOST_STATUS_CHARACTERS]

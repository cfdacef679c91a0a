"""Sockets that were open before the process: those that systemd listens on for it (``systemd.socket(5)``, ``sd_listen_fds(3)``).

Descriptions such as ``systemd:name=http`` and ``systemd:index=0`` stand for them.  Each is given to one listener, which owns
it then; no program that this process runs gets any.
"""

import fcntl
import socket
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Final, Self

from twisted.logger import Logger

from ingress.errors import StartError
from ingress.model.frozen import frozen
from ingress.process.systemd.descriptions import FAMILIES, AskedSocket, is_handed_over, read_handed_over
from ingress.wording import first_of, number_of

FIRST_DESCRIPTOR: Final = 3
"""The number of the first one that is handed over; the others follow it."""
UNNAMED: Final = "unknown"
"""What ``sd_listen_fds_with_names`` calls a socket that has no name."""
_NAMED: Final = 10

log = Logger()


@frozen
class _Known:
    """A descriptor that was handed over: its number, its name, and the address and TCP port that it listens on, if it does."""

    descriptor: int
    name: str
    bound_to: tuple[str, int] | None


class HandedOver:
    """The sockets that were handed over to this process, and to which listener each went."""

    def __init__(
        self, descriptors: Iterable[int] = (), names: Sequence[str] = (), why_none: str = ""
    ) -> None:
        """*descriptors* are owned from now on; *names* are theirs, or none; *why_none* says why there are none."""
        self._known = tuple(
            _Known(one, names[number] if number < len(names) else UNNAMED, _bound_to(one))
            for number, one in enumerate(descriptors)
        )
        self._why_none = why_none or "no socket was handed over to this process"
        self._taken: dict[int, str] = {}
        self._learned: dict[str, tuple[str, int]] = {}
        for one in self._known:
            fcntl.fcntl(one.descriptor, fcntl.F_SETFD, fcntl.FD_CLOEXEC)

    def __repr__(self) -> str:
        return f"<HandedOver {', '.join(one.name for one in self._known) or 'nothing'}>"

    @classmethod
    def taken_from(
        cls, environment: MutableMapping[str, str], pid: int, first: int = FIRST_DESCRIPTOR
    ) -> Self:
        """Take what *environment* says of sockets out of it; *pid* is this process, *first* the number of the first one.

        To be called before Twisted reads any description: it takes the same variables.
        """
        count = environment.pop("LISTEN_FDS", "")
        whose = environment.pop("LISTEN_PID", "")
        names = environment.pop("LISTEN_FDNAMES", "")
        environment.pop("LISTEN_PIDFDID", "")
        if not count:
            return cls()
        if whose != str(pid):
            return cls(
                why_none=f"the sockets of LISTEN_FDS are for process {whose[:20]!r}, and this is {pid}"
            )
        if not (count.isascii() and count.isdigit() and 0 < len(count) < 10):
            return cls(why_none=f"LISTEN_FDS={count[:20]!r} is no number of sockets")
        descriptors = []
        for descriptor in range(first, first + int(count)):
            try:
                fcntl.fcntl(descriptor, fcntl.F_GETFD)
            except OSError:
                break
            descriptors.append(descriptor)
        return cls(
            descriptors, names.split(":") if names else (), why_none=f"none of LISTEN_FDS={count} is open"
        )

    def take(self, description: str) -> socket.socket | None:
        """Return the socket that *description* stands for, which the caller owns then; None where it stands for none.

        Raises ``StartError``, in one line, where there is no such socket, or it cannot be listened on.
        """
        if not is_handed_over(description):
            return None
        try:
            number, sock = self._found(description)
        except (ValueError, OSError) as error:
            raise StartError(f"cannot listen on {description}: {error}") from error
        self._taken[number] = description
        sock.setblocking(False)
        return sock

    def bound_to(self, description: str) -> tuple[str, int] | None:
        """Return the address and TCP port of the socket that *description* stands for, taken or not; None where there is none."""
        if description in self._learned:
            return self._learned[description]
        try:
            return self._known[self._number(read_handed_over(description))].bound_to
        except ValueError:
            return None

    def learn(self, bound: Mapping[str, tuple[str, int]]) -> None:
        """Learn where the sockets of descriptions listen that were handed over to the process before this one."""
        self._learned.update((one, place) for one, place in bound.items() if is_handed_over(one))

    def tell_unused(self) -> None:
        """Say in the log which sockets no listener has: who connects there waits for nothing."""
        unused = [one.name for number, one in enumerate(self._known) if number not in self._taken]
        if unused:
            log.warn(
                "{count} handed over and no option names them: {names}; who connects there is not answered",
                count=number_of(len(unused), "socket was", "sockets were"),
                names=first_of(unused, _NAMED),
            )

    def _found(self, description: str) -> tuple[int, socket.socket]:
        asked = read_handed_over(description)
        number = self._number(asked)
        if number in self._taken:
            raise ValueError(f"{asked} is listened on as {self._taken[number]} already")
        descriptor = self._known[number].descriptor
        try:
            sock = socket.socket(fileno=descriptor)
        except OSError as error:
            raise ValueError(f"{asked} is no socket: {error.strerror}") from error
        fault = _fault(sock, asked)
        if fault:
            sock.detach()
            raise ValueError(f"{asked} {fault}")
        return number, sock

    def _number(self, asked: AskedSocket) -> int:
        """Return which of those that were handed over is asked for; raises ``ValueError``."""
        if not self._known:
            raise ValueError(self._why_none)
        numbers = [n for n, one in enumerate(self._known) if asked.name is None or one.name == asked.name]
        if not numbers:
            names = first_of(sorted({one.name for one in self._known}), _NAMED)
            raise ValueError(f"no socket of this name was handed over; there are {names}")
        if asked.index is None:
            if len(numbers) > 1:
                raise ValueError(
                    f"{len(numbers)} sockets have this name: tell them apart by :index=0 to :index={len(numbers) - 1}"
                )
            return numbers[0]
        if asked.index >= len(numbers):
            raise ValueError(
                f"there is no socket {asked.index}: {number_of(len(numbers), 'was', 'were')} handed over, counted from 0"
            )
        return numbers[asked.index]


def _bound_to(descriptor: int) -> tuple[str, int] | None:
    """Return the address and TCP port of a descriptor; None where it has none."""
    try:
        sock = socket.socket(fileno=descriptor)
    except OSError:
        return None
    try:
        name = sock.getsockname()
    except OSError:
        return None
    finally:
        sock.detach()
    return (name[0], name[1]) if sock.family is not socket.AF_UNIX and isinstance(name, tuple) else None


def _fault(sock: socket.socket, asked: AskedSocket) -> str:
    """Say why *sock* is not what is asked for; empty where it is."""
    if asked.domain is not None and sock.family is not FAMILIES[asked.domain]:
        return f"is of {sock.family.name[3:]}, not of {asked.domain}: leave the domain out"
    if sock.family not in FAMILIES.values() or sock.type is not socket.SOCK_STREAM:
        return "is not one for streams (ListenStream=)"
    if not sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        return "does not listen; it may be a connection (Accept=yes)"
    return ""

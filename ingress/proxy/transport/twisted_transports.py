"""Twisted's TCP transports, with one change: ``write`` sends at once.

A stock transport queues what is written, asks the reactor to watch for
writability, and sends in a later turn: two system calls and a turn for nothing
when the socket buffer has room, which is nearly always.  These try ``send``
first and queue what was not taken, so everything else (back-pressure by
producers, half-close, errors) stays Twisted's own.

All of Twisted's POSIX reactors run them; on others the stock transports serve, with
the same behavior.
"""

from typing import Any

from twisted.internet import main, tcp

from ingress.proxy.transport.accepting import PausablePort


class _SendsAtOnce:
    """Mixed into a ``tcp.Connection``: send what the socket takes, queue the rest."""

    _write_failed = False

    def write(self, octets: bytes) -> None:
        """Send *octets* now, or as soon as the socket takes them."""
        transport: tcp.Connection = self  # type: ignore[assignment]
        if (
            octets
            and transport.connected
            and not transport.disconnecting
            and not transport._writeDisconnected
            and not transport.dataBuffer
            and not transport._tempDataBuffer
        ):
            sent = transport.writeSomeData(octets)
            # Anything but a count is a lost connection: queueing lets the reactor notice it.
            if not isinstance(sent, int):
                self._write_failed = True
            elif sent > 0:
                if sent == len(octets):
                    return
                octets = octets[sent:]
        super().write(octets)  # type: ignore[misc]

    def doRead(self) -> Any:
        """Read; what looks like an end behind a failed write is a loss, whose error the write has taken."""
        why = super().doRead()  # type: ignore[misc]
        return main.CONNECTION_LOST if self._write_failed and why is main.CONNECTION_DONE else why


def _nothing() -> None:
    """What a connection that could not be made does if the reactor has another event of it."""


class DirectServer(_SendsAtOnce, tcp.Server):
    """A downstream connection."""


class DirectClient(_SendsAtOnce, tcp.Client):
    """An upstream connection."""

    def failIfNotConnected(self, err: Any) -> None:
        super().failIfNotConnected(err)
        if not self.connected:
            # While it connects, these are bound methods of its own: a cycle, and nobody breaks it if it never does.
            vars(self).update(doRead=_nothing, doWrite=_nothing)


class DirectPort(PausablePort):
    """A listening port whose connections are ``DirectServer``."""

    transport = DirectServer

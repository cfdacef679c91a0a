"""Bases: the contexts that TLS connections of clients begin on, and the ticket keys that they have.

A base shows no certificate.  Once the client has said hello, and be it without a server name, whoever accepted the connection
switches it to another context (``ingress.tls.contexts``).  Versions, groups and ticket keys stay those of the base.

OpenSSL makes ticket keys with each context, and nothing that cryptography offers can read or set them (``docs/tls.md``).  So
processes have the same keys only if they were forked from one that had made the context.  Workers are: a *row* of
contexts is made beforehand, in the process that they are all forked from, and each context has its turn by a clock that all
processes of a machine share.  Nobody has to tell anybody which one it is, a worker that is forked later knows as well, and the
keys are nowhere but in the memory of these processes.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from socket import socket
from typing import Final

from attrs import field, frozen
from OpenSSL import SSL
from twisted.logger import Logger

from ingress.identity.certificates import Certificate
from ingress.tls.binding import Choose, ServerConnection, bind_sessions, on_server_name
from ingress.tls.generated_certificate import generate_certificate
from ingress.tls.profile import GROUPS, settle_profile

TICKET_KEYS_SECONDS: Final = 12 * 3600.0
"""How long a ticket key is used: whoever learns it can read what was resumed with it."""

ROW_LENGTH: Final = 360
"""Half a year.  A context takes 14 KiB, which all workers share, and 60 us to make."""

_NO_SESSIONS: Final = b"none"
"""Stands in a base for whose sessions are resumed, while no connection begins."""

_log = Logger()


class BaseRow:
    """Contexts for all workers that are forked from this process, *count* of them, made now.

    *seconds* is a clock that all processes of the machine share.
    """

    def __init__(self, seconds: Callable[[], float] = time.monotonic, count: int = ROW_LENGTH) -> None:
        self.seconds = seconds
        self._begun = seconds()
        self._contexts: list[SSL.Context | None] = [_new_context() for _ in range(count)]
        self._first = 0

    def take(self) -> tuple[SSL.Context, float] | None:
        """Return the context whose turn it is, and when that ends; None once the row is used up.

        Those whose turn is over are forgotten.
        """
        number = max(0, int((self.seconds() - self._begun) // TICKET_KEYS_SECONDS))
        for gone in range(self._first, min(number, len(self._contexts))):
            self._contexts[gone] = None
        self._first = max(self._first, number)
        if number >= len(self._contexts):
            return None
        context = self._contexts[number]
        assert context is not None, "a clock that all processes share does not go backwards"
        return context, self._begun + (number + 1) * TICKET_KEYS_SECONDS

    def __repr__(self) -> str:
        return f"<BaseRow, {max(0, len(self._contexts) - self._first)} of {len(self._contexts)} left>"


def _new_context() -> SSL.Context:
    return SSL.Context(SSL.TLS_SERVER_METHOD)


class BegunConnection(ServerConnection):
    """A connection that began on a base; *choose* decides how it goes on."""

    choose: Choose


class StreamConnection(BegunConnection):
    """A connection that carries a stream: no protocol is agreed on in its handshake."""


class Bases:
    """The base that connections begin on at present, of *least_version* and *groups*.

    Contexts come of *row*, if there is one.  *seconds* is a clock, for when there is none.
    """

    def __init__(
        self,
        least_version: int = SSL.TLS1_2_VERSION,
        groups: bytes = GROUPS,
        row: BaseRow | None = None,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._least_version = least_version
        self._groups = groups
        self._row = row
        self._seconds = seconds if row is None else row.seconds
        self._renew()

    def _renew(self) -> None:
        taken = None if self._row is None else self._row.take()
        if taken is None:
            if self._row is not None:
                self._row = None
                _log.warn(
                    "All ticket keys that workers have in common are used up: from now on TLS sessions are resumed "
                    "on the worker that they began at, until the process is started anew"
                )
            taken = _new_context(), self._seconds() + TICKET_KEYS_SECONDS
        self._base, self._ends = taken
        settle_profile(self._base, self._least_version, protocols=(), groups=self._groups)
        bind_sessions(self._base, _NO_SESSIONS)
        on_server_name(self._base, _choose)

    def begin(
        self, kind: type[BegunConnection], sock: socket | None, choose: Choose, whose: bytes
    ) -> SSL.Connection:
        """Begin a connection of *kind* on *sock*; *choose* is told of its server name.

        Sessions are resumed on it that began with the same *whose*, up to 32 bytes, and no others.
        """
        if self._seconds() >= self._ends:
            self._renew()
        base = self._base
        bind_sessions(base, whose)
        connection = kind(base, sock)
        # A connection has what the base had when it was made, until it is switched to another context: of that, unless
        # it has something else than the base.  It is to keep what it has.
        bind_sessions(base, _NO_SESSIONS)
        connection.choose = choose
        return connection


def _choose(connection: SSL.Connection) -> int | None:
    assert isinstance(connection, BegunConnection)
    return connection.choose(connection)


@frozen
class InheritedTls:
    """What all workers have in common of TLS: made in the process that they are forked from, and handed on by that alone."""

    row: BaseRow = field(factory=BaseRow)
    default_certificate: Certificate = field(factory=lambda: generate_certificate(datetime.now(UTC)))
    """Which is shown where the tables have none."""

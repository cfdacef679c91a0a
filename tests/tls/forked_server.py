"""TLS servers in processes that are forked from one, as workers are; a test says what time it is there, and what is asked of clients."""

from __future__ import annotations

import json
import os
import socket
import struct
from typing import NoReturn

from OpenSSL import SSL

from ingress.identity.certificates import CertificateTable
from ingress.identity.server_names import HandshakeSettings, HandshakeSettingsTable
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.tls.bases import BaseRow, Bases, InheritedTls
from ingress.tls.binding import is_resumed, put_on_socket
from ingress.tls.contexts import ServerContexts

_PATIENCE = struct.pack("ll", 60, 0)


class SetClock:
    """A clock that stands at what it was set to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class ForkedServer:
    """A process with what it *inherited*, and the certificates of *table*."""

    def __init__(
        self,
        inherited: InheritedTls,
        clock: SetClock,
        table: CertificateTable,
        asked: ClientAuthentication,
        name: str = "",
    ) -> None:
        self._control, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self._control.close()
            _serve(theirs, inherited, clock, table, asked, name)
        theirs.close()

    def connect(
        self,
        context: SSL.Context,
        session: SSL.Session | None = None,
        name: bytes = b"open.com",
        *,
        at: float = 0.0,
        asking: tuple[str, ...] = (),
    ) -> tuple[bool, SSL.Session]:
        """Complete a handshake at the time *at*, while the hosts *asking* ask for client certificates.

        Returns whether it went on with *session*, as both sides see it, and what can be resumed later.
        """
        near, far = socket.socketpair()
        with near, far:
            near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _PATIENCE)
            socket.send_fds(self._control, [json.dumps([at, asking]).encode()], [far.fileno()])
            far.close()
            client = SSL.Connection(context, near)
            client.set_tlsext_host_name(name)
            if session is not None:
                client.set_session(session)
            client.set_connect_state()
            client.do_handshake()
            said = client.recv(1) == b"y"
            assert said is is_resumed(client)
            found = client.get_session()
            assert found is not None
            # Who is freed without a goodbye takes its session along.
            client.shutdown()
            return said, found

    def end(self) -> None:
        """End the process, which has nothing more to do."""
        self._control.close()
        assert os.waitpid(self.pid, 0)[1] == 0


def _serve(
    control: socket.socket,
    inherited: InheritedTls,
    clock: SetClock,
    table: CertificateTable,
    asked: ClientAuthentication,
    name: str,
) -> NoReturn:
    status = 1
    try:
        contexts: ServerContexts | None = None
        while True:
            said, descriptors, _, _ = socket.recv_fds(control, 1000, 1)
            if not said:
                break
            clock.now, asking = json.loads(said)
            if contexts is None:
                # As a worker does that was forked at this time.
                contexts = ServerContexts(
                    inherited.default_certificate, bases=Bases(row=inherited.row), table=name
                )
            settings = {host: HandshakeSettings(client_authentication=asked) for host in asking}
            contexts.publish(table, HandshakeSettingsTable(settings))
            with socket.socket(fileno=descriptors[0]) as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _PATIENCE)
                connection = contexts.connection_on(sock)
                put_on_socket(connection, sock)
                connection.set_accept_state()
                try:
                    connection.do_handshake()
                    connection.send(b"y" if is_resumed(connection) else b"n")
                    connection.recv(1)
                except SSL.Error:
                    pass  # It was refused, or has said goodbye.
        status = 0
    finally:
        os._exit(status)


def inherited_of(clock: SetClock, count: int) -> InheritedTls:
    """Make what is inherited, with a row of *count* contexts."""
    return InheritedTls(BaseRow(clock, count))

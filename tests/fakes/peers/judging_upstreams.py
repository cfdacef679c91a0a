"""An endpoint that demands a client certificate, and says what it makes of it when the client thinks that all is well."""

from __future__ import annotations

import socket
import ssl
import struct
import tempfile
from threading import Event, Thread

from tests.fakes.certificates import Authority, issue


class JudgingUpstream(Thread):
    """Speaks TLS 1.3 on *port*, reads what comes with the client's last flight, refuses it by its alert, and resets.

    *gap_seconds* lie between the alert and the reset, *late_seconds* between flight and alert, which waits for ``may_refuse`` besides.
    """

    def __init__(self, authority: Authority, gap_seconds: float, late_seconds: float) -> None:
        super().__init__(daemon=True)
        self.has_heard = Event()
        """Whether a client's last flight has come."""
        self.may_refuse = Event()
        self.may_refuse.set()
        self._gap = gap_seconds
        self._late = late_seconds
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._tls.minimum_version = ssl.TLSVersion.TLSv1_3
        self._tls.verify_mode = ssl.CERT_REQUIRED
        self._tls.load_verify_locations(cadata=authority.pem.decode())
        self._tls.set_alpn_protocols(["h2", "http/1.1"])
        with tempfile.NamedTemporaryFile() as identity:
            identity.write(b"".join(issue(authority, ("127.0.0.1",))))
            identity.flush()
            self._tls.load_cert_chain(identity.name)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]

    def stop(self) -> None:
        """Listen no more."""
        self.may_refuse.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.join()

    def run(self) -> None:
        """Refuse one client after the other."""
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            with client:
                self._refuse(client)

    def _refuse(self, client: socket.socket) -> None:
        received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
        connection = self._tls.wrap_bio(received, sent, server_side=True)
        flights = 0
        while True:
            try:
                connection.do_handshake()
            except ssl.SSLWantReadError:
                client.sendall(sent.read())
                flights += 1
                octets = client.recv(4096)
                if not octets:
                    return
                received.write(octets)
                if flights > 1:
                    Event().wait(self._late)
                    self.has_heard.set()
                    self.may_refuse.wait()
            except ssl.SSLError:
                break
        client.sendall(sent.read())
        Event().wait(self._gap)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

"""A collector that answers as no collector should, on a real socket."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterable, Iterator
from threading import Event, Thread


class Collector:
    """Answers each request with the next of its answers, piece by piece, and counts connections and what was sent."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._answers: Iterator[Iterable[bytes]] = iter(())
        self._tls = tls
        self._over = Event()
        self.connections = 0
        self.breaks_off = False
        self.sent = 0
        self._server = self._wire = socket.create_server(("127.0.0.1", 0))
        scheme = "http" if tls is None else "https"
        self.port: int = self._server.getsockname()[1]
        self.url = f"{scheme}://127.0.0.1:{self.port}/v1/traces"
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def will_say(self, *answers: Iterable[bytes]) -> None:
        """Have these as answers from now on."""
        self._answers = iter(answers)

    def slowly(self, at_once: bytes, octets: bytes) -> Iterator[bytes]:
        """Yield something, and then octet by octet, so that each read is soon over; until the test is."""
        yield at_once
        for octet in octets:
            yield bytes([octet])
            if self._over.wait(0.06):
                return

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                connected, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            try:
                with connected if self._tls is None else self._tls.wrap_socket(connected, True) as wire:
                    self._serve(wire)
            except OSError:
                # The exporter has left.
                continue

    def _serve(self, wire: socket.socket) -> None:
        size = 0
        self._wire = wire
        with wire.makefile("rb") as asked:
            for line in asked:
                name, _, value = line.lower().partition(b":")
                if name == b"content-length":
                    size = int(value)
                elif line == b"\r\n":
                    asked.read(size)
                    for piece in next(self._answers):
                        wire.sendall(piece)
                        self.sent += len(piece)
                    if self.breaks_off:
                        return

    def stop(self) -> None:
        """Listen no more."""
        self._over.set()
        for each in (self._server, self._wire):
            with contextlib.suppress(OSError):
                socket.socket.shutdown(each, socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(5)


class TLSProxy:
    """A proxy to which one speaks TLS, and that has connected to one place whatever it is asked for; for one connection."""

    def __init__(self, tls: ssl.SSLContext, port: int) -> None:
        self._tls = tls
        self._port = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"https://127.0.0.1:{self._server.getsockname()[1]}"
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            connected, _ = self._server.accept()
            with (
                self._tls.wrap_socket(connected, True) as wire,
                socket.create_connection(("127.0.0.1", self._port)) as there,
            ):
                asked = b""
                while not asked.endswith(b"\r\n\r\n") and (octet := wire.recv(1)):
                    asked += octet
                wire.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                back = Thread(target=_copy, args=(there, wire), daemon=True)
                back.start()
                _copy(wire, there)
                back.join(5)

    def stop(self) -> None:
        """Listen no more."""
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(5)


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while octets := source.recv(65536):
            sink.sendall(octets)
    with contextlib.suppress(OSError):
        socket.socket.shutdown(sink, socket.SHUT_RDWR)

"""A server on loopback that answers each request with given bytes, and remembers what it was asked."""

from __future__ import annotations

import socketserver
import ssl
import threading
from collections.abc import Callable
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Answering:
    """Listens until the test ends; *script* makes an answer of a head, b"" for none at all."""

    def __init__(
        self,
        case: SynchronousTestCase,
        script: Callable[[bytes], bytes] = lambda head: OK,
        context: ssl.SSLContext | None = None,
    ) -> None:
        self.heads: list[bytes] = []
        self.names: list[str | None] = []
        heads = self.heads

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                try:
                    wire: Any = (
                        self.request
                        if context is None
                        else context.wrap_socket(self.request, server_side=True)
                    )
                except OSError:
                    return
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = wire.recv(4096)
                    if not piece:
                        return
                    head += piece
                heads.append(head)
                wire.sendall(script(head))
                wire.close()

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """Clients of these tests leave when they like."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = int(self._server.server_address[1])
        thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        thread.start()
        case.addCleanup(self._server.server_close)
        case.addCleanup(self._server.shutdown)

    @property
    def address(self) -> str:
        """Where it is, as ``--theirs`` has it."""
        return f"127.0.0.1:{self.port}"


def answer(status: int = 200, body: bytes = b"", *fields: str) -> bytes:
    """Return an answer with *fields*, each a line."""
    lines = [f"HTTP/1.1 {status} Yes", *fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body

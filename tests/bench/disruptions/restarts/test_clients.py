"""Clients count each request once, with the reason of its end, and try nothing again."""

import socket
import ssl
from collections.abc import Callable
from threading import Event, Thread
from time import monotonic

from twisted.trial.unittest import SynchronousTestCase

from bench.disruptions.restarts.clients import KINDS, Client, Loss, why
from bench.disruptions.takeover.loads import ENDED, FailedError, HandshakeError, Ports

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"


class ClientTests(SynchronousTestCase):
    """One client, in front of a server that behaves as its test says, once for each connection."""

    def losses(self, name: str, *behaviors: Callable[[socket.socket], None]) -> tuple[int, list[Loss]]:
        """Have a client ask until all behaviors were seen; return how often it asked, and what it lost."""
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        stop = Event()

        def serve() -> None:
            for behave in behaviors:
                sock, _ = listening.accept()
                with sock:
                    sock.recv(65536)
                    behave(sock)
            stop.set()
            listening.close()

        serving = Thread(target=serve)
        client = Client(KINDS[name], Ports(port, port), 5.0, 0.02)
        serving.start()
        client.run(monotonic(), stop)
        serving.join()
        return client.seen.asked, client.seen.lost

    def test_answered(self) -> None:
        """An answer that is whole is no loss."""
        asked, lost = self.losses("new", lambda sock: sock.sendall(ANSWER + b"ok"))
        self.assertEqual((lost, asked >= 1), ([], True))

    def test_not_answered(self) -> None:
        """A connection that ends before the answer is one loss, and the next request goes on another one."""
        asked, lost = self.losses("keep-alive", lambda sock: None, lambda sock: sock.sendall(ANSWER + b"ok"))
        self.assertEqual([(one.why, one.is_cut) for one in lost[:1]], [("ended before the answer", False)])
        self.assertGreaterEqual(asked, 2)

    def test_cut(self) -> None:
        """A part of an answer is a loss that was cut."""
        _, lost = self.losses("new", lambda sock: sock.sendall(ANSWER + b"o"))
        self.assertEqual([(one.why, one.is_cut) for one in lost[:1]], [("ended before the answer", True)])
        self.assertNotEqual(lost[0].port, 0)

    def test_upgrades(self) -> None:
        """A WebSocket that ends before it is one, or is refused, is a loss of the connection that it was asked for on."""
        ports: list[int] = []

        def end(sock: socket.socket) -> None:
            ports.append(sock.getpeername()[1])

        def refuse(sock: socket.socket) -> None:
            ports.append(sock.getpeername()[1])
            sock.sendall(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")

        _, lost = self.losses("websocket", end, refuse)
        self.assertEqual([one.port for one in lost[:2]], ports)
        self.assertEqual(
            [one.why for one in lost[:2]],
            ["ended before the answer in the handshake", "HTTP/1.1 503 Service Unavailable in the handshake"],
        )

    def test_reasons(self) -> None:
        """Reasons are the same for all failures of a sort."""
        handshake = HandshakeError(4000)
        handshake.__cause__ = ConnectionResetError(104, "reset by peer")
        self.assertEqual(why(handshake), "reset in the handshake")
        self.assertEqual(why(ConnectionRefusedError(111, "refused")), "refused")
        self.assertEqual(why(BrokenPipeError(32, "pipe")), "reset")
        self.assertEqual(why(TimeoutError()), "no answer in time")
        self.assertEqual(why(FailedError(ENDED)), "ended before the answer")
        self.assertEqual(why(FailedError("http/1.1 503")), "http/1.1 503")
        self.assertEqual(why(ssl.SSLEOFError()), "SSLEOFError")

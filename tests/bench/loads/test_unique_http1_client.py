"""Requests of HTTP/1.1 that all differ, an exact number of them."""

import socket
import threading
from itertools import islice

from twisted.trial.unittest import SynchronousTestCase

from bench.loads.unique_http1_client import Exchanges, requests, run

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nxxx\n"


class RequestTests(SynchronousTestCase):
    """What is sent."""

    def test_different(self) -> None:
        """Path, cookie and request id are new each time; the other seven fields are not."""
        one, two = (request.split(b"\r\n") for request in islice(requests("a.test", 7), 2))
        differing = [line.partition(b":")[0] for line, other in zip(one, two, strict=True) if line != other]
        self.assertEqual(differing[1:], [b"Cookie", b"X-Request-Id"])
        self.assertTrue(differing[0].startswith(b"GET /unique/catalog/"))
        self.assertEqual(len(one), 1 + 10 + 2)

    def test_number(self) -> None:
        """No more is asked than is wanted, and answers count that are whole, as good if their status is."""
        exchanges = Exchanges(2, requests("a.test", 1))
        self.assertEqual([bool(exchanges.next()) for _ in range(3)], [True, True, False])
        self.assertFalse(exchanges.took(ANSWER[:-1]))
        self.assertTrue(exchanges.took(ANSWER))
        self.assertTrue(exchanges.took(ANSWER.replace(b"200", b"503")))
        self.assertEqual((exchanges.ended, exchanges.good), (2, 1))


class RunTests(SynchronousTestCase):
    """Over sockets."""

    def test_all(self) -> None:
        """Over some connections, exactly as many requests are sent as are wanted, and all are answered."""
        heads: list[bytes] = []

        def serve(connection: socket.socket) -> None:
            with connection:
                while received := connection.recv(65536):
                    heads.append(received)
                    connection.sendall(ANSWER)

        with socket.create_server(("127.0.0.1", 0)) as server:
            exchanges = Exchanges(10, requests("a.test", 1))
            client = threading.Thread(target=run, args=(server.getsockname()[1], exchanges, 3))
            client.start()
            threads = [threading.Thread(target=serve, args=(server.accept()[0],)) for _ in range(3)]
            for each in threads:
                each.start()
            client.join(10)
            for each in threads:
                each.join(10)
        self.assertEqual((exchanges.good, len(set(heads))), (10, 10))

    def test_closed(self) -> None:
        """A connection that is closed amid the load is an error with a reason."""

        def close_first() -> None:
            server.accept()[0].close()

        with socket.create_server(("127.0.0.1", 0)) as server:
            thread = threading.Thread(target=close_first)
            thread.start()
            self.assertRaises(OSError, run, server.getsockname()[1], Exchanges(5, requests("a", 1)), 1)
            thread.join(10)

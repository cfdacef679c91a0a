"""The socket that connections are accepted on."""

import socket

from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.transport.accepting import AcceptingSocket


class AcceptingSocketTests(SynchronousTestCase):
    """``AcceptingSocket``."""

    def test_taken_over(self) -> None:
        """It has the descriptor of the other object, accepts as that did, and is the one that closes it."""
        opened = socket.create_server(("127.0.0.1", 0))
        descriptor, family, kind, name = opened.fileno(), opened.family, opened.type, opened.getsockname()
        accepting = AcceptingSocket(opened)
        opened.close()
        self.assertEqual(
            (accepting.fileno(), accepting.family, accepting.type, accepting.getsockname()),
            (descriptor, family, kind, name),
        )
        with accepting, socket.create_connection(name) as far:
            near, _ = accepting.accept()
            with near:
                self.assertEqual((near.family, near.type), (family, kind))
                far.sendall(b"?")
                self.assertEqual(near.recv(1), b"?")
        self.assertEqual(accepting.fileno(), -1)

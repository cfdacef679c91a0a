"""The socket that connections are accepted on."""

import socket
import sys
from types import FrameType

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
            self.assertEqual(near.fileno(), -1)
        self.assertEqual(accepting.fileno(), -1)

    def test_handed_on(self) -> None:
        """The descriptor of what was accepted can be handed on, and is not closed by its former owner then."""
        accepting = AcceptingSocket(socket.create_server(("127.0.0.1", 0)))
        with accepting, socket.create_connection(accepting.getsockname()) as far:
            near, peer = accepting.accept()
            self.assertEqual(peer, far.getsockname())
            with near, socket.socket(fileno=near.detach()) as following:
                far.sendall(b"?")
                self.assertEqual(following.recv(1), b"?")

    def test_without_python(self) -> None:
        """Nothing of Python's ``socket`` module is called to accept and to close."""
        called: list[str] = []

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call" and frame.f_code.co_filename == socket.__file__:
                called.append(frame.f_code.co_name)

        accepting = AcceptingSocket(socket.create_server(("127.0.0.1", 0)))
        with accepting, socket.create_connection(accepting.getsockname()):
            sys.setprofile(note)
            try:
                near, _ = accepting.accept()
                near.close()
            finally:
                sys.setprofile(None)
        self.assertEqual(called, [])

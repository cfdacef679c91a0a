"""Tests for ``ingress.proxy.transport.epoll.delivery``, on real sockets: what the kernel says is the matter."""

import socket
from unittest import skipUnless

from twisted.trial.unittest import SynchronousTestCase

from ingress.proxy.transport.epoll.delivery import Delivery
from ingress.proxy.transport.epoll.epoll_set import CAN_SPLICE

REQUEST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"


@skipUnless(CAN_SPLICE, "only Linux tells")
class DeliveryTests(SynchronousTestCase):
    """Whether the peer took anything."""

    def setUp(self) -> None:
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        self.near = socket.create_connection(listener.getsockname(), timeout=60)
        self.far, _ = listener.accept()
        self.far.settimeout(60)
        for each in (self.near, self.far):
            self.addCleanup(each.close)
        # What was said before, and taken, does not count.
        self.near.sendall(REQUEST)
        self.far.recv(1000)
        self.far.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        self.near.recv(1000)
        self.delivery = Delivery(self.near)

    def test_closed_before(self) -> None:
        """A peer that closed before the request was sent took nothing of it."""
        self.far.close()
        self.near.sendall(REQUEST)
        self.assertEqual(self.near.recv(1000), b"")
        self.delivery.end()
        self.near.close()
        self.assertTrue(self.delivery.took_nothing())

    def test_nothing_sent(self) -> None:
        """Of what was never sent nothing was taken."""
        self.far.close()
        self.assertEqual(self.near.recv(1000), b"")
        self.assertTrue(self.delivery.took_nothing())

    def test_read(self) -> None:
        """A peer that read the request and then closed has taken it."""
        self.near.sendall(REQUEST)
        self.assertEqual(self.far.recv(1000), REQUEST)
        self.far.close()
        self.assertEqual(self.near.recv(1000), b"")
        self.delivery.end()
        self.near.close()
        self.assertFalse(self.delivery.took_nothing())

    def test_read_in_part(self) -> None:
        """A peer that read a part of it has taken something."""
        self.near.sendall(REQUEST)
        self.far.recv(4)
        self.far.shutdown(socket.SHUT_WR)
        self.assertEqual(self.near.recv(1000), b"")
        self.assertFalse(self.delivery.took_nothing())

    def test_unknown(self) -> None:
        """Where the kernel does not say so, nothing is known."""
        one, other = socket.socketpair()
        self.addCleanup(one.close)
        self.addCleanup(other.close)
        delivery = Delivery(one)
        self.assertFalse(delivery.took_nothing())

    def test_after_the_end(self) -> None:
        """What is known then is how it was at the end."""
        self.delivery.end()
        self.near.sendall(REQUEST)
        self.assertEqual(self.far.recv(1000), REQUEST)
        self.assertTrue(self.delivery.took_nothing())

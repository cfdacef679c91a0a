"""Which addresses the API server has."""

import socket

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.server_addresses import addresses_of, port_of


class AddressesTests(SynchronousTestCase):
    """The addresses of the host of a URL."""

    def test_addresses(self) -> None:
        """A host that is an address has that one, with or without port and path."""
        for url, address in (
            ("https://10.96.0.1:443", "10.96.0.1"),
            ("https://10.96.0.1/k8s/clusters/c", "10.96.0.1"),
            ("https://[fd00::1]:6443", "fd00::1"),
        ):
            self.assertEqual(addresses_of(url), {address})

    def test_names(self) -> None:
        """A host that is a name has all addresses that it leads to, without their zones."""
        asked: list[object] = []

        def resolve(host: object, port: object, type: int) -> list[object]:
            asked.append(host)
            return [
                (socket.AF_INET, type, 6, "", ("10.0.0.1", 0)),
                (socket.AF_INET, type, 6, "", ("10.0.0.2", 0)),
                (socket.AF_INET6, type, 6, "", ("fe80::1%eth0", 0, 0, 2)),
            ]

        self.patch(socket, "getaddrinfo", resolve)
        self.assertEqual(addresses_of("https://api.example.org:6443"), {"10.0.0.1", "10.0.0.2", "fe80::1"})
        self.assertEqual(asked, ["api.example.org"])

    def test_none(self) -> None:
        """What cannot be resolved, or is no URL, has none."""

        def fail(*_: object, **__: object) -> None:
            raise socket.gaierror("no such name")

        self.patch(socket, "getaddrinfo", fail)
        for url in ("https://api.example.org", "https://", "", "https://[::1", "no url"):
            self.assertEqual(addresses_of(url), frozenset())


class PortTests(SynchronousTestCase):
    """The port of the API server."""

    def test_port(self) -> None:
        """It is the one named, or that of the scheme; what is no URL has none."""
        for url, port in (
            ("https://10.96.0.1", 443),
            ("https://[fd00::1]:6443/prefix", 6443),
            ("http://a", 80),
            ("https://a:x", 0),
            ("", 0),
        ):
            self.assertEqual(port_of(url), port, url)

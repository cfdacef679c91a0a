"""Texts of the command line, read into values."""

from collections.abc import Callable

from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.model.upstream.backends import BackendReference, Endpoint, ManualEndpoint
from ingress.options.values import (
    read_backend_service,
    read_description,
    read_field_selector,
    read_key,
    read_manual_endpoint,
    read_namespace,
    read_prefix,
    read_seconds,
    read_secret_mode,
    read_tls_version,
    read_url,
    read_word,
)


class OptionValueTests(SynchronousTestCase):
    """The readers of values."""

    def assert_refused(self, read: Callable[[str], object], *texts: str) -> None:
        for text in texts:
            self.assertRaises(ValueError, read, text)

    def test_manual_endpoint(self) -> None:
        """An endpoint is given for a Service, for one of its ports by number or name, or for any Service."""
        shop = ObjectKey("web", "shop")
        for text, expected in (
            ("web/shop=10.0.0.1:8080", ManualEndpoint(shop, "", Endpoint("10.0.0.1", 8080))),
            ("web/shop:80=localhost:1", ManualEndpoint(shop, 80, Endpoint("localhost", 1))),
            ("web/shop:http=a.b-c.test:65535", ManualEndpoint(shop, "http", Endpoint("a.b-c.test", 65535))),
            ("*=[::1]:8080", ManualEndpoint(None, "", Endpoint("::1", 8080))),
            ("*=[2001:DB8:0::1]:8080", ManualEndpoint(None, "", Endpoint("2001:db8::1", 8080))),
            (
                "web/s.h=under_score:1",
                ManualEndpoint(ObjectKey("web", "s.h"), "", Endpoint("under_score", 1)),
            ),
        ):
            self.assertEqual(read_manual_endpoint(text), expected)

    def test_wrong_endpoint(self) -> None:
        """Anything else is refused: half a pair, a bare IPv6 address, numbers that are no address or port."""
        self.assert_refused(
            read_manual_endpoint,
            "",
            "*",
            "*=",
            "*=host",
            "*=:80",
            "*=host:",
            "*=host:0",
            "*=host:65536",
            "*=host:+1",
            "*=host:8_0",
            "*=host:٣",
            "*=::1:80",
            "*=[::1]",
            "*=[::g]:80",
            "*=[10.0.0.1]:80",
            "*=10.0.0.256:80",
            "*=10.0.1:80",
            "*=ho st:80",
            "*=-host..x:80",
            "*:80=host:80",
            "shop=host:80",
            "web/=host:80",
            "/shop=host:80",
            "web/shop:=host:80",
            "web/shop:0=host:80",
            "web/shop:http/2=host:80",
            "web/shop/x=host:80",
            "Web/shop=host:80",
            "http://host:80",
        )

    def test_backend_service(self) -> None:
        """A Service is named with its namespace; its port may be left out."""
        self.assertEqual(read_backend_service("web/shop"), BackendReference("web", "shop", ""))
        self.assertEqual(read_backend_service("web/shop:80"), BackendReference("web", "shop", 80))
        self.assertEqual(
            read_backend_service("web/shop:http-alt"), BackendReference("web", "shop", "http-alt")
        )
        self.assert_refused(read_backend_service, "", "shop", "web/shop:", "web/shop:HTTP", "web/shop:80:80")

    def test_key(self) -> None:
        """An object is named by namespace and name, as Kubernetes allows them."""
        self.assertEqual(read_key("web/edge.tls"), ObjectKey("web", "edge.tls"))
        self.assert_refused(
            read_key, "", "tls", "web/", "/tls", "w.b/tls", "web/a/b", "web/-", "web/" + "a" * 254
        )

    def test_tls_version(self) -> None:
        """A version of TLS is one that is safe, by its number or its name."""
        for text, version in (("1.2", "1.2"), ("1.3", "1.3"), ("TLSv1.3", "1.3"), (" tlsv1.2 ", "1.2")):
            self.assertEqual(read_tls_version(text), version)
        self.assert_refused(read_tls_version, "", "1.1", "1", "1.4", "SSLv3", "TLSv1.2 TLSv1.3")

    def test_namespace(self) -> None:
        """A namespace is a DNS label."""
        self.assertEqual(read_namespace("a" * 63), "a" * 63)
        self.assert_refused(read_namespace, "", "a" * 64, "a.b", "-a", "a-", "A", "a\n")

    def test_seconds(self) -> None:
        """Seconds are a plain number, fraction or not."""
        self.assertEqual([read_seconds(text) for text in ("0", "5", "0.25")], [0, 5, 0.25])
        self.assert_refused(read_seconds, "", "-1", "nan", "inf", "1e9", "5s", " 5", "1_0", ".", "5\n")

    def test_url(self) -> None:
        """A URL has a scheme that we speak, and a host."""
        self.assertEqual(read_url("http://localhost:8001"), "http://localhost:8001")
        self.assert_refused(
            read_url,
            "",
            "localhost",
            "ftp://a",
            "https://",
            "https://a:b",
            "https://a:0",
            "https://[",
            "https://a b",
        )

    def test_secret_mode(self) -> None:
        """Secrets are watched or got by name, and there is no third way."""
        self.assertEqual([read_secret_mode(text) for text in ("watch", "get")], ["watch", "get"])
        self.assert_refused(read_secret_mode, "", "Watch", "list", "watch,get")

    def test_field_selector(self) -> None:
        """A field selector is comparisons with commas between them, or nothing at all."""
        for text in ("", "type=kubernetes.io/tls", "type!=helm.sh/release.v1,metadata.namespace==shop"):
            self.assertEqual(read_field_selector(text), text)
        self.assert_refused(
            read_field_selector, "type", "=x", "type=a b", "type=a,", "type=a&watch=0,b", "type=a=b"
        )

    def test_word(self) -> None:
        """A name is not empty and holds no blanks."""
        self.assertEqual(read_word("example.com/edge"), "example.com/edge")
        self.assert_refused(read_word, "", " ", "a b", "a\n")

    def test_prefix(self) -> None:
        """A prefix of annotations is a DNS name."""
        self.assertEqual(read_prefix("nginx.ingress.kubernetes.io"), "nginx.ingress.kubernetes.io")
        self.assert_refused(read_prefix, "", "a/", "A.b", "a..b", "a" * 254)

    def test_description(self) -> None:
        """A listener description is whatever Twisted can read, and reading it listens nowhere."""
        reactor = MemoryReactorClock()
        for text in ("tcp:80", "tcp6:port=80", "tcp:0:interface=127.0.0.1", "unix:/run/a.sock:mode=600"):
            self.assertEqual(read_description(text, reactor), text)
        self.assertEqual((reactor.tcpServers, reactor.unixServers), ([], []))

    def test_description_numbers(self) -> None:
        """Numbers that Twisted reads and nobody can listen with are refused by what they are, wherever they stand."""
        for text, why in (
            ("tcp:-1", "-1 is not a port between 0 and 65535"),
            ("tcp6:-7", "-7 is not a port"),
            ("tcp:65536", "65536 is not a port"),
            ("tcp:interface=127.0.0.1:port=-1", "-1 is not a port"),
            ("haproxy:tcp:-1", "-1 is not a port"),
            ("haproxy:haproxy:tcp:-1", "-1 is not a port"),
            (r"tcp6:99999:interface=\:\:1", "99999 is not a port"),
            ("tcp:80:backlog=999999999999", "backlog 999999999999 is not a number between 0 and 2147483647"),
            ("tcp:80:127.0.0.1:-2", "backlog -2 is not"),
            ("tcp6:80:-2", "backlog -2 is not"),
            ("unix:/run/a.sock:600:999999999999", "backlog 999999999999 is not"),
            ("unix:/run/a.sock:mode=-1", "-1 is not the mode of a file"),
            ("unix:/run/a.sock:7777777", "7777777 is not the mode of a file"),
        ):
            with self.assertRaises(ValueError, msg=text) as refused:
                read_description(text, MemoryReactorClock())
            self.assertIn(why, str(refused.exception))
        for text in (
            r"unix:/run/a\:-1.sock",
            "unix:-1",
            r"tcp:80:interface=\:\:1",
            "tcp:80:backlog=-1",
            r"tcp6:80:50:\:\:1",
        ):
            self.assertEqual(read_description(text, MemoryReactorClock()), text)

"""Tests for ingress.ctl.comparing.client, over sockets of this host."""

from __future__ import annotations

import socket
import ssl
from time import monotonic

from ingress.ctl.comparing.addresses import read_addresses
from ingress.ctl.comparing.answers import Answer, SideDownError
from ingress.ctl.comparing.client import MAX_BODY, Client, client_context
from ingress.ctl.comparing.credentials import NO_CREDENTIALS, Credentials, Hidden, read_credentials
from ingress.ctl.comparing.samples import Sample
from tests.ctl.comparing.answering import OK, Answering, answer
from tests.ctl.ctl_case import CtlCase
from tests.fakes.certificates import issue, key_as_pem, make_authority
from tests.fakes.processes import free_port

SAMPLE = Sample("http", "GET", "shop.test", "/")
PATIENT = 30.0


class ClientCase(CtlCase):
    """Makes clients."""

    def client(
        self,
        server: Answering | None,
        seconds: float = PATIENT,
        credentials: Credentials = NO_CREDENTIALS,
        context: ssl.SSLContext | None = None,
        addresses: str = "",
    ) -> Client:
        """A client of *server*, over http and https."""
        said = addresses or f"http={server.address},https={server.address}" if server else addresses
        hidden = Hidden(credentials)
        found = read_addresses(said, "--theirs")
        return Client(
            "theirs", found, context or client_context(False), seconds, monotonic, credentials, hidden
        )

    def answer(self, octets: bytes, sample: Sample = SAMPLE, seconds: float = PATIENT) -> Answer:
        """Return what a client makes of *octets*."""
        return self.client(Answering(self, lambda head: octets), seconds).ask(sample)


class ClientTests(ClientCase):
    """One request, and what comes of it."""

    def test_byte_by_byte(self) -> None:
        """The target goes out as it is, and so does the host, with nothing else but what says who asks."""
        server = Answering(self)
        for target in ("/a/../b", "/%2e%2E/%7ex?a=[1]&b=%zz", "//a//", "/\\", "/a;b?", "*"):
            self.client(server).ask(Sample("http", "GET", "Shop.Test:81", target))
            self.assertEqual(
                server.heads.pop(),
                f"GET {target} HTTP/1.1\r\nHost: Shop.Test:81\r\nUser-Agent: ingressctl\r\nAccept: */*\r\n"
                "Connection: close\r\n\r\n".encode(),
            )

    def test_fields(self) -> None:
        """Fields of the sample go out, those of credentials in their stead, and a method with a body has an empty one."""
        path = self.manifest('["http://shop.test"]\nCookie = "mine-mine"\n', "given.toml")
        self.folder.joinpath("given.toml").chmod(0o600)
        server = Answering(self)
        sample = Sample("http", "POST", "shop.test", "/", (("Accept", "text/html"), ("cookie", "theirs")))
        self.client(server, credentials=read_credentials(path)).ask(sample)
        lines = server.heads[0].decode().split("\r\n")
        self.assertEqual(
            sorted(lines[2:-2]),
            [
                "Accept: text/html",
                "Connection: close",
                "Content-Length: 0",
                "Cookie: mine-mine",
                "User-Agent: ingressctl",
            ],
        )

    def test_nothing_is_resolved_or_followed(self) -> None:
        """Whatever a request or a redirect names, one connection is made, to the address that was given."""
        asked: list[object] = []
        self.patch(socket, "getaddrinfo", lambda *arguments, **named: asked.append(arguments))
        server = Answering(self, lambda head: answer(302, b"", "Location: http://elsewhere.test:9/"))
        found = self.client(server).ask(Sample("http", "GET", "elsewhere.test", "/"))
        self.assertEqual((found.status, len(server.heads), asked), (302, 1, []))

    def test_framing(self) -> None:
        """A body ends by its length, by chunks, by the end of the connection, or is none; interim answers are passed over."""
        for octets, size in (
            (OK, 2),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", 3),
            (b"HTTP/1.1 200 OK\r\n\r\nabcd", 4),
            (b"HTTP/1.1 204 No\r\n\r\n", 0),
            (b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + OK, 2),
        ):
            found = self.answer(octets)
            self.assertEqual((found.failure, found.body.size, found.body.is_whole), ("", size, True), octets)
        head = self.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", Sample("http", "HEAD", "a", "/"))
        self.assertEqual((head.status, head.body.size), (200, 0))

    def test_large_bodies(self) -> None:
        """Of a large body the beginning is read."""
        octets = answer(200, b"x" * (4 * MAX_BODY))
        self.assertEqual(self.answer(octets).body.size, MAX_BODY)
        self.assertFalse(self.answer(octets).body.is_whole)

    def test_failures(self) -> None:
        """What is no answer is told in words, and is not a traceback."""
        for octets, words in (
            (b"", "without an answer"),
            (b"HTTP/1.1 200", "without an answer"),
            (b"SSH-2.0-x\r\n\r\n", "no answer of HTTP/1.1"),
            (b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "no answer of HTTP/1.1"),
            (b"HTTP/1.1 101 Other\r\n\r\n", "no answer of HTTP/1.1"),
            (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 99999, "no answer of HTTP/1.1"),
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "no answer of HTTP/1.1"),
        ):
            found = self.answer(octets)
            self.assertEqual(found.status, 0, octets[:40])
            self.assertIn(words, found.failure, octets[:40])

    def test_broken_off(self) -> None:
        """Of a body that breaks off it is known that it is not whole."""
        found = self.answer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        self.assertEqual((found.status, found.body.size, found.body.is_whole), (200, 3, False))

    def test_in_time(self) -> None:
        """An answer has so many seconds in all, however slowly it trickles."""
        moments = iter(float(number) for number in range(100))
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        # The kernel takes the connection, and nobody ever answers.
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        client = self.client(None, 0.05, addresses=address)
        found = client.ask(SAMPLE)
        self.assertEqual((found.failure, found.is_late), ("no answer in 0.05 s", True))
        server = Answering(self, lambda head: OK)
        addresses = read_addresses(server.address, "--theirs")
        hasty = Client(
            "theirs",
            addresses,
            client_context(False),
            1.5,
            lambda: next(moments),
            NO_CREDENTIALS,
            Hidden(NO_CREDENTIALS),
        )
        self.assertTrue(hasty.ask(SAMPLE).is_late)

    def test_down(self) -> None:
        """A side that takes no connection is told to be down, with its address."""
        error = self.assertRaises(
            SideDownError, self.client(None, addresses=f"127.0.0.1:{(port := free_port())}").ask, SAMPLE
        )
        self.assertIn(f"theirs takes no connection at 127.0.0.1:{port}", str(error))

    def test_own_pages(self) -> None:
        """Pages that nginx and this controller make are known by their bodies."""
        for body, is_own in (
            (
                b"<html>\r\n<body>\r\n<center><h1>404</h1></center>\r\n<hr><center>nginx</center>\r\n</body>",
                True,
            ),
            (b"default backend - 404", True),
            (b"404 Not Found\n", True),
            (b"404 Not Found", False),
            (b"", False),
            (b"nginx", False),
        ):
            self.assertEqual(self.answer(answer(404, body)).is_own, is_own, body)

    def test_secrets_in_answers(self) -> None:
        """What comes back of credentials is hidden before anybody sees the answer."""
        path = self.manifest('["http://shop.test"]\nAuthorization = "Bearer token-one-two"\n', "given.toml")
        self.folder.joinpath("given.toml").chmod(0o600)
        server = Answering(
            self,
            lambda head: answer(302, b"", "Location: /?jwt=token-one-two", "X-Seen: Bearer token-one-two"),
        )
        found = self.client(server, credentials=read_credentials(path)).ask(SAMPLE)
        self.assertIn(b"token-one-two", server.heads[0])
        self.assertNotIn("token-one-two", repr(found))


class SecureClientTests(ClientCase):
    """The same over TLS, and what a handshake shows."""

    def setUp(self) -> None:
        super().setUp()
        self.authority = make_authority()
        chain, key = issue(self.authority, ["shop.test", "*.shop.test"])
        self.context = self.server_context(chain, key)
        self.named: list[str | None] = []
        self.context.sni_callback = lambda wire, name, context: self.named.append(name)

    def server_context(self, chain: bytes, key: bytes) -> ssl.SSLContext:
        """Return what shows *chain*."""
        path = self.manifest((chain + key).decode(), "server.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def ask(self, context: ssl.SSLContext, host: str, client: ssl.SSLContext | None = None) -> Answer:
        """Ask a server with *context* for *host*."""
        server = Answering(self, context=context)
        return self.client(server, context=client).ask(Sample("https", "GET", host, "/"))

    def test_names(self) -> None:
        """The server name is the host of the request, without its port; an address is none."""
        for host in ("shop.test", "a.Shop.test:8443", "10.0.0.1", "[::1]:443"):
            self.assertEqual(self.ask(self.context, host).status, 200)
        self.assertEqual([name for name in self.named if name], ["shop.test", "a.shop.test"])

    def test_shown_certificate(self) -> None:
        """The certificate that was shown is known by names and fingerprint, whoever issued it."""
        shown = self.ask(self.context, "shop.test").certificate
        assert shown is not None
        self.assertEqual(
            (shown.names, len(shown.fingerprint), shown.is_self_made),
            (("shop.test", "*.shop.test"), 64, False),
        )

    def test_self_made(self) -> None:
        """What ingress-nginx shows for want of a certificate is known by its name."""
        fake = make_authority("Kubernetes Ingress Controller Fake Certificate")
        shown = self.ask(self.server_context(fake.pem, key_as_pem(fake.key)), "shop.test").certificate
        assert shown is not None
        self.assertTrue(shown.is_self_made)

    def test_verified_when_asked(self) -> None:
        """Certificates are verified where that is asked for, by the authorities of a file, with the name."""
        path = self.manifest(self.authority.pem.decode(), "ca.pem")
        context = client_context(True, path)
        self.assertEqual(self.ask(self.context, "shop.test", context).status, 200)
        for host, client in (("other.test", context), ("shop.test", client_context(True))):
            self.assertIn("not trusted", self.ask(self.context, host, client).failure)

    def test_refused_handshake(self) -> None:
        """A handshake that is refused is told with its alert, and a server without TLS is none."""

        def refuse(wire: object, name: str | None, context: object) -> int:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME

        self.context.sni_callback = refuse
        self.assertIn("unrecognized name", self.ask(self.context, "shop.test").failure)
        server = Answering(self, lambda head: OK)
        found = self.client(server, 0.2).ask(Sample("https", "GET", "shop.test", "/"))
        self.assertEqual(found.status, 0)

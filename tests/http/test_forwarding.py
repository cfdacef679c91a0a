"""Tests for ``ingress.http.forwarding``."""

import ipaddress

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http import forwarding
from ingress.http.forwarding import (
    MAX_HOPS,
    MEMO_ADDRESSES,
    Origin,
    TrustedProxies,
    origin_of_peer,
    request_head_bytes,
    upstream_fields_of,
)
from ingress.http.request_head import HeadError, RequestHead, parse_request_head
from ingress.model.serving.serving_settings import ForwardedHeaders
from tests.http.strict import read_request
from tests.properties import examples

PEER = origin_of_peer(b"198.51.100.7", b"https", 443)

LINES = st.sampled_from(
    [
        b"GET / HTTP/1.1",
        b"GET / HTTP/1.1",
        b"POST /a?b HTTP/1.1",
        b"PUT //a/../%2e;x HTTP/1.1",
        b"POST / HTTP/1.0",
        b"OPTIONS * HTTP/1.1",
        b"GET http://b.test/x HTTP/1.1",
        b"GET http://b.test?x HTTP/1.1",
        b"CONNECT a:1 HTTP/1.1",
        b"GET /\xff HTTP/1.1",
        b"GET /a b HTTP/1.1",
        b"GET / HTTP/1.1\rX: y",
    ]
)
NAMES = st.sampled_from(
    [
        b"Host",
        b"host",
        b"Content-Length",
        b"Transfer-Encoding",
        b"Connection",
        b"Expect",
        b"Upgrade",
        b"X-Forwarded-For",
        b"X-Forwarded-Host",
        b"X-Original-Forwarded-For",
        b"X-Real-IP",
        b"X-Request-ID",
        b"Content_Length",
        b"TE",
        b"Accept",
        b"X",
        b"X ",
        b" X",
        b"",
        b"X\x00",
    ]
)
VALUES = st.one_of(
    st.sampled_from(
        [
            b"a.test",
            b"5",
            b"0",
            b"+5",
            b"5, 5",
            b"chunked",
            b"Chunked",
            b"gzip, chunked",
            b"close",
            b"upgrade, x",
            b"content-length, host, transfer-encoding",
            b"100-continue",
            b"websocket",
            b"h2c",
            b"",
            b" ",
            b"a\r\nContent-Length: 9",
            b"a\rb",
            b"a\nb",
        ]
    ),
    st.binary(max_size=6),
)
SEPARATORS = st.sampled_from([b": ", b": ", b": ", b":", b":\t", b" : ", b""])
ODD = st.tuples(NAMES, SEPARATORS, VALUES).map(b"".join)
PLAUSIBLE = st.sampled_from(
    [
        b"Accept: */*",
        b"Cookie:a=b",
        b"X-Forwarded-For: 192.0.2.1",
        b"X-Forwarded-Host: evil.test",
        b"X_Real_IP: 192.0.2.1",
        b"X-Real-IP: 192.0.2.1",
        b"X-Request-ID: a b",
        b"TE: trailers",
        b"Connection: close, content-length, host, x-real-ip",
        b"Connection: upgrade",
        b"Upgrade: websocket",
        b"Upgrade: h2c",
        b"Expect: 100-continue",
        b"X: \xff\x80",
        b"X:",
    ]
)
FRAMING = st.sampled_from(
    [b"X: y", b"X: y", b"Content-Length: 5", b"content-length:\t007 ", b"Transfer-Encoding: Chunked"]
)
FIELDS = st.tuples(
    FRAMING, st.lists(PLAUSIBLE, max_size=5), st.one_of(st.just([]), st.just([]), ODD.map(lambda odd: [odd]))
).map(lambda parts: [*parts[1], parts[0], *parts[2]])


def upstream_head(head: RequestHead, request_id: bytes, origin: Origin) -> bytes:
    """Render the head that goes upstream in HTTP/1.1."""
    return request_head_bytes(head, upstream_fields_of(head, request_id, origin))


class UpstreamHeadTests(SynchronousTestCase):
    """The head that goes upstream."""

    def test_whole(self) -> None:
        """What came goes on, behind the host; what a proxy says comes after it, and the framing last."""
        head = parse_request_head(
            b"POST /a?b HTTP/1.0\r\nAccept: */*\r\nHost: A.test:80\r\nX-Forwarded-For: 192.0.2.1, 192.0.2.2\r\n"
            b"X-Forwarded-Proto: ftp\r\nContent-Length: 03\r\nCookie: c"
        )
        self.assertEqual(
            upstream_head(head, b"id1", PEER),
            b"POST /a?b HTTP/1.1\r\nHost: A.test:80\r\nAccept: */*\r\nCookie: c\r\nX-Request-ID: id1\r\n"
            b"X-Forwarded-Host: A.test:80\r\nX-Real-IP: 198.51.100.7\r\nX-Forwarded-For: 198.51.100.7\r\n"
            b"X-Forwarded-Port: 443\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Scheme: https\r\nX-Scheme: https\r\n"
            b"X-Original-Forwarded-For: 192.0.2.1, 192.0.2.2\r\nContent-Length: 3\r\n\r\n",
        )

    def test_forwarded_for_repeated(self) -> None:
        """Several X-Forwarded-For are one list."""
        head = parse_request_head(b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1\r\nX-Forwarded-For: 2, 3")
        self.assertIn(b"\r\nX-Original-Forwarded-For: 1, 2, 3\r\n", upstream_head(head, b"id1", PEER))

    def test_framing(self) -> None:
        """The framing goes on in one plain field, with expectation and upgrade where they were taken."""
        start = b"POST / HTTP/1.1\r\nHost: a\r\n"
        for lines, ending in (
            (b"Transfer-Encoding: CHUNKED", b"\r\nTransfer-Encoding: chunked\r\n\r\n"),
            (b"Content-Length: 0", b"\r\nContent-Length: 0\r\n\r\n"),
            (
                b"Content-Length: 5\r\nExpect: 100-Continue",
                b"\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n",
            ),
            (
                b"Upgrade: WebSocket\r\nConnection: upgrade",
                b"\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n",
            ),
            (
                b"Upgrade: SPDY/3.1\r\nConnection: upgrade\r\nContent-Length: 0",
                b"\r\nContent-Length: 0\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n",
            ),
            (b"Upgrade: h2c\r\nConnection: upgrade", b"\r\nX-Scheme: https\r\n\r\n"),
            (b"Connection: close", b"\r\nX-Scheme: https\r\n\r\n"),
        ):
            rendered = upstream_head(parse_request_head(start + lines), b"id1", PEER)
            self.assertTrue(rendered.endswith(ending), rendered)

    def test_no_host(self) -> None:
        """HTTP/1.0 without a Host goes on with an empty one, which RFC 9112 section 3.2 asks for."""
        rendered = upstream_head(parse_request_head(b"GET / HTTP/1.0"), b"id1", PEER)
        self.assertTrue(rendered.startswith(b"GET / HTTP/1.1\r\nHost: \r\n"))

    @settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
    @given(LINES, FIELDS, st.sampled_from([True, True, True, False]))
    def test_strict(self, line: bytes, fields: list[bytes], with_host: bool) -> None:
        """Whatever is accepted goes on as one message that a strict reader reads as we did."""
        if with_host:
            fields = [b"Host: a.test", *fields]
        try:
            head = parse_request_head(b"\r\n".join((line, *fields)))
        except HeadError as error:
            self.assertIn(error.status, (400, 405, 414, 417, 431, 501, 505))
            return
        body = b"0\r\n\r\n" if head.chunked else b"b" * max(0, min(head.content_length, 10**6))
        message, rest = read_request(upstream_head(head, b"id1", PEER) + body + b"rest")
        self.assertEqual(rest, b"rest")
        self.assertEqual(message.start[:2], (head.method, head.target))
        self.assertEqual(message.values(b"host"), [head.authority])
        self.assertEqual(message.values(b"x-real-ip"), [b"198.51.100.7"])
        self.assertEqual(message.values(b"x-forwarded-for"), [b"198.51.100.7"])
        self.assertEqual(message.values(b"x-forwarded-proto"), [b"https"])
        self.assertEqual(message.values(b"x-forwarded-host"), [head.authority])
        self.assertEqual(message.values(b"x-request-id"), [b"id1"])
        self.assertLessEqual(len(message.values(b"x-original-forwarded-for")), 1)
        for name, _ in message.fields:
            self.assertNotIn(b"_", name)
            self.assertNotIn(name.lower(), (b"te", b"keep-alive", b"proxy-connection", b"forwarded"))


class TrustedProxiesTests(SynchronousTestCase):
    """What a proxy of ours says about the client is believed; what anybody else says is not."""

    trusted = TrustedProxies(["198.51.100.0/24", "2001:db8::1"])

    def origin(self, *lines: bytes, peer: bytes = b"198.51.100.7") -> Origin:
        head = parse_request_head(b"\r\n".join([b"GET / HTTP/1.1", b"Host: a", *lines]))
        return self.trusted.origin(origin_of_peer(peer, b"http", 80), head)

    def test_membership(self) -> None:
        """A peer is trusted when it is in one of the networks; without networks, none is."""
        for address, expected in (
            (b"198.51.100.7", True),
            (b"198.51.101.7", False),
            (b"2001:db8::1", True),
            (b"2001:db8::2", False),
            (b"unknown", False),
        ):
            self.assertEqual(address in self.trusted, expected, address)
        self.assertNotIn(b"198.51.100.7", TrustedProxies())

    def test_bad_network(self) -> None:
        """A text that is no network is refused."""
        self.assertRaises(ValueError, TrustedProxies, ["10.0.0.0/33"])

    def test_kept_and_appended(self) -> None:
        """The list of a trusted peer goes on with the peer appended, and names the client."""
        origin = self.origin(
            b"X-Forwarded-For: 203.0.113.9", b"X-Forwarded-Proto: https", b"X-Forwarded-Host: b"
        )
        self.assertEqual((origin.address, origin.scheme, origin.host), (b"203.0.113.9", b"https", b"b"))
        self.assertIn(b"X-Real-IP: 203.0.113.9\r\n", origin.fields)
        self.assertIn(b"X-Forwarded-For: 203.0.113.9, 198.51.100.7\r\n", origin.fields)
        self.assertIn(b"X-Forwarded-Port: 443\r\n", origin.fields)
        self.assertIn(b"X-Forwarded-Proto: https\r\n", origin.fields)

    def test_client_is_the_last_that_is_not_ours(self) -> None:
        """What a client claims in front of the first proxy of ours is not believed."""
        origin = self.origin(b"X-Forwarded-For: 10.0.0.1, 203.0.113.9, 198.51.100.8")
        self.assertEqual(origin.address, b"203.0.113.9")

    def test_ports(self) -> None:
        """Some load balancers write ports behind the addresses, which are passed over; the list goes on with them."""
        for said, expected in (
            (b"203.0.113.9:50123", b"203.0.113.9"),
            (b"192.0.2.1, 203.0.113.9:50123, 198.51.100.8:443", b"203.0.113.9"),
            (b"[2001:db8::9]:50123", b"2001:db8::9"),
            (b"2001:db8::9, [2001:db8::1]", b"2001:db8::9"),
            (b"[2001:DB8:1:2:3:4:255.255.255.255]:65535", b"2001:DB8:1:2:3:4:255.255.255.255"),
        ):
            origin = self.origin(b"X-Forwarded-For: " + said)
            self.assertEqual(origin.address, expected, said)
            self.assertIn(b"X-Forwarded-For: " + said + b", 198.51.100.7\r\n", origin.fields)
        for said in (
            b"203.0.113.9:",
            b"203.0.113.9:x",
            b"203.0.113.9:123456",
            b"203.0.113:1",
            b":1",
            b"[203.0.113.9]:1",
            b"[2001:db8::9",
            b"[2001:db8::9]x",
            b"[]:1",
            b"[fe80::1%eth0]:1",
        ):
            self.assertEqual(self.origin(b"X-Forwarded-For: " + said).address, b"198.51.100.7", said)

    def test_networks(self) -> None:
        """Networks of all lengths and both versions are told apart; an address of version 6 is none of version 4."""
        trusted = TrustedProxies(["10.0.0.0/8", "10.0.0.0/24", "192.0.2.1", "::/0"])
        for address, expected in (
            (b"10.255.0.1", True),
            (b"11.0.0.1", False),
            (b"192.0.2.1", True),
            (b"192.0.2.2", False),
            (b"::ffff:11.0.0.1", True),
        ):
            self.assertEqual(address in trusted, expected, address)
        self.assertNotIn(b"::ffff:10.0.0.1", TrustedProxies(["10.0.0.0/8"]))

    def test_long_list(self) -> None:
        """Of a list that is too long its end alone names the client, and all of it goes on."""
        ours = b", ".join([b"198.51.100.8"] * (MAX_HOPS - 1))
        origin = self.origin(b"X-Forwarded-For: 203.0.113.1, 203.0.113.9, " + ours)
        self.assertEqual(origin.address, b"203.0.113.9")
        self.assertIn(
            b"X-Forwarded-For: 203.0.113.1, 203.0.113.9, " + ours + b", 198.51.100.7\r\n", origin.fields
        )
        origin = self.origin(b"X-Forwarded-For: 203.0.113.9, 198.51.100.9, " + ours)
        self.assertEqual(origin.address, b"198.51.100.9")

    def test_bound(self) -> None:
        """However many addresses there are, and whatever each is, few are read, each once, and few remembered."""
        read: list[str] = []
        real = ipaddress.ip_address

        def ip_address(text: str) -> object:
            read.append(text)
            return real(text)

        self.patch(forwarding, "ip_address", ip_address)
        everybody = TrustedProxies(["0.0.0.0/0"])
        peer = origin_of_peer(b"198.51.100.7", b"http", 80)
        for start in range(0, 7000, 3500):
            hops = b",".join(b"10.%d.0.%d" % divmod(number, 250) for number in range(start, start + 2900))
            head = parse_request_head(b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: " + hops)
            for _ in range(2):
                origin = everybody.origin(peer, head)
                self.assertEqual(origin.address, hops.rsplit(b",", MAX_HOPS)[1])
        self.assertEqual(len(read), len(set(read)))
        self.assertEqual(len(read), 1 + 2 * MAX_HOPS)
        for number in range(2 * MEMO_ADDRESSES):
            self.assertIn(b"10.2.%d.%d" % divmod(number, 250), everybody)
        self.assertEqual(everybody.remembered, MEMO_ADDRESSES)

    def test_long_address(self) -> None:
        """What is longer than any address is none, and nothing is remembered of it."""
        trusted = TrustedProxies(["198.51.100.0/24"])
        head = parse_request_head(b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: " + b"1" * 30_000)
        origin = trusted.origin(origin_of_peer(b"198.51.100.7", b"http", 80), head)
        self.assertEqual(origin.address, b"198.51.100.7")
        self.assertEqual(trusted.remembered, 1)

    def test_schemes(self) -> None:
        """Of a list the first scheme and port count, as they do of hosts; a WebSocket's scheme is that of its handshake."""
        for said, port, scheme, told in (
            (b"https", b"443", b"https", b"443"),
            (b"HTTPS", b"8443", b"https", b"8443"),
            (b"wss", b"443", b"https", b"443"),
            (b"ws", b"8080", b"http", b"8080"),
            (b"https,http", b"443,80", b"https", b"443"),
            (b"https, https", b"443 , 443", b"https", b"443"),
            (b"http,https", b"80", b"http", b"80"),
            (b",https", b"1234", b"http", b"1234"),
        ):
            origin = self.origin(b"X-Forwarded-Proto: " + said, b"X-Forwarded-Port: " + port)
            self.assertEqual(origin.scheme, scheme, said)
            self.assertIn(b"X-Forwarded-Proto: %b\r\n" % scheme, origin.fields)
            self.assertIn(b"X-Forwarded-Port: %b\r\n" % told, origin.fields)
        twice = self.origin(b"X-Forwarded-Proto: https", b"X-Forwarded-Proto: http")
        self.assertEqual(twice.scheme, b"https")

    def test_nonsense(self) -> None:
        """What makes no sense is not taken: the peer itself is the client then."""
        origin = self.origin(
            b"X-Forwarded-For: somebody", b"X-Forwarded-Proto: gopher", b"X-Forwarded-Port: many"
        )
        self.assertEqual((origin.address, origin.scheme), (b"198.51.100.7", b"http"))
        self.assertIn(b"X-Forwarded-Port: 80\r\n", origin.fields)

    def test_zone(self) -> None:
        """An address with a zone is none: a zone may be any text, and nobody could reach it."""
        origin = self.origin(b'X-Forwarded-For: fe80::1%" 200 -')
        self.assertEqual(origin.address, b"198.51.100.7")

    def test_forwarded(self) -> None:
        """``Forwarded`` of a trusted peer goes on with the peer appended (RFC 7239 section 4)."""
        origin = self.origin(b"Forwarded: for=203.0.113.9", peer=b"2001:db8::1")
        self.assertIn(b'Forwarded: for=203.0.113.9, for="[2001:db8::1]"\r\n', origin.fields)

    def test_untrusted(self) -> None:
        """Of any other peer, nothing but its X-Forwarded-For goes on, under another name."""
        head = parse_request_head(
            b"GET / HTTP/1.1\r\nHost: a\r\nForwarded: for=1\r\nX-Forwarded-Host: evil\r\n"
            b"X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Prefix: /x\r\nX_Forwarded_For: 7"
        )
        sent = upstream_head(head, b"id1", PEER)
        for absent in (b"\r\nForwarded:", b"evil", b"Prefix", b"X_Forwarded"):
            self.assertNotIn(absent, sent)
        self.assertIn(b"\r\nX-Original-Forwarded-For: 6.6.6.6\r\n", sent)


class BelievedTests(SynchronousTestCase):
    """What is believed of trusted peers, and in which field they name the client, as the operator has it."""

    LINES = (
        b"X-Forwarded-For: 203.0.113.9, 203.0.113.8",
        b"X-Forwarded-Proto: https",
        b"X-Forwarded-Host: b.test",
        b"X-Forwarded-Prefix: /p",
        b"X-Real-IP: 203.0.113.7",
        b"cf-connecting-ip:  203.0.113.6 ",
        b"X-CF-Connecting-IP: 6.6.6.6",
    )

    def sent(self, trusted: TrustedProxies, *lines: bytes) -> tuple[Origin, bytes]:
        """Where a request comes from, and the head that goes upstream."""
        head = parse_request_head(b"\r\n".join([b"GET / HTTP/1.1", b"Host: a", *(lines or self.LINES)]))
        peer = origin_of_peer(b"198.51.100.7", b"http", 80)
        origin = trusted.origin(peer, head) if trusted.believes(peer.address) else peer
        return origin, upstream_head(head, b"id1", origin)

    def trusted(
        self, believed: ForwardedHeaders, header: str = "X-Forwarded-For", *, is_full: bool = False
    ) -> TrustedProxies:
        return TrustedProxies(["198.51.100.0/24"], believed, header, is_full=is_full)

    def test_replaced_unless_full(self) -> None:
        """The list goes on whole, with the peer appended, only where the operator wants that; else it is the client alone.

        What came goes on as X-Original-Forwarded-For in any case.
        """
        for is_full, listed in (
            (False, b"203.0.113.8"),
            (True, b"203.0.113.9, 203.0.113.8, 198.51.100.7"),
        ):
            origin, sent = self.sent(self.trusted(ForwardedHeaders.ALL, is_full=is_full))
            self.assertEqual(
                (origin.address, origin.scheme, origin.host), (b"203.0.113.8", b"https", b"b.test")
            )
            self.assertIn(b"\r\nX-Forwarded-For: %b\r\n" % listed, sent)
            self.assertIn(b"\r\nX-Original-Forwarded-For: 203.0.113.9, 203.0.113.8\r\n", sent)
            self.assertIn(b"\r\nX-Forwarded-Prefix: /p\r\n", sent)

    def test_address_alone(self) -> None:
        """Who the client is may be believed, and nothing else."""
        origin, sent = self.sent(self.trusted(ForwardedHeaders.ADDRESS))
        self.assertEqual((origin.address, origin.scheme, origin.host), (b"203.0.113.8", b"http", b""))
        self.assertIn(b"\r\nX-Real-IP: 203.0.113.8\r\n", sent)
        self.assertIn(b"\r\nX-Forwarded-Host: a\r\n", sent)
        self.assertNotIn(b"Prefix", sent)

    def test_others_alone(self) -> None:
        """Or everything but that, where a PROXY header has told it."""
        origin, sent = self.sent(self.trusted(ForwardedHeaders.OTHERS))
        self.assertEqual((origin.address, origin.scheme, origin.host), (b"198.51.100.7", b"https", b"b.test"))
        self.assertIn(b"\r\nX-Forwarded-For: 198.51.100.7\r\n", sent)

    def test_host(self) -> None:
        """The first host that is said is the Host of endpoints where the operator wants it, if it can be the host of anything."""
        for said, authority, host in (
            (b"b.test", b"b.test", b"b.test"),
            (b"B.test:8443 , c.test", b"B.test:8443", b"B.test"),
            (b"[2001:db8::1]:80", b"[2001:db8::1]:80", b"[2001:db8::1]"),
            (b"", b"", b""),
            (b", c.test", b"", b""),
            (b"u@b.test", b"", b""),
            (b"b.test/x", b"", b""),
            (b"b.test:", b"", b""),
            (b"b.test c.test", b"", b""),
            (b"2001:db8::1", b"", b""),
            (b"b" * 254, b"", b""),
        ):
            line = b"X-Forwarded-Host: " + said
            for believed in ForwardedHeaders:
                is_believed = believed in (ForwardedHeaders.ALL, ForwardedHeaders.OTHERS)
                trusted = TrustedProxies(["198.51.100.0/24"], believed, takes_host=True)
                origin, sent = self.sent(trusted, line)
                expected = (authority, host) if is_believed else (b"", b"")
                self.assertEqual((origin.authority, origin.public_host), expected, (said, believed))
                if expected[0]:
                    self.assertIn(b"\r\nX-Forwarded-Host: %b\r\n" % authority, sent)
            origin, _ = self.sent(TrustedProxies(["198.51.100.0/24"]), line)
            self.assertEqual((origin.authority, origin.public_host), (b"", b""))

    def test_nothing(self) -> None:
        """Or nothing at all: such a peer is trusted to send a PROXY header, and no more."""
        trusted = self.trusted(ForwardedHeaders.NONE, is_full=True)
        self.assertIn(b"198.51.100.7", trusted)
        origin, sent = self.sent(trusted)
        self.assertEqual((origin.address, origin.scheme), (b"198.51.100.7", b"http"))
        self.assertIn(b"\r\nX-Forwarded-For: 198.51.100.7\r\n", sent)
        # A connection that was believed when it began is not, once the operator has changed his mind.
        head = parse_request_head(b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 6.6.6.6")
        self.assertEqual(trusted.origin(PEER, head), PEER)

    def test_other_field(self) -> None:
        """The client may stand in another field, in whatever case; a field whose name only ends like it is another one."""
        for header, client in (
            ("CF-Connecting-IP", b"203.0.113.6"),
            ("X-Real-IP", b"203.0.113.7"),
            ("True-Client-IP", b"198.51.100.7"),
        ):
            for believed in (ForwardedHeaders.ALL, ForwardedHeaders.ADDRESS):
                origin, sent = self.sent(self.trusted(believed, header))
                self.assertEqual(origin.address, client, header)
                self.assertIn(b"\r\nX-Real-IP: %b\r\n" % client, sent)
                self.assertEqual(sent.count(b"X-Real-IP"), 1)

    def test_other_field_of_others(self) -> None:
        """Whoever is not trusted says nothing by that field, which goes on as any other."""
        trusted = TrustedProxies(["10.0.0.0/8"], ForwardedHeaders.ALL, "CF-Connecting-IP")
        origin, sent = self.sent(trusted)
        self.assertEqual(origin.address, b"198.51.100.7")
        self.assertIn(b"\r\ncf-connecting-ip:  203.0.113.6 \r\n", sent)

    def test_hostile_field(self) -> None:
        """Nonsense, zones and lists of thousands in that field cost little and name nobody."""
        trusted = self.trusted(ForwardedHeaders.ALL, "CF-Connecting-IP")
        for value in (b"", b"x", b"fe80::1%x", b"6.6.6.6:x", b"," * 5000, b"a," * 3000, b"9" * 8000):
            origin, _ = self.sent(trusted, b"CF-Connecting-IP: " + value)
            self.assertEqual(origin.address, b"198.51.100.7", value[:20])

"""The fields about a request that endpoints get, as those that come from ingress-nginx know them."""

from ingress.http.forwarding import TrustedProxies
from ingress.model.serving.serving_settings import ForwardedHeaders
from tests.proxy.h2_playing import SessionCase
from tests.proxy.playing import OK, ProxyCase, fields_of

CLAIMS = (
    b"X-Real-IP: 6.6.6.6",
    b"X-Forwarded-For: 6.6.6.6",
    b"X-Forwarded-Host: evil.test",
    b"X-Forwarded-Port: 1",
    b"X-Forwarded-Proto: https",
    b"X-Forwarded-Scheme: https",
    b"X-Scheme: https",
    b"Proxy: http://evil.test",
)


class AddedFieldTests(ProxyCase):
    """In HTTP/1.1."""

    def sent(self, *lines: bytes, host: bytes = b"shop.test") -> dict[bytes, bytes]:
        """The fields that an endpoint gets of a request with these lines."""
        client = self.stage.open()
        client.say(b"\r\n".join([b"GET / HTTP/1.1", b"Host: " + host, *lines, b"", b""]))
        upstream = self.upstream()
        fields = fields_of(upstream.take())
        upstream.say(OK)
        self.assert_status(client.take(), 200)
        return fields

    def test_q8_always_there(self) -> None:
        """Every request that goes on says who asks, for which host, port and scheme, and has an id; Proxy never goes on."""
        for lines in ((), CLAIMS):
            sent = self.sent(*lines)
            peer = sent[b"x-real-ip"]
            self.assertNotIn(b"6.6.6.6", peer)
            self.assertEqual(
                {
                    name: value
                    for name, value in sent.items()
                    if name.startswith(b"x-") and name != b"x-request-id"
                },
                {
                    b"x-real-ip": peer,
                    b"x-forwarded-for": peer,
                    b"x-forwarded-host": b"shop.test",
                    b"x-forwarded-port": b"8080",
                    b"x-forwarded-proto": b"http",
                    b"x-forwarded-scheme": b"http",
                    b"x-scheme": b"http",
                }
                | ({b"x-original-forwarded-for": b"6.6.6.6"} if lines else {}),
            )
            self.assertRegex(sent[b"x-request-id"], rb"^[0-9a-f]{32}$")
            self.assertNotIn(b"proxy", sent)

    def test_own_request_id(self) -> None:
        """A request that has an id keeps it."""
        self.assertEqual(self.sent(b"X-Request-ID: mine")[b"x-request-id"], b"mine")

    def test_q7_forwarded_for_is_replaced(self) -> None:
        """What a client lists in X-Forwarded-For is replaced by its address, also if proxies are believed; unless the whole list is wanted."""
        peer = self.sent()[b"x-real-ip"].decode()
        claimed = b"X-Forwarded-For: 203.0.113.9, 203.0.113.8"
        self.assertEqual(self.sent(claimed)[b"x-forwarded-for"], peer.encode())
        for is_full, listed in ((False, "203.0.113.8"), (True, f"203.0.113.9, 203.0.113.8, {peer}")):
            self.stage.site.trust(TrustedProxies([peer], ForwardedHeaders.ALL, is_full=is_full))
            sent = self.sent(claimed)
            self.assertEqual(sent[b"x-forwarded-for"], listed.encode())
            self.assertEqual(sent[b"x-real-ip"], b"203.0.113.8")
            self.assertEqual(sent[b"x-original-forwarded-for"], b"203.0.113.9, 203.0.113.8")

    def test_forwarded_host(self) -> None:
        """The host that a trusted proxy says is the Host of endpoints where that is wanted, whoever asks them; the log has what came."""
        peer = self.sent()[b"x-real-ip"].decode()
        line = b"X-Forwarded-Host: www.Shop.test:8443, cdn.test"
        for takes_host, networks, host, said in (
            (False, [peer], b"shop.test", b"www.Shop.test:8443, cdn.test"),
            (True, ["192.0.2.77"], b"shop.test", b"shop.test"),
            (True, [peer], b"www.Shop.test:8443", b"www.Shop.test:8443"),
        ):
            self.stage.site.trust(TrustedProxies(networks, takes_host=takes_host))
            sent = self.sent(line)
            self.assertEqual((sent[b"host"], sent[b"x-forwarded-host"]), (host, said))
            received = self.metrics.records[-1].head
            assert received is not None
            self.assertEqual(received.authority, b"shop.test")

    def test_q11_host_in_any_case(self) -> None:
        """A host is the same in whatever case it is asked for; endpoints get it as it was written."""
        self.assertEqual(self.sent(host=b"SHOP.Test")[b"host"], b"SHOP.Test")

    def test_underscores(self) -> None:
        """Names with underscores go on where the operator wants it, but never one that could stand for what we say."""
        lines = (
            b"api_key: 1",
            b"X_Real_IP: 6.6.6.6",
            b"x_forwarded_for: 6.6.6.6",
            b"SSL_Client_Verify: SUCCESS",
            b"Content_Length: 5",
        )
        self.assertFalse([name for name in self.sent(*lines) if b"_" in name])
        self.stage.site.context.takes_underscores = True
        for _ in range(3):
            sent = self.sent(*lines)
            self.assertEqual([name for name in sent if b"_" in name], [b"api_key"])
            self.assertEqual(sent[b"api_key"], b"1")
        self.assertFalse([name for name in self.sent(*lines, b"Connection: api_key") if b"_" in name])
        self.stage.site.context.takes_underscores = False
        self.assertFalse([name for name in self.sent(*lines) if b"_" in name])


class AddedFieldsOfSessionTests(SessionCase):
    """In HTTP/2."""

    def test_forwarded_host(self) -> None:
        """A trusted proxy says the Host of endpoints there, too, each request its own."""
        for takes_host in (False, True):
            self.stage.site.trust(TrustedProxies(["0.0.0.0/0", "::/0"], takes_host=takes_host))
            client = self.stage.client()
            for number in range(3):
                said = b"www%d.test" % number
                client.send(client.request(2 * number + 1, more=[(b"x-forwarded-host", said)]))
                self.stage.serve()
                hosts = [value for name, value in self.stage.requests[-1].fields if name.lower() == b"host"]
                self.assertEqual(hosts, [said if takes_host else b"shop.test"])

    def test_underscores(self) -> None:
        """The same holds in HTTP/2, whose blocks come again."""
        client = self.stage.client()
        for number, takes in enumerate((False, True, True, False)):
            self.stage.site.context.takes_underscores = takes
            client.send(client.request(2 * number + 1, more=[(b"api_key", b"1"), (b"x_real_ip", b"6.6.6.6")]))
            self.stage.serve()
            names = [name.lower() for name, _ in self.stage.requests[-1].fields if b"_" in name]
            self.assertEqual(names, [b"api_key"] if takes else [])

"""The server name is read strictly, from any pieces, and within a bound."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SkipTest, SynchronousTestCase

from ingress.tls.client_hello import MAX_HELLO_BYTES, ClientHello, ClientHelloReader, HelloError
from tests.tls.hellos import extension, hello, message, openssl_hello, records, server_name, vector

ALPN = extension(16, vector(2, vector(1, b"h2") + vector(1, b"http/1.1")))


def read(octets: bytes) -> ClientHello | None:
    """Read bytes that came all at once."""
    return ClientHelloReader().read(octets)


def read_in_pieces(octets: bytes, ends: list[int]) -> ClientHello | None:
    """Show a reader the bytes up to each of *ends*, and then all of them."""
    reader = ClientHelloReader()
    for end in [*ends, len(octets)]:
        found = reader.read(octets[:end])
        if found is not None:
            return found
    return None


def outcome(octets: bytes, ends: list[int]) -> ClientHello | str | None:
    """What becomes of *octets* in pieces, a refusal as its text."""
    try:
        return read_in_pieces(octets, ends)
    except HelloError as error:
        return str(error)


class ServerNameTests(SynchronousTestCase):
    """What name is read."""

    def assert_name(self, octets: bytes, name: bytes | None) -> None:
        self.assertEqual(read(octets), ClientHello(name))

    def test_name(self) -> None:
        """The name is read among other extensions, some of which mean nothing (GREASE)."""
        self.assert_name(hello(b"shop.test", ALPN, extension(0x1A1A, b"\x00")), b"shop.test")

    def test_normal_form(self) -> None:
        """Case and one trailing dot make no difference."""
        self.assert_name(hello(b"Shop.TEST."), b"shop.test")

    def test_openssl(self) -> None:
        """What OpenSSL sends is read, with a name and without."""
        self.assert_name(openssl_hello(b"shop.test"), b"shop.test")
        self.assert_name(openssl_hello(None), None)

    def test_post_quantum(self) -> None:
        """A hello with a key of ML-KEM, which fills more than one segment, is read at any cut, and in any records."""
        try:
            octets = openssl_hello(b"shop.test", b"X25519MLKEM768")
        except ValueError:
            raise SkipTest("this OpenSSL has no ML-KEM") from None
        self.assertGreater(len(octets), 1184)
        for end in range(1, len(octets)):
            self.assertIsNone(read(octets[:end]))
        self.assertEqual(read_in_pieces(octets, list(range(1, len(octets)))), ClientHello(b"shop.test"))
        self.assertEqual(
            read_in_pieces(records(octets[5:], 100), list(range(0, len(octets), 64))),
            ClientHello(b"shop.test"),
        )

    def test_no_name(self) -> None:
        """Without the extension, or any extension, there is no name."""
        self.assert_name(records(message([ALPN])), None)
        self.assert_name(records(message([])), None)
        self.assert_name(records(message(None)), None)

    def test_what_follows(self) -> None:
        """Records behind the ClientHello, such as early data, are not looked at."""
        self.assert_name(hello(b"shop.test") + b"\x17\x03\x03\x00\x05early", b"shop.test")

    def test_every_split(self) -> None:
        """Cut at any byte, and in records of any size, it is the same ClientHello."""
        whole = message([server_name(b"shop.test"), ALPN])
        for size in (1, 2, 3, 7, 50, len(whole)):
            octets = records(whole, size)
            for end in range(len(octets)):
                self.assertIsNone(read(octets[:end]))
                self.assertEqual(read_in_pieces(octets, [end]), ClientHello(b"shop.test"))
            self.assertEqual(read_in_pieces(octets, list(range(len(octets)))), ClientHello(b"shop.test"))

    def test_largest(self) -> None:
        """A ClientHello may fill one whole record."""
        room = 16384 - len(message([server_name(b"a.test"), extension(21, b"")]))
        octets = records(message([server_name(b"a.test"), extension(21, bytes(room))]))
        self.assertEqual(len(octets), MAX_HELLO_BYTES)
        self.assert_name(octets, b"a.test")


class RefusalTests(SynchronousTestCase):
    """What is no ClientHello, or could be read in another way."""

    def assert_refused(self, octets: bytes, why: str) -> None:
        with self.assertRaises(HelloError) as caught:
            read(octets)
        self.assertIn(why, str(caught.exception))

    def test_other_protocols(self) -> None:
        """Other protocols are told by their first bytes."""
        self.assert_refused(b"G", "not a TLS handshake")
        self.assert_refused(b"\x80\x2e\x01\x03\x01", "not a TLS handshake")
        self.assert_refused(b"\x16\x02", "not a version of TLS")
        self.assert_refused(records(b"\x02\x00\x00\x00"), "not a ClientHello")

    def test_record_lengths(self) -> None:
        """A record is neither empty nor larger than it may be."""
        self.assert_refused(b"\x16\x03\x01\x00\x00", "length of a record")
        self.assert_refused(b"\x16\x03\x01\x40\x01", "length of a record")

    def test_too_large(self) -> None:
        """What cannot end within the bound is refused as soon as that is known."""
        self.assert_refused(records(b"\x01\x00\x40\x00"), "too large")
        self.assert_refused(records(message([extension(21, bytes(20000))]), 1000), "too large")
        self.assert_refused(records(b"\x01\x00\x3f\x00" + bytes(8000), 1), "too large")

    def test_twice(self) -> None:
        """Nothing may stand there twice: extensions, names."""
        self.assert_refused(hello(b"a.test", server_name(b"b.test")), "twice")
        self.assert_refused(hello(b"a.test", extension(0x1A1A, b""), extension(0x1A1A, b"")), "twice")
        two = vector(2, b"\x00" + vector(2, b"a.test") + b"\x00" + vector(2, b"b.test"))
        self.assert_refused(records(message([extension(0, two)])), "more than one")

    def test_names(self) -> None:
        """A name is 1 to 255 visible ASCII characters of type host_name."""
        for name in (b"", b".", b"a\x00b", "ä.test".encode(), b"a b", bytes([127]), b"a" * 256):
            with self.assertRaises(HelloError, msg=repr(name)):
                read(hello(name))
        self.assert_refused(records(message([extension(0, b"")])), "longer than what holds it")
        self.assert_refused(records(message([extension(0, b"\x00\x00")])), "out of bounds")
        other = vector(2, b"\x01" + vector(2, b"a.test"))
        self.assert_refused(records(message([extension(0, other)])), "type")

    def test_trailing(self) -> None:
        """Nothing may follow inside of anything that has a length."""
        self.assert_refused(records(message([server_name(b"a.test")]) + b"\x00"), "follows the ClientHello")
        longer = vector(2, b"\x00" + vector(2, b"a.test")) + b"\x00"
        self.assert_refused(records(message([extension(0, longer)])), "follows the server names")
        body = message([])[4:] + b"\x00"
        self.assert_refused(records(b"\x01" + vector(3, body)), "follows the extensions")

    def test_every_truncation(self) -> None:
        """A ClientHello whose content is cut at any byte, with lengths around it that fit, is refused."""
        body = message([server_name(b"shop.test"), ALPN])[4:]
        bare = len(message(None)) - 4
        for end in range(len(body)):
            if end != bare:
                with self.assertRaises(HelloError, msg=str(end)):
                    read(records(b"\x01" + vector(3, body[:end])))


class PropertyTests(SynchronousTestCase):
    """What holds for any bytes."""

    @given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
    def test_any_bytes(self, octets: bytes, ends: list[int]) -> None:
        """Any bytes are read or refused, and pieces make no difference."""
        pieces = sorted(min(end, len(octets)) for end in ends)
        for prefix in (b"", b"\x16\x03\x01\x00", b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03" + bytes(32)):
            self.assertEqual(outcome(prefix + octets, pieces), outcome(prefix + octets, []))

    @given(st.integers(0, 200), st.integers(0, 255), st.integers(1, 60), st.data())
    def test_one_wrong_byte(self, place: int, byte: int, size: int, data: st.DataObject) -> None:
        """A ClientHello with one byte changed is read or refused, the same in any records and pieces."""
        whole = bytearray(message([server_name(b"shop.test"), ALPN]))
        whole[place % len(whole)] = byte
        octets = records(bytes(whole), size)
        ends = data.draw(st.lists(st.integers(0, len(octets)), max_size=8).map(sorted))
        self.assertEqual(outcome(octets, ends), outcome(octets, []))

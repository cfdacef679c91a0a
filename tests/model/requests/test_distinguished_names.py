"""Subjects and issuers as one line."""

from cryptography import x509
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import NameOID
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.requests.distinguished_names import common_names, line_of


def name(*parts: tuple[x509.ObjectIdentifier, str]) -> x509.Name:
    """Make a name of these attributes, one part each."""
    return x509.Name([x509.NameAttribute(oid, value, _validate=False) for oid, value in parts])


class LineTests(SynchronousTestCase):
    """The line is that of nginx, and cannot leave its header field."""

    def test_order_and_types(self) -> None:
        """The last part comes first, by the short names that OpenSSL has."""
        found = line_of(
            name(
                (NameOID.COUNTRY_NAME, "DE"),
                (NameOID.STATE_OR_PROVINCE_NAME, "Berlin"),
                (NameOID.ORGANIZATION_NAME, "Shop"),
                (NameOID.EMAIL_ADDRESS, "ann@shop.test"),
                (NameOID.COMMON_NAME, "ann"),
            )
        )
        self.assertEqual(found, b"CN=ann,emailAddress=ann@shop.test,O=Shop,ST=Berlin,C=DE")

    def test_escapes(self) -> None:
        """What has a meaning in the line is escaped; spaces and hashes where they have one."""
        for value, shown in (
            ('a,b+c"d;e<f>g\\h', rb"a\,b\+c\"d\;e\<f\>g\\h"),
            (" a b ", rb"\ a b\ "),
            ("#a#", rb"\#a#"),
            ("a=b", b"a=b"),
        ):
            self.assertEqual(line_of(name((NameOID.COMMON_NAME, value))), b"CN=" + shown)

    def test_nothing_but_printable_ascii(self) -> None:
        """Line breaks, NUL and other scripts come as escaped bytes."""
        found = line_of(name((NameOID.COMMON_NAME, "a\r\nssl-client-verify: SUCCESS\x00\x7fé")))
        self.assertEqual(found, rb"CN=a\0D\0Assl-client-verify: SUCCESS\00\7F\C3\A9")

    def test_several_attributes_in_one_part(self) -> None:
        """A part of several attributes has a plus between them."""
        part = x509.RelativeDistinguishedName(
            [
                x509.NameAttribute(NameOID.COMMON_NAME, "ann"),
                x509.NameAttribute(NameOID.USER_ID, "7"),
            ]
        )
        self.assertEqual(sorted(line_of(x509.Name([part])).split(b"+")), [b"CN=ann", b"UID=7"])

    def test_unknown_type(self) -> None:
        """A type without a short name is shown by its number, with the DER of its value: no text that looks like another part."""
        kind = x509.ObjectIdentifier("1.2.3.4")
        self.assertEqual(line_of(name((kind, "x"))), b"1.2.3.4=#0C0178")
        long = line_of(name((kind, "CN=admin" * 40)))
        self.assertEqual(long, b"1.2.3.4=#0C820140" + b"CN=admin".hex().upper().encode() * 40)

    def test_octets(self) -> None:
        """A value that is no text is shown by its DER."""
        bits = x509.NameAttribute(NameOID.X500_UNIQUE_IDENTIFIER, b"\x00\xa5", _ASN1Type.BitString)
        self.assertEqual(line_of(x509.Name([bits])), b"x500UniqueIdentifier=#030200A5")

    def test_empty(self) -> None:
        """No name is an empty line."""
        self.assertEqual(line_of(x509.Name([])), b"")

    def test_common_names(self) -> None:
        """All common names are found, as they are."""
        subject = name(
            (NameOID.COMMON_NAME, "a,b"), (NameOID.ORGANIZATION_NAME, "CN=c"), (NameOID.COMMON_NAME, "d")
        )
        self.assertEqual(common_names(subject), ("a,b", "d"))

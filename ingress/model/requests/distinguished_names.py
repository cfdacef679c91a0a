"""Subject and issuer of a certificate as one line of text (RFC 2253), and its common names.

The line is what nginx calls ``$ssl_client_s_dn``, and goes into a header field: whatever
the issuer of a certificate wrote into it, what comes out is printable ASCII.
"""

from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

# What OpenSSL calls the types; all others are shown by their numbers, and their values as octets.
_SHORT_NAMES: Final = {
    x509.ObjectIdentifier("0.9.2342.19200300.100.1.3"): "mail",
    x509.ObjectIdentifier("2.5.4.13"): "description",
    x509.ObjectIdentifier("2.5.4.20"): "telephoneNumber",
    x509.ObjectIdentifier("2.5.4.41"): "name",
    NameOID.BUSINESS_CATEGORY: "businessCategory",
    NameOID.COMMON_NAME: "CN",
    NameOID.COUNTRY_NAME: "C",
    NameOID.DN_QUALIFIER: "dnQualifier",
    NameOID.DOMAIN_COMPONENT: "DC",
    NameOID.EMAIL_ADDRESS: "emailAddress",
    NameOID.GENERATION_QUALIFIER: "generationQualifier",
    NameOID.GIVEN_NAME: "GN",
    NameOID.INITIALS: "initials",
    NameOID.JURISDICTION_COUNTRY_NAME: "jurisdictionC",
    NameOID.JURISDICTION_LOCALITY_NAME: "jurisdictionL",
    NameOID.JURISDICTION_STATE_OR_PROVINCE_NAME: "jurisdictionST",
    NameOID.LOCALITY_NAME: "L",
    NameOID.ORGANIZATIONAL_UNIT_NAME: "OU",
    NameOID.ORGANIZATION_IDENTIFIER: "organizationIdentifier",
    NameOID.ORGANIZATION_NAME: "O",
    NameOID.POSTAL_ADDRESS: "postalAddress",
    NameOID.POSTAL_CODE: "postalCode",
    NameOID.PSEUDONYM: "pseudonym",
    NameOID.SERIAL_NUMBER: "serialNumber",
    NameOID.STATE_OR_PROVINCE_NAME: "ST",
    NameOID.STREET_ADDRESS: "street",
    NameOID.SURNAME: "SN",
    NameOID.TITLE: "title",
    NameOID.UNSTRUCTURED_NAME: "unstructuredName",
    NameOID.USER_ID: "UID",
    NameOID.X500_UNIQUE_IDENTIFIER: "x500UniqueIdentifier",
}
_ESCAPED: Final = frozenset('"+,;<>\\')


def line_of(name: x509.Name) -> bytes:
    """Return *name* as RFC 2253 writes it, the last part first."""
    parts = ("+".join(_attribute(one) for one in reversed([*rdn])) for rdn in reversed([*name.rdns]))
    return ",".join(parts).encode("ascii")


def common_names(name: x509.Name) -> tuple[str, ...]:
    """Return the common names in *name*; most have one."""
    return tuple(str(one.value) for one in name.get_attributes_for_oid(NameOID.COMMON_NAME))


def _attribute(attribute: x509.NameAttribute) -> str:  # type: ignore[type-arg]
    kind = _SHORT_NAMES.get(attribute.oid)
    if kind is not None and isinstance(attribute.value, str):
        return f"{kind}={_escaped(attribute.value)}"
    # RFC 2253 section 2.4: a number has its value in DER behind it.
    return f"{kind or attribute.oid.dotted_string}=#{_der_of_value(attribute).hex().upper()}"


def _der_of_value(attribute: x509.NameAttribute) -> bytes:  # type: ignore[type-arg]
    # A sequence of one set of one sequence of the type and the value; types that cryptography reads have at most 63 octets.
    both = _content(_content(_content(x509.Name([attribute]).public_bytes())))
    return both[2 + both[1] :]


def _content(der: bytes) -> bytes:
    """Return *der* without its tag and length (X.690 section 8.1.3)."""
    return der[2 if der[1] < 0x80 else 2 + (der[1] & 0x7F) :]


def _escaped(value: str) -> str:
    """RFC 2253 section 2.4; controls and what is not ASCII as the bytes of UTF-8, each escaped."""
    last = len(value) - 1
    shown: list[str] = []
    for place, character in enumerate(value):
        if character in _ESCAPED or (character == " " and place in (0, last)):
            shown.append(f"\\{character}")
        elif character == "#" and not place:
            shown.append("\\#")
        elif " " <= character <= "~":
            shown.append(character)
        else:
            shown += [f"\\{octet:02X}" for octet in character.encode("utf-8", "surrogatepass")]
    return "".join(shown)

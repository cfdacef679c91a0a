"""Keys of the ConfigMap that are decided at the start: the PROXY protocol, and versions of TLS."""

from collections.abc import Mapping
from dataclasses import replace
from socket import inet_aton
from struct import pack

from conformance.ingress_nginx.case import Ask, Case, ingress
from conformance.ingress_nginx.cases.certificates import certificate
from conformance.ingress_nginx.cases.config import SAID

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
PROXY = {"use-proxy-protocol": "true"}


def header(port: int, client: str = "1.2.3.4") -> bytes:
    """The first version, for a connection to *port*."""
    return f"PROXY TCP4 {client} 192.0.2.9 5555 {port}\r\n".encode()


def binary(port: int, command: int = 0x21) -> bytes:
    """The second version; the command 0x20 is of the load balancer itself, as when it looks whether somebody is there."""
    addresses = inet_aton("1.2.3.4") + inet_aton("192.0.2.9") + pack("!HH", 5555, port)
    return SIGNATURE + bytes((command, 0x11)) + pack("!H", len(addresses)) + addresses


def proxied(name: str, *asks: Ask, keys: Mapping[str, str] | None = None, **annotations: str) -> Case:
    return Case(name, (ingress(**annotations),), asks, config={**PROXY, **(keys or {})}, starts=True)


PLAIN, TO_TLS = Ask("/a", preface=header(80)), Ask("/a", preface=header(443))

CASES = (
    proxied(
        "proxy-protocol",
        PLAIN,
        TO_TLS,
        replace(TO_TLS, secure=True),
        Ask("/a", preface=header(8080)),
        Ask("/a", preface=binary(80)),
        Ask("/a", preface=binary(443)),
        Ask("/a", preface=b"PROXY TCP6 2001:db8::1 2001:db8::2 5555 80\r\n"),
        Ask("/a", preface=b"PROXY UNKNOWN\r\n"),
        replace(PLAIN, fields=SAID),
        Ask("/a"),
    ),
    proxied(
        "proxy-protocol-allow",
        PLAIN,
        Ask("/a", preface=header(80, "1.2.4.4")),
        whitelist_source_range="1.2.3.0/24",
    ),
    proxied("proxy-protocol-force", PLAIN, TO_TLS, replace(TO_TLS, secure=True), force_ssl_redirect="true"),
    Case(
        "proxy-protocol-tls",
        (ingress(tls="own"), certificate("own", "proxy-protocol-tls.test")),
        (PLAIN, TO_TLS, replace(TO_TLS, secure=True)),
        config=PROXY,
        starts=True,
    ),
    proxied(
        "proxy-protocol-and-fields",
        PLAIN,
        replace(PLAIN, fields=SAID),
        Ask("/a", preface=header(80, "1.2.4.4"), fields=SAID),
        keys={"use-forwarded-headers": "true", "proxy-real-ip-cidr": "1.2.3.0/24,10.20.1.0/24"},
    ),
    *(
        Case(
            f"tls-versions-{number}",
            (ingress(tls="own"), certificate("own", f"tls-versions-{number}.test")),
            (Ask("/a", secure=True), Ask("/a", secure=True, highest="TLSv1_2")),
            config={"ssl-protocols": versions},
            starts=True,
        )
        for number, versions in enumerate(("TLSv1.3", "TLSv1.2 TLSv1.3"))
    ),
)

"""What goes upstream: the request's own fields, and what a proxy adds.

ingress-nginx sends the same names.  What a peer says under them is believed only when
the peer is a proxy of ours (``TrustedProxies``); of any other it is dropped, except
for its ``X-Forwarded-For``, which goes on as ``X-Original-Forwarded-For``.
"""

import re
from collections.abc import Iterable
from ipaddress import ip_address, ip_network

from attrs import frozen

from ingress.http.request_head import RequestHead


@frozen
class Origin:
    """Where a request comes from, as upstream and the log are told.

    *address* is the client's, *scheme* the one the client used, *port* that of our
    listener, *host* what ``X-Forwarded-Host`` says (empty: what Host says), *fields*
    the other forwarding fields, rendered.
    """

    address: bytes
    scheme: bytes
    port: int
    fields: bytes
    host: bytes = b""


def origin_of_peer(peer: bytes, scheme: bytes, port: int) -> Origin:
    """Return the origin of all requests of a connection whose peer is the client itself.

    *scheme* and *port* are those of the listener that took the connection.
    """
    return Origin(peer, scheme, port, _fields(peer, peer, scheme, b"%d" % port))


class TrustedProxies:
    """The networks whose peers are proxies of ours: they say who the client is."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        """Take CIDR texts; raises ``ValueError`` for what is none."""
        self._networks = tuple(ip_network(network, strict=False) for network in networks)

    def __contains__(self, address: bytes) -> bool:
        if not self._networks:
            return False
        try:
            parsed = ip_address(address.decode("ascii"))
        except ValueError:
            return False
        return any(parsed in network for network in self._networks)

    def origin(self, peer: Origin, head: RequestHead) -> Origin:
        """Return the origin of a request that came through the trusted *peer*.

        The client is the last address of ``X-Forwarded-For`` that is none of our
        proxies; the list goes on with the peer appended.  Scheme, host and port are
        what the peer says, where it says something that makes sense.
        """
        said = head.forwarded
        hops = [hop.strip() for hop in said.get(b"x-forwarded-for", b"").split(b",") if hop.strip()]
        client = peer.address
        for hop in reversed(hops):
            if client not in self or not _is_address(hop):
                break
            client = hop
        scheme = said.get(b"x-forwarded-proto", b"").lower()
        scheme = scheme if scheme in (b"http", b"https") else peer.scheme
        given = said.get(b"x-forwarded-port", b"")
        default = b"%d" % peer.port if scheme == peer.scheme else _DEFAULT_PORTS[scheme]
        fields = _fields(
            client, b", ".join([*hops, peer.address]), scheme, given if _is_port(given) else default
        )
        for name in (b"forwarded", b"x-forwarded-prefix"):
            if name in said:
                value = said[name]
                if name == b"forwarded":
                    node = b'"[%b]"' % peer.address if b":" in peer.address else peer.address
                    value += b", for=" + node
                fields += b"%b: %b\r\n" % (name.title(), value)
        return Origin(client, scheme, peer.port, fields, said.get(b"x-forwarded-host", b""))


_DEFAULT_PORTS = {b"http": b"80", b"https": b"443"}
_is_port = re.compile(rb"[0-9]{1,5}").fullmatch


def _is_address(hop: bytes) -> bool:
    if b"%" in hop:
        # The zone of an IPv6 address may be any text, also a forged field of the log.
        return False
    try:
        ip_address(hop.decode("ascii"))
    except ValueError:
        return False
    return True


def _fields(client: bytes, hops: bytes, scheme: bytes, port: bytes) -> bytes:
    return (
        b"X-Real-IP: %b\r\nX-Forwarded-For: %b\r\nX-Forwarded-Port: %b\r\n"
        b"X-Forwarded-Proto: %b\r\nX-Forwarded-Scheme: %b\r\nX-Scheme: %b\r\n"
    ) % (client, hops, port, scheme, scheme, scheme)


def upstream_fields_of(head: RequestHead, request_id: bytes, origin: Origin) -> bytes:
    """Render the fields that go upstream in whatever protocol: the request's own, and what a proxy adds.

    Each line has its CRLF.  Host and framing are not among them; each protocol has its own.
    """
    fields = b"".join(
        (
            head.forward,
            b"X-Request-ID: ",
            request_id,
            b"\r\nX-Forwarded-Host: ",
            origin.host or head.authority,
            b"\r\n",
            origin.fields,
        )
    )
    said = head.forwarded
    if said and b"x-forwarded-for" in said:
        fields += b"X-Original-Forwarded-For: %b\r\n" % said[b"x-forwarded-for"]
    return fields


def request_head_bytes(head: RequestHead, fields: bytes) -> bytes:
    """Render a head in HTTP/1.1: the request line, Host, *fields*, and what frames the body."""
    framing = b""
    if head.content_length >= 0:
        framing = b"Content-Length: %d\r\n" % head.content_length
    elif head.chunked:
        framing = b"Transfer-Encoding: chunked\r\n"
    if head.expect_continue:
        framing += b"Expect: 100-continue\r\n"
    if head.upgrade:
        framing += b"Connection: Upgrade\r\nUpgrade: %b\r\n" % head.upgrade
    return b"".join(
        (
            head.method,
            b" ",
            head.target,
            b" HTTP/1.1\r\nHost: ",
            head.authority,
            b"\r\n",
            fields,
            framing,
            b"\r\n",
        )
    )

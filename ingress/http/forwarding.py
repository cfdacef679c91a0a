"""What goes upstream: the request's own fields, and what a proxy adds.

ingress-nginx sends the same names.  What a peer says under them is believed only when
the peer is a proxy of ours (``TrustedProxies``); of any other it is dropped, except
for its ``X-Forwarded-For``, which goes on as ``X-Original-Forwarded-For``.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import ip_address, ip_network
from types import MappingProxyType
from typing import Final

from ingress.http.request_head import FORWARDED, RequestHead, sort_of
from ingress.model.serving.serving_settings import ForwardedHeaders, ServingSettings

MAX_HOPS: Final = 16
"""How many addresses of ``X-Forwarded-For`` are looked at, from its end: more proxies of ours than anybody has."""
MEMO_ADDRESSES: Final = 1024
"""Addresses of which it is remembered whether they are of proxies of ours."""
_LONGEST_HOP: Final = len("[0000:0000:0000:0000:0000:ffff:255.255.255.255]:65535")


class Origin:
    """Where a request comes from, as upstream and the log are told.

    *address* is the client's, *scheme* the one the client used, *port* that of our
    listener, *host* what ``X-Forwarded-Host`` says (empty: what Host says), *fields*
    the other forwarding fields, rendered.  *authority* is what endpoints get as Host (empty: what
    Host says), and *public_host* that without its port.
    """

    __slots__ = ("address", "authority", "fields", "host", "port", "public_host", "scheme")

    def __init__(
        self,
        address: bytes,
        scheme: bytes,
        port: int,
        fields: bytes,
        host: bytes = b"",
        public_host: bytes = b"",
    ) -> None:
        self.address = address
        self.scheme = scheme
        self.port = port
        self.fields = fields
        self.host = host
        self.authority = host if public_host else b""
        self.public_host = public_host

    def __repr__(self) -> str:
        return f"<Origin {self.scheme!r} {self.address!r}>"


def origin_of_peer(peer: bytes, scheme: bytes, port: int) -> Origin:
    """Return the origin of all requests of a connection whose peer is the client itself.

    *scheme* and *port* are those of the listener that took the connection.
    """
    return Origin(peer, scheme, port, _fields(peer, peer, scheme, b"%d" % port))


class TrustedProxies:
    """The networks whose peers are proxies of ours: they say who the client is."""

    def __init__(
        self,
        networks: Iterable[str] = (),
        believed: ForwardedHeaders = ForwardedHeaders.ALL,
        header: str = "X-Forwarded-For",
        *,
        is_full: bool = True,
        takes_host: bool = False,
    ) -> None:
        """Take CIDR texts; raises ``ValueError`` for what is none.

        *believed* is what is believed of what they say, *header* the field in which they name the client, and
        *is_full* says that the list of that goes on.  Where it *takes_host*, what they say in
        ``X-Forwarded-Host`` is the Host that endpoints get.
        """
        self._believes_address = believed in (ForwardedHeaders.ALL, ForwardedHeaders.ADDRESS)
        self._believes_others = believed in (ForwardedHeaders.ALL, ForwardedHeaders.OTHERS)
        self._header = header.lower().encode("ascii")
        self._is_full = is_full
        self._takes_host = takes_host
        # What is not set aside when a head is read stands among the fields that go on.
        self._find_header = (
            None
            if sort_of(self._header) == FORWARDED
            else re.compile(
                rb"^%b:[ \t]*([^\r\n]*)" % re.escape(self._header), re.IGNORECASE | re.MULTILINE
            ).findall
        )
        prefixes: dict[tuple[int, int], set[int]] = {}
        for text in networks:
            network = ip_network(text, strict=False)
            behind = network.max_prefixlen - network.prefixlen
            prefixes.setdefault((network.version, behind), set()).add(int(network.network_address) >> behind)
        self._prefixes = tuple((version, behind, known) for (version, behind), known in prefixes.items())
        """Version, bits behind the prefix, and all prefixes of that length."""
        self._is_ours = lru_cache(maxsize=MEMO_ADDRESSES)(self._find)

    def _find(self, address: bytes) -> bool | None:
        """Return whether *address* is of a proxy of ours; None for what is no address."""
        try:
            parsed = ip_address(address.decode("ascii"))
        except ValueError:
            return None
        version, number = parsed.version, int(parsed)
        return any(of == version and number >> behind in known for of, behind, known in self._prefixes)

    @property
    def remembered(self) -> int:
        """How many addresses it remembers the verdict on, at most ``MEMO_ADDRESSES``."""
        return self._is_ours.cache_info().currsize

    def __contains__(self, address: bytes) -> bool:
        return bool(self._prefixes) and self._is_ours(address) is True

    def believes(self, address: bytes) -> bool:
        """Whether anything is believed that the peer of this *address* says about its requests."""
        return bool(self._prefixes) and (self._believes_address or self._believes_others) and address in self

    def origin(self, peer: Origin, head: RequestHead) -> Origin:
        """Return the origin of a request that came through the trusted *peer*.

        The client is the last address of ``X-Forwarded-For``, or of another field that the operator named, that is
        none of our proxies, with or without a port; the list goes on with the peer appended.  Of a list that is longer than
        ``MAX_HOPS`` only so much of its end is looked at: were all of that proxies of ours, the first
        of these would be the client.  What stands before goes on as it came.  Scheme, host and port are
        what the peer says, where it says something that makes sense; of several schemes or ports the first, as proxies
        behind each other list them, and of several hosts the first where endpoints are to get it.  Where the operator has
        it so, the list that goes on is the client alone, and less is believed.
        """
        if not (self._believes_address or self._believes_others):
            return peer
        said = head.forwarded if self._believes_others else _NOTHING_SAID
        client = self._client(peer.address, self._named(head)) if self._believes_address else peer.address
        listed = client
        if self._is_full:
            given = head.forwarded.get(b"x-forwarded-for", b"")
            hops = given.rsplit(b",", MAX_HOPS)
            before = hops.pop(0) if len(hops) > MAX_HOPS else b""
            hops = [hop for each in (before, *hops, peer.address) if (hop := each.strip())]
            listed = b", ".join(hops)
        scheme = _SCHEMES.get(_first(said.get(b"x-forwarded-proto", b"")).lower(), peer.scheme)
        port = _first(said.get(b"x-forwarded-port", b""))
        default = b"%d" % peer.port if scheme == peer.scheme else _DEFAULT_PORTS[scheme]
        fields = _fields(client, listed, scheme, port if _is_port(port) else default)
        for name in (b"forwarded", b"x-forwarded-prefix"):
            if name in said:
                value = said[name]
                if name == b"forwarded":
                    node = b'"[%b]"' % peer.address if b":" in peer.address else peer.address
                    value += b", for=" + node
                fields += b"%b: %b\r\n" % (name.title(), value)
        host = said.get(b"x-forwarded-host", b"")
        if self._takes_host and (named := _first_authority(host)):
            return Origin(client, scheme, peer.port, fields, named[1], named[2])
        return Origin(client, scheme, peer.port, fields, host)

    def _named(self, head: RequestHead) -> bytes:
        """Return what stands in the field in which a proxy names the client."""
        if self._find_header is None:
            return head.forwarded.get(self._header, b"")
        return b",".join(self._find_header(head.forward))

    def _client(self, peer: bytes, named: bytes) -> bytes:
        """Return who the client is, where *peer* says *named*."""
        client = peer
        is_ours: bool | None = client in self
        for hop in reversed(
            [hop for each in named.rsplit(b",", MAX_HOPS)[-MAX_HOPS:] if (hop := each.strip())]
        ):
            if not is_ours or len(hop) > _LONGEST_HOP:
                break
            if (with_port := _address_with_port(hop)) is not None:
                hop = with_port[1] or with_port[2]
            # The zone of an IPv6 address may be any text, also a forged field of the log.
            if b"%" in hop:
                break
            is_ours = self._is_ours(hop)
            if is_ours is None:
                break
            client = hop
        return client


_NOTHING_SAID: Final[Mapping[bytes, bytes]] = MappingProxyType({})
_DEFAULT_PORTS: Final = {b"http": b"80", b"https": b"443"}
_SCHEMES: Final = {b"http": b"http", b"https": b"https", b"ws": b"http", b"wss": b"https"}
"""What proxies say in ``X-Forwarded-Proto``, and the scheme that it is: some name handshakes of WebSockets by theirs (Traefik)."""
_address_with_port: Final = re.compile(
    rb"([0-9.]+):[0-9]{1,5}|\[([0-9A-Fa-f]*:[0-9A-Fa-f:.]*)\](?::[0-9]{1,5})?"
).fullmatch
"""What some load balancers write, and nginx reads since 1.11: the client's port as well."""
_is_port: Final = re.compile(rb"[0-9]{1,5}").fullmatch
_first_authority: Final = re.compile(
    rb"[ \t]*(([A-Za-z0-9_.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?)[ \t]*(?:,|$)"
).match
"""An authority, and the host in it."""


def _first(listed: bytes) -> bytes:
    """Return what stands before the first comma."""
    return listed.partition(b",")[0].strip() if b"," in listed else listed


def _fields(client: bytes, hops: bytes, scheme: bytes, port: bytes) -> bytes:
    return (
        b"X-Real-IP: %b\r\nX-Forwarded-For: %b\r\nX-Forwarded-Port: %b\r\n"
        b"X-Forwarded-Proto: %b\r\nX-Forwarded-Scheme: %b\r\nX-Scheme: %b\r\n"
    ) % (client, hops, port, scheme, scheme, scheme)


def upstream_fields_of(head: RequestHead, request_id: bytes, origin: Origin) -> bytes:
    """Render the fields that go upstream in whatever protocol: the request's own, and what a proxy adds.

    Each line has its CRLF.  Host and framing are not among them; each protocol has its own.
    """
    host = origin.host or head.authority
    # For each request, so it is joined and not formatted, which plain Python takes longer for; one tuple, as it costs more to join two.
    fields = b"".join(
        (head.forward, b"X-Request-ID: ", request_id, b"\r\nX-Forwarded-Host: ", host, b"\r\n", origin.fields)
    )
    said = head.forwarded
    if said and b"x-forwarded-for" in said:
        fields += b"X-Original-Forwarded-For: %b\r\n" % said[b"x-forwarded-for"]
    return fields


def proxys_lines(head: RequestHead, request_id: bytes, origin: Origin) -> bytes:
    """Render what a proxy adds alone, of what ``upstream_fields_of`` does."""
    return upstream_fields_of(head, request_id, origin)[len(head.forward) :]


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


@lru_cache(maxsize=2)
def _proxies(
    networks: tuple[str, ...], believed: ForwardedHeaders, header: str, is_full: bool, takes_host: bool
) -> TrustedProxies:
    return TrustedProxies(networks, believed, header, is_full=is_full, takes_host=takes_host)


def trusted_by(serving: ServingSettings) -> TrustedProxies:
    """Return the proxies that *serving* trusts; the same value for the same settings."""
    return _proxies(
        serving.trusted_proxies,
        serving.forwarded_headers,
        serving.forwarded_for_header,
        serving.full_forwarded_for,
        serving.forwarded_host,
    )

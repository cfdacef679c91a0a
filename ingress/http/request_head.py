"""Request heads: bytes to one unambiguous ``RequestHead``, or an error with its status.

A head is scanned once.  Its lines fall into three sorts: those that go on to
upstream as they are, those that stop here (hop-by-hop fields, forwarding fields
of an untrusted peer, names with an underscore), and those that say something to
us (``Host``, framing, ``Connection`` ...).  Two memos make that cheap: one for
lines, one for whole heads; a hit is by construction bytes validated before.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ingress.http.field_blocks import LAYOUT_KEY, FieldBlocks, Layout, TooManyFieldsError
from ingress.http.grammar import (
    DROP,
    FORWARD,
    MAX_FIELDS,
    MAX_HEAD,
    MAX_REQUEST_LINE,
    MEMO_BLOCK,
    MEMO_BLOCKS,
    TOKEN,
    FieldError,
    Sightings,
    connection_options,
    is_length,
    without,
)
from ingress.http.upgrades import relayed_upgrade
from ingress.model.requests.cgi import CgiRequest

ORIGIN_FORM: Final = rb"((/[\x21\x22\x24-\x3e\x40-\x7e]*)(?:\?[\x21\x22\x24-\x7e]*)?)"
"""A target in origin form, visible ASCII and no fragment (RFC 9112 section 3.2.1); the path in it is a group too."""

# What nearly all requests begin with: no method that is refused, the target in origin form, HTTP/1.1.
_match_usual_line: Final = re.compile(
    rb"(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) %b HTTP/1\.1(?=\r\n|\Z)" % ORIGIN_FORM
).match
_match_request_line: Final = re.compile(rb"(%b) ([\x21-\x7e]+) HTTP/1\.([01])" % TOKEN).fullmatch
_match_other_version: Final = re.compile(rb"%b [\x21-\x7e]+ HTTP/[0-9]\.[0-9]" % TOKEN).fullmatch
_match_absolute: Final = re.compile(rb"https?://([^/?#]*)([^#]*)", re.IGNORECASE).fullmatch
is_request_id: Final = re.compile(rb"[\x21-\x7e]{1,128}").fullmatch


class HeadError(ValueError):
    """A request that is refused: *status* for downstream, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


# What a field line is to us, beside FORWARD and DROP.
HOST: Final = 2
CONTENT_LENGTH: Final = 3
TRANSFER_ENCODING: Final = 4
CONNECTION: Final = 5
EXPECT: Final = 6
UPGRADE: Final = 7
FORWARDED: Final = 8
REQUEST_ID: Final = 9
UNDERSCORED: Final = 10

_PLAIN: Final = frozenset((HOST, REQUEST_ID, CONNECTION, DROP))
"""Sorts that say nothing but for whom a request is, what it is called, and that the connection lasts."""

_SORTS: Final = {
    b"host": HOST,
    b"content-length": CONTENT_LENGTH,
    b"transfer-encoding": TRANSFER_ENCODING,
    b"connection": CONNECTION,
    b"expect": EXPECT,
    b"upgrade": UPGRADE,
    b"x-request-id": REQUEST_ID,
    # Hop-by-hop (RFC 9110 section 7.6.1); TE and Trailer speak of trailers, which end here.
    b"keep-alive": DROP,
    b"proxy-connection": DROP,
    b"te": DROP,
    b"trailer": DROP,
    b"proxy-authorization": DROP,
    b"http2-settings": DROP,
    # A program behind CGI would take this for its HTTP_PROXY (httpoxy).
    b"proxy": DROP,
    # Set by us, or by nobody.
    b"x-forwarded": DROP,
    b"x-forwarded-scheme": DROP,
    b"x-forwarded-server": DROP,
    b"x-forwarded-ssl": DROP,
    b"x-original-forwarded-for": DROP,
    b"x-scheme": DROP,
    # What our own handshake found out about a client; nobody else may say so.
    b"ssl-client-cert": DROP,
    b"ssl-client-issuer-dn": DROP,
    b"ssl-client-subject-dn": DROP,
    b"ssl-client-verify": DROP,
    # What only a proxy may say.
    b"forwarded": FORWARDED,
    b"x-real-ip": FORWARDED,
    b"x-forwarded-for": FORWARDED,
    b"x-forwarded-host": FORWARDED,
    b"x-forwarded-port": FORWARDED,
    b"x-forwarded-prefix": FORWARDED,
    b"x-forwarded-proto": FORWARDED,
}

# Naming these in Connection must not take them away: they are not ours to lose.
_NONE_FORWARDED: Final[Mapping[bytes, bytes]] = MappingProxyType({})
_PARTS: Final = (
    "method",
    "target",
    "path",
    "minor",
    "authority",
    "content_length",
    "chunked",
    "has_body",
    "keep_alive",
    "expect_continue",
    "upgrade",
    "forwarded",
    "request_id",
    "accepts_trailers",
    "connect_protocol",
    "destination",
    "underscored",
    "cgi",
)
"""All of a head but the fields that go on, and the block that it was read from."""
_KEPT: Final = frozenset((b"cookie", b"authorization", b"close", b"keep-alive", b"upgrade", b"te"))


class RequestHead:
    """One request head, read once and never changed.

        *target* is in origin form (or ``*``), *authority* is what Host goes upstream,
        *forward* the field lines that go on, each with its CRLF.  *content_length* is
        -1 when absent.  *upgrade* are the protocols asked for, as they came, empty when none is.
        *forwarded* is what the peer says about the client, by lower-case name: believed
        of a proxy of ours, and of nobody else (``ingress.http.forwarding``).  *has_body* says
        that body bytes follow.  Only requests of HTTP/2 say that they accept trailers in
        *accepts_trailers*, and which protocol an extended CONNECT is for in *connect_protocol*
        (RFC 8441 section 4).  *underscored* are field lines, each with its CRLF, whose names have underscores: they go on only
    where the operator wants that.  *destination* is for whoever routes the request to note host
        and path in their normal forms, *block* the field block that HTTP/2 makes of the head:
        one that comes again has them already.  *cgi* is what an endpoint of FastCGI is told besides.
    """

    # CPython 3.11 finds what stands in a slot six times as fast as what an instance has from its class.
    __slots__ = (
        "accepts_trailers",
        "authority",
        "block",
        "cgi",
        "chunked",
        "connect_protocol",
        "content_length",
        "destination",
        "expect_continue",
        "forward",
        "forwarded",
        "has_body",
        "keep_alive",
        "method",
        "minor",
        "path",
        "request_id",
        "target",
        "underscored",
        "upgrade",
    )

    method: bytes
    target: bytes
    path: bytes
    forward: bytes

    def __init__(self) -> None:
        self.minor = 1
        self.authority = b""
        self.content_length = -1
        self.chunked = False
        self.has_body = False
        self.keep_alive = True
        self.expect_continue = False
        self.upgrade = b""
        self.forwarded: Mapping[bytes, bytes] = _NONE_FORWARDED
        self.request_id = b""
        self.accepts_trailers = False
        self.connect_protocol = b""
        self.underscored = b""
        self.destination: tuple[bytes, bytes] | None = None
        self.block: bytes | None = None
        self.cgi: CgiRequest | None = None

    def with_line(self, line: bytes) -> "RequestHead":
        """Return the same head with one more field that goes on; *line* has its CRLF."""
        head = self._copy()
        head.forward = self.forward + line
        return head

    def asked_as(self, authority: bytes) -> "RequestHead":
        """Return the same head with another Host."""
        head = self._copy()
        head.forward = self.forward
        head.authority = authority
        return head

    def _copy(self) -> "RequestHead":
        head = RequestHead()
        for name in _PARTS:
            setattr(head, name, getattr(self, name))
        return head

    def __repr__(self) -> str:
        return f"<RequestHead {self.method!r} {self.authority!r} {self.target!r}>"


def only_head(received: bytes) -> bytes | None:
    """Return the head that *received* is, without the empty line that ends it; None if it is not just that.

    Nearly every request without a body comes so, and needs no buffer.
    """
    if received.endswith(b"\r\n\r\n"):
        head, _, rest = received.partition(b"\r\n\r\n")
        # An empty line before a request is for the buffer to judge.
        if not rest and 0 < len(head) <= MAX_HEAD and head[0] != 0x0D:
            return head
    return None


def sort_of(name: bytes) -> int:
    """Return what a field means to us by its lower-case *name*, in whatever protocol it came."""
    if b"_" not in name:
        return _SORTS.get(name, FORWARD)
    # Programs behind CGI or WSGI cannot tell X_Real_IP from X-Real-IP.  nginx drops all of these, unless told otherwise;
    # those whose other spelling means something to us are dropped in any case.
    return DROP if name.replace(b"_", b"-") in _SORTS else UNDERSCORED


known_blocks: Final[FieldBlocks[bytes]] = FieldBlocks(sort_of, whole=UNDERSCORED)
"""The verdict on a layout is the authority, where a head says nothing else but perhaps its request id."""
known_heads: Final[dict[bytes, RequestHead]] = {}
"""What was read before, at most ``MEMO_BLOCKS`` heads."""
_sightings: Final = Sightings(MEMO_BLOCKS)


def parse_request_head(block: bytes) -> RequestHead:
    """Read a head, given without the empty line that ends it.

    Raises ``HeadError`` with 400, 414, 417, 431, 501 or 505 for what RFC 9112
    does not allow, or what two readers could read in two ways.
    """
    head = known_heads.get(block)
    if head is None:
        head = _parse(block)
        if len(block) <= MEMO_BLOCK and _sightings.again(block):
            if len(known_heads) >= MEMO_BLOCKS:
                known_heads.clear()
            known_heads[block] = head
    return head


def _parse(block: bytes) -> RequestHead:
    head = RequestHead()
    usual = _match_usual_line(block)
    if usual is not None:
        end = usual.end()
        if end > MAX_REQUEST_LINE:
            raise HeadError(414, "request line too long")
        head.method, head.target, head.path = usual.groups()
    else:
        request_line = block.partition(b"\r\n")[0]
        end = len(request_line)
        _read_request_line(head, request_line)
    key = block[end : end + LAYOUT_KEY]
    layout = known_blocks.layouts.get(key)
    found = None if layout is None else layout.read(block, end)
    if layout is not None and found is not None and layout.verdict is not None and usual is not None:
        head.authority = layout.verdict
        head.forward, told = found
        if told and is_request_id(told[0]):
            head.request_id = told[0]
        return head
    hosts: list[bytes] = []
    lengths: list[bytes] = []
    codings: list[bytes] = []
    options: frozenset[bytes] = frozenset()
    upgrade = expect = underscored = b""
    forwarded: dict[bytes, bytes] = {}
    try:
        if layout is None or found is None:
            forward, specials = known_blocks.read(block, end, MAX_FIELDS, key)
        else:
            forward, specials = found[0], layout.specials(found[1])
        for sort, name, value in specials:
            if sort == HOST:
                hosts.append(value)
            elif sort == REQUEST_ID:
                if is_request_id(value):
                    head.request_id = value
            elif sort == CONTENT_LENGTH:
                lengths.append(value)
            elif sort == TRANSFER_ENCODING:
                codings.append(value)
            elif sort == CONNECTION:
                options |= connection_options(value)
            elif sort == EXPECT:
                expect = expect + b"," + value if expect else value
            elif sort == UPGRADE:
                upgrade = upgrade + b", " + value if upgrade else value
            elif sort == FORWARDED:
                forwarded[name] = forwarded[name] + b", " + value if name in forwarded else value
            elif sort == UNDERSCORED:
                underscored += value + b"\r\n"
    except TooManyFieldsError as too_many:
        raise HeadError(431, str(too_many)) from too_many
    except FieldError as error:
        raise HeadError(400, str(error)) from error
    if len(hosts) == 1 and hosts[0] and not head.authority:
        head.authority = hosts[0]
    else:
        _decide_host(head, hosts)
    if lengths or codings:
        _decide_framing(head, lengths, codings)
    if expect:
        _decide_expectation(head, expect)
    if not head.minor:
        head.keep_alive = False
    if options:
        _decide_persistence(head, options, upgrade)
        gone = options - _KEPT
        if gone:
            forward, underscored = without(forward, gone), without(underscored, gone)
    if forwarded:
        head.forwarded = forwarded
    if underscored:
        head.underscored = underscored
    head.forward = forward
    if layout is not None and found is not None and usual is not None and not layout.is_judged:
        layout.is_judged = True
        if forward is found[0]:
            _decide_layout(layout, head, [sort for sort, _, _ in specials])
    return head


def _decide_layout(layout: Layout[bytes], head: RequestHead, sorts: list[int]) -> None:
    """Note what all heads of *layout* have in common with *head*, which has special lines of *sorts*, if that is nearly everything."""
    told = layout.told
    if (
        _PLAIN.issuperset(sorts)
        and head.keep_alive
        and len(told) <= 1
        and told == [sort for sort in sorts if sort == REQUEST_ID]
    ):
        layout.decide(head.authority)


def _read_request_line(head: RequestHead, line: bytes) -> None:
    if len(line) > MAX_REQUEST_LINE:
        raise HeadError(414, "request line too long")
    match = _match_request_line(line)
    if match is None:
        if _match_other_version(line):
            raise HeadError(505, "HTTP version not supported")
        raise HeadError(400, "bad request line")
    method, target, minor = match.groups()
    if method == b"CONNECT":
        # Whatever its target: an answer to it has no body (RFC 9110 section 9.3.6), so its end is not ours to know.
        raise HeadError(501, "a gateway opens no tunnels")
    head.method = method
    head.minor = 1 if minor == b"1" else 0
    if target[:1] != b"/":
        absolute = _match_absolute(target)
        if absolute is not None:
            # RFC 9112 section 3.2.2: the authority of an absolute target wins over Host.
            head.authority, target = absolute.groups()
            if not head.authority:
                raise HeadError(400, "absolute target without an authority")
            if target[:1] != b"/":
                target = b"/" + target
        elif target != b"*" or method != b"OPTIONS":
            raise HeadError(400, "bad request target")
    if b"#" in target:
        raise HeadError(400, "fragment in the request target")
    if method == b"TRACE":
        raise HeadError(405, "TRACE is not served")
    head.target = target
    head.path = target.partition(b"?")[0]


def _decide_host(head: RequestHead, hosts: list[bytes]) -> None:
    """RFC 9112 section 3.2: exactly one Host in HTTP/1.1, at most one in HTTP/1.0."""
    if len(hosts) > 1 or (head.minor and not hosts):
        raise HeadError(400, f"{len(hosts)} Host fields")
    if hosts and not hosts[0]:
        raise HeadError(400, "empty Host")
    if hosts and not head.authority:
        head.authority = hosts[0]


def _decide_framing(head: RequestHead, lengths: list[bytes], codings: list[bytes]) -> None:
    """RFC 9112 section 6.3, without its leniency: one framing field, and it must be plain."""
    if codings:
        if lengths:
            raise HeadError(400, "both Content-Length and Transfer-Encoding")
        if not head.minor:
            raise HeadError(400, "Transfer-Encoding in HTTP/1.0")
        if len(codings) > 1 or codings[0].lower() != b"chunked":
            last = codings[-1].lower().rpartition(b",")[2].strip(b" \t")
            status = 501 if len(codings) == 1 and last == b"chunked" and b"," in codings[0] else 400
            raise HeadError(status, "transfer coding other than chunked")
        head.chunked = head.has_body = True
    elif lengths:
        if len(lengths) > 1 or not is_length(lengths[0]):
            raise HeadError(400, "bad Content-Length")
        head.content_length = int(lengths[0])
        head.has_body = head.content_length > 0


def _decide_expectation(head: RequestHead, expect: bytes) -> None:
    """RFC 9110 section 10.1.1: 100-continue is the only expectation, and only with a body."""
    if expect.lower() != b"100-continue":
        raise HeadError(417, "unknown expectation")
    head.expect_continue = head.has_body and head.minor == 1


def _decide_persistence(head: RequestHead, options: frozenset[bytes], upgrade: bytes) -> None:
    """RFC 9112 section 9.3, and which upgrade may pass (RFC 9110 section 7.8).

    Only a client of HTTP/1.1 that says so in ``Connection``, too, asks for one.
    """
    if b"close" in options:
        head.keep_alive = False
    else:
        head.keep_alive = head.minor == 1 or b"keep-alive" in options
    if upgrade and b"upgrade" in options and head.minor == 1:
        head.upgrade = relayed_upgrade(upgrade)


def _unreadable() -> RequestHead:
    head = RequestHead()
    head.method = head.target = head.path = head.forward = b""
    head.keep_alive = False
    return head


UNREADABLE: Final = _unreadable()
"""Stands in for a head that could not be read, so that its reply is logged like any other."""

"""What a case of the corpus is, and short words to write one.

A case is raw bytes from downstream, perhaps the raw answer of upstream, and what must
become of both.  It says so in exact messages: which requests upstream gets, field by
field, and which answers downstream sees.  The route table of every case has two hosts:
``shop.test``, whose path ``/admin`` is guarded by a policy that answers 403, and the same
names in other spellings; every other host has no route and gets 404.
"""

from attrs import frozen

HOST = b"Host: shop.test"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@frozen
class Got:
    """A request as upstream must get it: first line, field lines without those a proxy adds, body."""

    line: bytes
    fields: tuple[bytes, ...]
    body: bytes = b""


@frozen
class Seen:
    """An answer as downstream must see it.

    With ``whole`` False downstream must see that it is *not* whole.  *fields* are lines
    that the head must have, *lacks* names that it must not have.
    """

    status: int = 200
    body: bytes | None = b"ok"
    whole: bool = True
    fields: tuple[bytes, ...] = ()
    lacks: tuple[bytes, ...] = ()


@frozen
class Case:
    """One conversation.

    *gets* are the requests that upstream gets whole, *sees* the answers; by default a
    200 for each request.  *refused* are the statuses of a refusal after that, which ends
    the connection; 0 among them stands for an end without a word.  With *either* the
    proxy may also refuse instead of forwarding; with *or_sees* downstream may see that instead.

    *answers* are what upstream says to each request (the last one repeats), *hangs_up*
    that it closes the connection then.  *early* lets it answer at the end of the head.
    *finishes* lets downstream end its side after the last byte.
    """

    name: str
    sent: bytes
    gets: tuple[Got, ...] = ()
    refused: tuple[int, ...] = ()
    either: bool = False
    sees: tuple[Seen, ...] | None = None
    or_sees: tuple[Seen, ...] | None = None
    answers: tuple[bytes, ...] = (OK,)
    hangs_up: bool = False
    early: bool = False
    finishes: bool = False

    @property
    def expected(self) -> tuple[Seen, ...]:
        """The answers that downstream must see before a refusal."""
        return self.sees if self.sees is not None else (Seen(),) * len(self.gets)

    @property
    def methods(self) -> list[bytes]:
        """The methods of the requests that are answered, as far as they are known."""
        return [got.line.split(b" ")[0] for got in self.gets]


BAD = (400,)
BROKEN = (400, 408)
"""A body that breaks off."""


def head(*lines: bytes) -> bytes:
    """Join *lines* to a head."""
    return b"\r\n".join(lines) + b"\r\n\r\n"


def get(*fields: bytes, target: bytes = b"/", method: bytes = b"GET") -> bytes:
    """A request without a body."""
    return head(b"%b %b HTTP/1.1" % (method, target), HOST, *fields)


def post(*fields: bytes, body: bytes = b"", method: bytes = b"POST") -> bytes:
    """A request with these framing fields, and *body* as it is."""
    return head(b"%b / HTTP/1.1" % method, HOST, *fields) + body


def chunked(body: bytes, *fields: bytes) -> bytes:
    """A POST request with a chunked body, given as it is on the wire."""
    return post(b"Transfer-Encoding: chunked", *fields, body=body)


def got(
    *fields: bytes, target: bytes = b"/", method: bytes = b"GET", host: bytes = HOST, body: bytes = b""
) -> Got:
    """A request as upstream gets it."""
    return Got(b"%b %b HTTP/1.1" % (method, target), (host, *fields), body)


def got_length(body: bytes, *fields: bytes, method: bytes = b"POST") -> Got:
    """A request with a body of known length as upstream gets it."""
    return got(*fields, b"Content-Length: %d" % len(body), method=method, body=body)


def got_chunked(body: bytes, *fields: bytes, method: bytes = b"POST") -> Got:
    """A request with a chunked body as upstream gets it, *body* without framing."""
    return got(*fields, b"Transfer-Encoding: chunked", method=method, body=body)


def refuse(name: str, sent: bytes, *statuses: int) -> Case:
    """A request that must be refused, by default with 400."""
    return Case(name, sent, refused=statuses or BAD)


def forward(name: str, sent: bytes, *gets: Got) -> Case:
    """Requests that must be forwarded, in exactly this form."""
    return Case(name, sent, gets)


def either(name: str, sent: bytes, *gets: Got, refused: tuple[int, ...] = BAD) -> Case:
    """Requests that may be refused, or else forwarded in exactly this form."""
    return Case(name, sent, gets, refused=refused, either=True)


def local(name: str, sent: bytes, *statuses: int) -> Case:
    """Requests that the proxy answers itself, and may go on after."""
    return Case(name, sent, sees=tuple(Seen(status, None) for status in statuses))


def answered(
    name: str,
    answer: bytes,
    *sees: Seen,
    hangs_up: bool = False,
    method: bytes = b"GET",
    sent: bytes | None = None,
) -> Case:
    """A plain request, and what downstream must see of *answer*."""
    return Case(
        name,
        get(method=method) if sent is None else sent,
        (got(method=method),),
        sees=sees,
        answers=(answer,),
        hangs_up=hangs_up,
    )

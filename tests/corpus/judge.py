"""Says whether a case went as it must, by a reader of HTTP that shares no code with the proxy."""

from attrs import define, evolve

from tests.corpus.cases import Case, Got, Seen
from tests.http.strict import Message, StrictError, read_answer, read_fields, read_line, read_request

ADDED = frozenset(
    (
        b"x-request-id",
        b"x-real-ip",
        b"x-forwarded-for",
        b"x-forwarded-host",
        b"x-forwarded-port",
        b"x-forwarded-proto",
        b"x-forwarded-scheme",
        b"x-scheme",
    )
)
"""What the proxy adds to every request, each once."""
ORIGINAL = b"x-original-forwarded-for"
"""What it may add when the peer said something about itself."""


class WrongError(Exception):
    """A case did not go as it must, and why."""


@define
class Outcome:
    """All that can be seen of a conversation from outside."""

    received: bytes
    """What downstream got."""
    ended: bool
    """Whether its connection ended, in whatever way."""
    was_reset: bool
    requests: list[Message]
    """The whole requests that reached upstream, in their order."""
    unfinished: list[tuple[bytes, bool]]
    """What else reached upstream, connection by connection, and whether that connection was reset."""
    peer: bytes = b"198.51.100.7"
    scheme: bytes = b"http"

    @property
    def told(self) -> object:
        """What does not depend on how bytes are cut into packets: statuses, and what upstream got whole."""
        lines = [line for line in self.received.split(b"\r\n") if line[:9] == b"HTTP/1.1 "]
        return lines, [(request.start, request.body) for request in self.requests]


def take_requests(octets: bytes) -> tuple[list[Message], bytes]:
    """The whole requests at the beginning of *octets*, and what is left."""
    found = []
    while octets:
        try:
            message, octets = read_request(octets)
        except StrictError:
            break
        found.append(message)
    return found, octets


def count_answers(octets: bytes, methods: list[bytes], closed: bool) -> int:
    """How many final answers are whole; those to requests that nobody knows count as answers to GET."""
    count = 0
    while octets:
        method = methods[count] if count < len(methods) else b"GET"
        try:
            message, octets = read_answer(octets, method, closed)
        except StrictError:
            break
        count += message.start[1][:1] != b"1"
    return count


def judge(case: Case, outcome: Outcome) -> None:
    """Raise ``WrongError`` unless *outcome* is what *case* asks for."""
    if case.either:
        ways = [evolve(case, refused=()), evolve(case, gets=(), sees=())]
    elif case.or_sees is not None:
        ways = [case, evolve(case, sees=case.or_sees)]
    else:
        ways = [case]
    failures = []
    for way in ways:
        try:
            _judge(way, outcome)
        except WrongError as wrong:
            failures.append(str(wrong))
        else:
            return
    raise WrongError("; and ".join(failures))


def check_unfinished(outcome: Outcome) -> None:
    """Check that what upstream got in part is well-formed so far, and did not end regularly."""
    for octets, was_reset in outcome.unfinished:
        _need(was_reset, f"upstream saw an unfinished request end regularly: {octets[:200]!r}")
        if b"\r\n\r\n" in octets:
            read_fields(octets, read_line(octets, 0)[1])


def _need(condition: object, why: str) -> None:
    if not condition:
        raise WrongError(why)


def _judge(case: Case, outcome: Outcome) -> None:
    try:
        _judge_upstream(case, outcome)
        _judge_downstream(case, outcome)
    except StrictError as error:
        raise WrongError(f"cannot be read: {error}") from error


def _judge_upstream(case: Case, outcome: Outcome) -> None:
    check_unfinished(outcome)
    count = len(outcome.requests)
    _need(count == len(case.gets), f"upstream got {count} requests: {outcome.requests!r:.500}")
    for got, request in zip(case.gets, outcome.requests, strict=True):
        _judge_request(got, request, outcome)


def _judge_request(got: Got, request: Message, outcome: Outcome) -> None:
    line = b" ".join(request.start)
    _need(line == got.line, f"first line is {line[:200]!r}")
    _need(request.body == got.body, f"body is {request.body[:200]!r}")
    _need(not request.trailers, f"trailers {request.trailers!r}")
    of_peer = {_name(line) for line in got.fields} & ADDED
    theirs = [
        b"%b: %b" % field
        for field in request.fields
        if field[0].lower() not in (ADDED - of_peer) | {ORIGINAL}
    ]
    wanted = sorted((line.rstrip() for line in got.fields), key=_name)
    found = sorted((line.rstrip() for line in theirs), key=_name)
    _need(found == wanted, f"fields are {found!r:.500}")
    added = {name: request.values(name) for name in ADDED}
    for name, values in added.items():
        _need(len(values) == 1, f"{name!r} is there {len(values)} times")
    _need(len(request.values(ORIGINAL)) <= 1, "several originals")
    for name in (b"x-real-ip", b"x-forwarded-for"):
        _need(added[name] == [outcome.peer], f"{name!r} is {added[name]!r}")
    for name in (b"x-forwarded-proto", b"x-forwarded-scheme", b"x-scheme"):
        _need(added[name] == [outcome.scheme], f"{name!r} is {added[name]!r}")
    _need(added[b"x-forwarded-host"] == request.values(b"host"), "X-Forwarded-Host is not Host")
    _need(added[b"x-forwarded-port"][0].isdigit(), "X-Forwarded-Port is no number")


def _name(line: bytes) -> bytes:
    return line.partition(b":")[0].lower()


def _judge_downstream(case: Case, outcome: Outcome) -> None:
    rest = outcome.received
    methods = iter(case.methods)
    method = next(methods, _method(case))
    for seen in case.expected:
        if not seen.whole:
            _judge_cut(seen, rest, method, outcome)
            return
        message, rest = read_answer(rest, method, outcome.ended and not outcome.was_reset)
        _judge_answer(seen, message)
        if seen.status >= 200:
            method = next(methods, b"GET")
            if message.values(b"connection") == [b"close"]:
                _need(outcome.ended, "said close, and stayed open")
    if not case.refused:
        _need(not rest, f"more came: {rest[:200]!r}")
        return
    _need(outcome.ended, "not closed")
    if not rest:
        _need(0 in case.refused, "ended without a word")
        return
    message, rest = read_answer(rest, b"GET")
    _need(int(message.start[1]) in case.refused, f"refused with {message.start[1]!r}")
    _need(message.values(b"connection") == [b"close"], "a refusal that does not say close")
    _need(not rest, f"more came behind the refusal: {rest[:200]!r}")


def _method(case: Case) -> bytes:
    return b"HEAD" if case.sent.startswith(b"HEAD ") else b"GET"


def _judge_answer(seen: Seen, message: Message) -> None:
    status = int(message.start[1])
    _need(status == seen.status, f"status {status}, not {seen.status}")
    _need(seen.body is None or message.body == seen.body, f"body {message.body[:200]!r}")
    _need(status < 200 or len(message.values(b"date")) == 1, "one Date")
    lines = [b"%b: %b" % field for field in message.fields]
    for line in seen.fields:
        _need(line in lines, f"no {line!r} in {lines!r}")
    for name in seen.lacks:
        _need(not message.values(name), f"{name!r} in {lines!r}")


def _judge_cut(seen: Seen, octets: bytes, method: bytes, outcome: Outcome) -> None:
    _need(outcome.ended, "not closed")
    _need(octets[:12] == b"HTTP/1.1 %d" % seen.status, f"no head: {octets[:200]!r}")
    try:
        read_answer(octets, method, not outcome.was_reset)
    except StrictError:
        return
    raise WrongError("looks whole")

"""The parsers alone, on any bytes: they raise their own errors or nothing, and no split changes what they say.

``python -m tests.fuzz.parsers`` hands them to atheris, which follows coverage and is not among
the development tools; ``make fuzz-parsers`` installs it into an environment of its own.
"""

import sys
from importlib import import_module

from ingress.fastcgi.answer import Answer
from ingress.fastcgi.records import FastCgiError
from ingress.http.body import BodyError, ChunkedDecoder
from ingress.http.head_buffer import HeadBuffer
from ingress.http.proxy_header import ProxyHeaderError, read_proxy_header
from ingress.http.request_head import HeadError, parse_request_head
from ingress.http.response_head import ResponseError, parse_response_head
from ingress.routing.hosts import HostError, normal_host
from ingress.routing.paths import PathError, normal_path
from ingress.tls.client_hello import ClientHelloReader, HelloError
from tests.corpus.judge import WrongError
from tests.fakes.fastcgi.records import stdout
from tests.fuzz.field_blocks import agree

# Random bytes alone are told apart from these by the first of them.
_BEGINNINGS = (
    b"",
    b"PROXY TCP4 ",
    b"\r\n\r\n\x00\r\nQUIT\n\x21\x11",
    b"\x16\x03\x01\x00",
    b"\x16\x03\x01\x00\x40\x01\x00\x00\x3c\x03\x03" + bytes(32),
)
_FASTCGI_BEGINNINGS = (
    b"",
    stdout(b"Content-Length: 9\r\n"),
    stdout(b"Status: 204\r\n\r\n"),
    b"\x01\x06\x00\x01",
)
# Blocks of fields follow this one, so that there is something in the table.
FILLED_TABLE = b"\x82\x41\x09shop.test\x40\x01x\x01y\x7f\x00\x01z"


def parse_one(octets: bytes) -> None:
    """Have every parser read *octets*; raises what is none of their own errors."""
    _request(octets)
    _connection_starts(octets)
    try:
        parse_response_head(octets)
    except ResponseError:
        pass  # What it refuses is its own affair; that it raises nothing else is what is tested.
    half = len(octets) // 2
    for begin in _FASTCGI_BEGINNINGS:
        answer = _fastcgi([begin + octets])
        if answer != _fastcgi([begin, octets[:half], octets[half:]]):
            raise WrongError(f"an answer over FastCGI depends on packets: {answer!r}")
    agree([FILLED_TABLE, octets[:half], octets[half:]])
    agree([FILLED_TABLE, octets])
    whole, by_halves = _chunked([octets]), _chunked([octets[:half], octets[half:]])
    if whole != by_halves:
        raise WrongError(f"chunks depend on packets: {whole!r} or {by_halves!r}")


def _request(octets: bytes) -> None:
    buffer = HeadBuffer()
    buffer.extend(octets)
    try:
        block = buffer.next_head()
        head = parse_request_head(block if block is not None else octets)
        normal_host(head.authority)
        normal_path(head.path)
    except (HeadError, HostError, PathError):
        pass  # See above.


def _connection_starts(octets: bytes) -> None:
    for begin in _BEGINNINGS:
        whole = _hello([begin + octets])
        if whole != _hello([begin, begin + octets[: len(octets) // 2], begin + octets]):
            raise WrongError(f"a ClientHello depends on packets: {whole!r}")
        try:
            read_proxy_header(begin + octets)
        except ProxyHeaderError:
            pass  # See above.


def _hello(pieces: list[bytes]) -> object:
    """What a reader makes of *pieces*, each with what came before it; of what it refuses, why."""
    reader = ClientHelloReader()
    try:
        for piece in pieces:
            found = reader.read(piece)
            if found is not None:
                return found
    except HelloError as error:
        return str(error)
    return None


def _chunked(pieces: list[bytes]) -> object:
    """What a decoder makes of *pieces*; of what it refuses, that it does."""
    decoder = ChunkedDecoder()
    found = b""
    rest = b""
    try:
        for piece in pieces:
            if decoder.finished:
                rest += piece
            else:
                found += b"".join(decoder.feed(piece))
                rest = decoder.rest
    except BodyError:
        return None
    return found, decoder.finished, decoder.trailers, rest


def _fastcgi(pieces: list[bytes]) -> object:
    """What an answer over FastCGI is in *pieces*; of what it refuses, that it does."""
    answer = Answer(4096, False)
    body = b""
    try:
        for piece in pieces:
            body += answer.feed(piece)
            while answer.has_more:
                body += answer.feed(b"")
    except (FastCgiError, ResponseError):
        return None
    return None if answer.head is None else answer.head.start, body, answer.is_whole, answer.errors


def main() -> None:
    """Give the parsers to atheris."""
    atheris = import_module("atheris")
    atheris.instrument_all()
    atheris.Setup(sys.argv, parse_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

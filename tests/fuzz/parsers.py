"""The parsers alone, on any bytes: they raise their own errors or nothing, and no split changes what they say.

``python -m tests.fuzz.parsers`` hands them to atheris, which follows coverage and is not among
the development tools; ``make fuzz-parsers`` installs it into an environment of its own.
"""

import sys
from importlib import import_module

from ingress.http.body import BodyError, ChunkedDecoder
from ingress.http.head_buffer import HeadBuffer
from ingress.http.request_head import HeadError, parse_request_head
from ingress.http.response_head import ResponseError, parse_response_head
from ingress.routing.hosts import HostError, normal_host
from ingress.routing.paths import PathError, normal_path
from tests.corpus.judge import WrongError


def parse_one(octets: bytes) -> None:
    """Have every parser read *octets*; raises what is none of their own errors."""
    _request(octets)
    try:
        parse_response_head(octets)
    except ResponseError:
        pass  # What it refuses is its own affair; that it raises nothing else is what is tested.
    whole, by_halves = _chunked([octets]), _chunked([octets[: len(octets) // 2], octets[len(octets) // 2 :]])
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


def main() -> None:
    """Give the parsers to atheris."""
    atheris = import_module("atheris")
    atheris.instrument_all()
    atheris.Setup(sys.argv, parse_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()

"""Bodies at the edges of what an Ingress allows, ``Expect: 100-continue``, and how requests are framed towards endpoints."""

from conformance.ingress_nginx.case import Ask, Case, Told, ingress
from conformance.ingress_nginx.cases.documents import EVERYBODY
from conformance.ingress_nginx.endpoints import Answer

KILOBYTE = 1 << 10
CHUNKED = (("Transfer-Encoding", "chunked"),)
EXPECT = (("Expect", "100-continue"),)


EXPECTING = tuple(Told("*", EVERYBODY, f"* Expect:{value}*") for value in ("100-", "200-"))
"""The endpoint says whether it wants the body here, and nginx itself there; other expectations are refused."""


def chunks(*lengths: int, extension: bytes = b"", trailer: bytes = b"") -> bytes:
    """A chunked body of chunks of these lengths."""
    whole = b"".join(b"%x%s\r\n%s\r\n" % (length, extension, b"a" * length) for length in lengths)
    return whole + b"0\r\n" + trailer + b"\r\n"


def post(body: bytes, *fields: tuple[str, str], waits: bool = False, target: str = "/") -> Ask:
    return Ask(target, "POST", fields=fields, body=body, waits=waits)


EDGES = (
    *(post(b"a" * length) for length in (1, KILOBYTE - 1, KILOBYTE, KILOBYTE + 1, 20 * KILOBYTE)),
    *(post(chunks(length), *CHUNKED) for length in (1, KILOBYTE, KILOBYTE + 1, 20 * KILOBYTE)),
    post(chunks(*(256,) * 4), *CHUNKED),
    post(chunks(*(256,) * 4, 1), *CHUNKED),
    post(chunks(*(1,) * KILOBYTE), *CHUNKED),
    post(chunks(3, extension=b";a=b"), *CHUNKED),
    post(chunks(3, trailer=b"X-Sum: 1\r\n"), *CHUNKED),
    post(chunks(), *CHUNKED),
    post(b"", ("Content-Length", "0")),
    Ask(method="POST"),
    post(b"a" * KILOBYTE, *EXPECT, waits=True),
    post(b"a" * (KILOBYTE + 1), *EXPECT, waits=True),
    post(chunks(3), *EXPECT, *CHUNKED, waits=True),
    post(b"abc", *EXPECT),
    post(b"abc", ("Expect", "100-Continue"), waits=True),
    post(b"abc", ("Expect", "200-ok"), waits=True),
    post(b"", *EXPECT, ("Content-Length", "0"), waits=True),
    Ask(method="DELETE", body=b"abc"),
    Ask(method="GET", body=b"abc"),
    Ask(method="GET", fields=CHUNKED, body=chunks(3)),
    Ask(method="OPTIONS", body=b"abc"),
)


def edges(name: str, **annotations: str) -> Case:
    return Case(name, (ingress(proxy_body_size="1k", **annotations),), EDGES, told=EXPECTING)


SIZES = ("1", "1k", "1K", "1m", "0", "1g", "0k", "", "10 k", "1.5k", "-1", "1kb", "8M")

CASES = (
    edges("body-edges"),
    edges("body-edges-held", proxy_request_buffering="on"),
    edges("body-edges-streamed", proxy_request_buffering="off"),
    edges("body-edges-small-buffer", client_body_buffer_size="512", proxy_request_buffering="on"),
    Case(
        "body-edges-large",
        (ingress(proxy_body_size="8m"),),
        (
            post(b"a" * (8 << 20)),
            post(b"a" * ((8 << 20) + 1)),
            post(chunks(*(1 << 20,) * 8), *CHUNKED),
            post(chunks(*(1 << 20,) * 8, 1), *CHUNKED),
        ),
    ),
    *(
        Case(
            f"body-size-{number}",
            (ingress(proxy_body_size=size),),
            (post(b"a"), post(b"aa"), post(b"a" * 1025), post(b"a" * ((1 << 20) + 1))),
        )
        for number, size in enumerate(SIZES)
    ),
    Case(
        "body-size-of-three",
        (
            ingress({"/a": "web"}, name="a"),
            ingress({"/b": "web"}, name="b", proxy_body_size="2k"),
            ingress({"/c": "web"}, name="c", proxy_body_size="0"),
        ),
        tuple(
            post(b"a" * length, target=path) for path in ("/a", "/b", "/c") for length in (1024, 1025, 2049)
        ),
        config={"proxy-body-size": "1k"},
    ),
    Case(
        "body-before-answer",
        (ingress(),),
        (post(b"abc", *EXPECT, waits=True, target="/401"), post(b"abc", *EXPECT, waits=True, target="/204")),
        answers={"web": {"/401": Answer(401, body="no"), "/204": Answer(204)}},
        told=EXPECTING[:1],
    ),
    Case(
        "body-refused",
        (ingress(denylist_source_range="10.20.1.0/24"),),
        (post(b"abc", *EXPECT, waits=True), post(b"a" * 100_000), post(chunks(70_000), *CHUNKED)),
    ),
    Case(
        "body-redirected",
        (ingress(permanent_redirect="https://n.test"),),
        (post(b"abc", *EXPECT, waits=True), post(b"a" * 100_000)),
        told=EXPECTING[:1],
    ),
    Case(
        "body-no-route",
        (ingress({"/x": "web"}),),
        (post(b"abc", *EXPECT, waits=True), post(b"a" * 100_000)),
        told=EXPECTING[:1],
    ),
)

"""The loads: what is asked, how often, by which program, and what is read from it.

Plain values.  ``generators`` makes commands of them.
"""

from enum import Enum
from typing import Any

from attrs import frozen

PLAIN_HOST = "plain.bench.test"
UPLOAD_HOST = "upload.bench.test"
SECURE_HOST = "secure.bench.test"
SECURE_UPLOAD_HOST = "secure-upload.bench.test"
RSA_HOST = "rsa.bench.test"
"""Shows a certificate of its own, with an RSA key of 2048 bits."""
GRPC_HOST = "grpc.bench.test"
"""Goes to a server of grpcio, over HTTP/2 in the clear."""
H2C_HOST = "h2c.bench.test"
"""Goes to the nginx behind the others, over HTTP/2 in the clear."""
HOSTS = (SECURE_HOST, PLAIN_HOST, UPLOAD_HOST, SECURE_UPLOAD_HOST, GRPC_HOST, H2C_HOST)

MIB = 1024 * 1024
BODY_BYTES = 10_000_000
"""The large bodies: 10 MB."""
POST_BYTES = 1024
GRPC_BYTES = 105
"""A message of 100 bytes, as large as it goes over the wire."""
GRPCIO_ROUNDS = 3
HANDSHAKE_ROUNDS = 3
FIXED_RATE = 2000
"""Requests a second of the latency load, over all of its connections."""


class Unit(Enum):
    """What of a sample is compared."""

    MICROSECONDS = "us_per_request"
    MEGABYTES = "mb_per_cpu_second"
    P99 = "p99_us"

    @property
    def more_is_better(self) -> bool:
        """Whether a larger figure is the better one."""
        return self is Unit.MEGABYTES


class Generator(Enum):
    """The program that makes a load."""

    H2LOAD = "h2load"
    """A fixed number of requests, all alike."""
    WRK = "wrk"
    """Requests by a script, for a fixed time."""
    UNIQUE = "unique_client"
    """A fixed number of requests over HTTP/2 that all differ; a program of this folder."""
    UNIQUE_HTTP1 = "unique_http1_client"
    """What wrk sends with ``unique.lua``, a fixed number of them; a program of this folder."""
    GRPC_UNARY = "grpc_client unary"
    """A fixed number of calls by grpcio; a program of this folder."""
    HANDSHAKE = "handshake_client"
    """A fixed number of requests over TLS, with a handshake for each, whole or resumed; a program of this folder."""
    GRPC_BIDI = "grpc_client bidi"
    """The same number of messages within a few calls."""


class Protocol(Enum):
    """What downstream speaks; the values are what h2load calls them."""

    HTTP1 = "http/1.1"
    HTTP2 = "h2"
    GRPC = "h2 to h2c"
    """HTTP/2 on both sides of the proxy."""

    @property
    def downstream(self) -> "Protocol":
        """What is agreed on with the proxy."""
        return Protocol.HTTP1 if self is Protocol.HTTP1 else Protocol.HTTP2


BROWSER_FIELDS: tuple[tuple[str, str], ...] = (
    ("user-agent", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"),
    ("accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
    ("accept-language", "en-US,en;q=0.5"),
    ("accept-encoding", "gzip, deflate, br"),
    ("referer", f"https://{SECURE_HOST}/catalog/"),
    ("cookie", "theme=light; session=0123456789abcdef0123456789abcdef"),
    ("sec-fetch-dest", "document"),
    ("sec-fetch-mode", "navigate"),
    ("cache-control", "max-age=0"),
)
"""Nine fields such as a browser sends them."""
GRPC_FIELDS: tuple[tuple[str, str], ...] = (
    ("user-agent", "grpc-python/1.85.1 grpc-c/56.0.0 (linux; chttp2)"),
    ("content-type", "application/grpc"),
    ("te", "trailers"),
    ("grpc-accept-encoding", "identity, deflate, gzip"),
    ("grpc-timeout", "20S"),
)
"""The fields of a call of gRPC."""


@frozen
class Load:
    """One load.  *requests* is for a target of speed 1, *seconds* for wrk."""

    name: str
    title: str
    unit: Unit = Unit.MICROSECONDS
    generator: Generator = Generator.H2LOAD
    scheme: str = "http"
    host: str = PLAIN_HOST
    path: str = "/"
    protocol: Protocol = Protocol.HTTP1
    connections: int = 32
    streams: int = 1
    """Requests that are under way at the same time on each connection."""
    fields: tuple[tuple[str, str], ...] = ()
    """What h2load sends besides the fields of its own."""
    requests: int = 20_000
    seconds: int = 2
    script: str = ""
    tls_version: str = "1.3"
    """What a handshake for each request agrees on, and ..."""
    resumes: bool = False
    """... whether with a session of an earlier one."""
    upload_bytes: int = 0
    body_bytes: int = 0
    """Bytes of body that one request moves, one way or the other; for megabytes per CPU-second."""
    rate: int = 0
    """Requests a second; 0 is as fast as it goes."""
    most_rounds: int | None = None
    """It is left out of later rounds."""
    is_quick: bool = False


def _secure(name: str, title: str, **settings: Any) -> Load:
    """A load over HTTP/2 and TLS."""
    return Load(
        name, title, **{"scheme": "https", "host": SECURE_HOST, "protocol": Protocol.HTTP2, **settings}
    )


def _handshake(name: str, title: str, **settings: Any) -> Load:
    """A load whose requests come with a handshake for each."""
    return Load(
        name,
        title,
        **{
            "scheme": "https",
            "host": SECURE_HOST,
            "generator": Generator.HANDSHAKE,
            # The client takes longer for one of these than most proxies.
            "requests": 1500,
            "most_rounds": HANDSHAKE_ROUNDS,
            **settings,
        },
    )


def _grpc(name: str, title: str, **settings: Any) -> Load:
    """A load over HTTP/2 and TLS to a backend that speaks HTTP/2 in the clear."""
    return Load(
        name,
        title,
        **{
            "scheme": "https",
            "host": GRPC_HOST,
            "protocol": Protocol.GRPC,
            **settings,
        },
    )


LOADS: tuple[Load, ...] = (
    Load("get-repeating", "small GET, repeating headers, keep-alive", is_quick=True),
    Load(
        "get-unique",
        "small GET, unique headers, keep-alive",
        generator=Generator.WRK,
        script="unique.lua",
        is_quick=True,
    ),
    Load("post-1k", "POST 1 KiB", path="/post", upload_bytes=POST_BYTES),
    Load(
        "download",
        "download of 10 MB",
        unit=Unit.MEGABYTES,
        path="/download/body",
        connections=4,
        requests=120,
        body_bytes=BODY_BYTES,
    ),
    Load(
        "upload",
        "upload of 10 MB",
        unit=Unit.MEGABYTES,
        host=UPLOAD_HOST,
        path="/upload",
        connections=4,
        requests=80,
        upload_bytes=BODY_BYTES,
        body_bytes=BODY_BYTES,
    ),
    Load(
        "new-connection",
        "new connection for each request",
        generator=Generator.WRK,
        script="close.lua",
    ),
    Load("tls-keep-alive", "small GET over TLS, keep-alive", scheme="https", host=SECURE_HOST),
    _handshake("tls-handshake", "TLS handshake (P-256) for each request"),
    _handshake("tls-handshake-rsa", "TLS handshake (RSA 2048) for each request", host=RSA_HOST),
    _handshake("tls-resumed", "TLS session resumed for each request", resumes=True),
    _handshake(
        "tls-resumed-1.2", "TLS 1.2 session resumed for each request", resumes=True, tls_version="1.2"
    ),
    Load("get-256", "small GET, 256 connections", connections=256),
    Load(
        "latency",
        f"p99 at {FIXED_RATE} requests/s",
        unit=Unit.P99,
        requests=4000,
        rate=FIXED_RATE,
    ),
    # No more than 900 requests on a connection: after 1000, ours and nginx end it by default.
    _secure(
        "h2-10x10",
        "HTTP/2, small GET, repeating headers, 10 x 10",
        connections=10,
        streams=10,
        fields=BROWSER_FIELDS,
        requests=9000,
    ),
    _secure(
        "h2-32x1", "HTTP/2, small GET, repeating headers, 32 x 1", fields=BROWSER_FIELDS, requests=16_000
    ),
    _secure(
        "h2-unique",
        "HTTP/2, small GET, unique headers, 10 x 10",
        generator=Generator.UNIQUE,
        connections=10,
        streams=10,
        requests=9000,
    ),
    _secure(
        "h2-post-1k",
        "HTTP/2, POST 1 KiB, 10 x 10",
        path="/post",
        connections=10,
        streams=10,
        requests=9000,
        upload_bytes=POST_BYTES,
    ),
    _secure(
        "h2-download",
        "HTTP/2, download of 10 MB, 4 x 2",
        unit=Unit.MEGABYTES,
        path="/download/body",
        connections=4,
        streams=2,
        requests=64,
        body_bytes=BODY_BYTES,
    ),
    _secure(
        "h2-upload",
        "HTTP/2, upload of 10 MB, 4 x 2",
        unit=Unit.MEGABYTES,
        host=SECURE_UPLOAD_HOST,
        path="/upload",
        connections=4,
        streams=2,
        requests=48,
        upload_bytes=BODY_BYTES,
        body_bytes=BODY_BYTES,
    ),
    _grpc(
        "grpc-h2load",
        "HTTP/2 to HTTP/2, GET with the headers of gRPC, 10 x 10",
        host=H2C_HOST,
        path="/bench.Bench/Unary",
        connections=10,
        streams=10,
        requests=9000,
        fields=GRPC_FIELDS,
    ),
    _grpc(
        "grpc-post",
        "HTTP/2 to HTTP/2, POST with the headers of gRPC, 10 x 10",
        host=H2C_HOST,
        path="/bench.Bench/Post",
        connections=10,
        streams=10,
        requests=9000,
        fields=GRPC_FIELDS,
        upload_bytes=GRPC_BYTES,
    ),
    _grpc(
        "grpc-unary",
        "gRPC, unary calls by grpcio, 50 at a time",
        generator=Generator.GRPC_UNARY,
        connections=1,
        streams=50,
        requests=8000,
        most_rounds=GRPCIO_ROUNDS,
    ),
    _grpc(
        "grpc-bidi",
        "gRPC, messages back and forth in 10 calls of grpcio",
        generator=Generator.GRPC_BIDI,
        connections=1,
        streams=10,
        requests=8000,
        most_rounds=GRPCIO_ROUNDS,
    ),
)


@frozen
class Goal:
    """What this project asks of itself: *target* divided by *reference* on *load*."""

    load: str
    reference: str
    must: float
    aim: float | None = None
    target: str = "ours"


def _compiled(load: str, must: float, aim: float | None = None) -> Goal:
    """A goal of what wheels and the image have."""
    return Goal(load, "nginx", must, aim, "ours-compiled")


def _both(load: str, must: float, aim: float | None = None) -> tuple[Goal, Goal]:
    """A goal of plain Python as well as of what is compiled."""
    return Goal(load, "nginx", must, aim), _compiled(load, must, aim)


GOALS: tuple[Goal, ...] = (
    _compiled("get-repeating", 1.4, 1.2),
    Goal("get-repeating", "go", 0.6),
    _compiled("get-unique", 1.9, 1.5),
    Goal("get-unique", "nginx", 2.5),
    Goal("get-unique", "go", 0.7),
    _compiled("post-1k", 1.9, 1.5),
    *_both("download", 1.0, 1.8),
    *_both("upload", 1.0, 1.2),
    *_both("new-connection", 1.6),
    _compiled("tls-keep-alive", 1.6, 1.3),
    *_both("tls-handshake", 1.25),
    *_both("tls-handshake-rsa", 1.25),
    *_both("tls-resumed", 1.2),
    *_both("tls-resumed-1.2", 1.2),
    *_both("latency", 1.0),
    _compiled("h2-10x10", 1.2, 1.0),
    Goal("h2-10x10", "go", 0.35),
    _compiled("h2-32x1", 1.6, 1.3),
    Goal("h2-32x1", "go", 0.6),
    _compiled("h2-unique", 2.0, 1.6),
    Goal("h2-unique", "go", 0.8),
    *_both("h2-download", 1.0),
    *_both("h2-upload", 1.0),
    _compiled("grpc-h2load", 1.5, 1.2),
    *_both("grpc-unary", 1.6),
    *_both("grpc-bidi", 1.3),
)
"""Whichever of both is named has to reach it."""
IDLE_GOALS = {"idle": (1536, 1536), "idle_h2": (20 * 1024, 20 * 1024)}
"""What ours must need for an idle connection, and may aim at, in bytes."""
LOOKUP_MUST = 1.2
"""A lookup among the most hosts, divided by one among the fewest."""

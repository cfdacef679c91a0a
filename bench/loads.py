"""The loads: what is asked, how often, by which program, and what is read from it.

Plain values.  ``generators`` makes commands of them.
"""

from enum import Enum

from attrs import frozen

PLAIN_HOST = "plain.bench.test"
UPLOAD_HOST = "upload.bench.test"
SECURE_HOST = "secure.bench.test"

MIB = 1024 * 1024
BODY_BYTES = 10_000_000
"""The large bodies: 10 MB."""
POST_BYTES = 1024
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
    connections: int = 32
    requests: int = 20_000
    seconds: int = 2
    script: str = ""
    upload_bytes: int = 0
    body_bytes: int = 0
    """Bytes of body that one request moves, one way or the other; for megabytes per CPU-second."""
    rate: int = 0
    """Requests a second; 0 is as fast as it goes."""
    is_quick: bool = False


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
    Load(
        "tls-handshake",
        "TLS handshake (P-256) for each request",
        generator=Generator.WRK,
        scheme="https",
        host=SECURE_HOST,
        script="close.lua",
    ),
    Load("get-256", "small GET, 256 connections", connections=256),
    Load(
        "latency",
        f"p99 at {FIXED_RATE} requests/s",
        unit=Unit.P99,
        requests=4000,
        rate=FIXED_RATE,
    ),
)


@frozen
class Goal:
    """What this project asks of itself: ours divided by *reference* on *load*."""

    load: str
    reference: str
    must: float
    aim: float | None = None


GOALS: tuple[Goal, ...] = (
    Goal("get-repeating", "nginx", 1.8, 1.3),
    Goal("get-repeating", "go", 0.6),
    Goal("get-unique", "nginx", 2.3, 1.5),
    Goal("get-unique", "go", 0.7),
    Goal("post-1k", "nginx", 1.9, 1.4),
    Goal("download", "nginx", 1.0, 1.8),
    Goal("upload", "nginx", 0.8, 1.2),
    Goal("tls-keep-alive", "nginx", 2.0, 1.4),
    Goal("tls-handshake", "nginx", 1.5, 1.2),
    Goal("latency", "nginx", 1.3, 1.0),
)
IDLE_MUST_BYTES = 3 * 1024
IDLE_AIM_BYTES = 1536
LOOKUP_MUST = 1.2
"""A lookup among the most hosts, divided by one among the fewest."""

"""The options about how long peers may take, and how many connections there may be."""

import re
from typing import ClassVar

from ingress.cli.option_rows import RepeatableOptions, parameter
from ingress.model.limits import Limits, Timeouts

GROUP: tuple[str, tuple[tuple[str, str], ...]] = (
    "Limits",
    (
        ("client-header-timeout", "SECONDS"),
        ("client-body-timeout", "SECONDS"),
        ("client-body-min-rate", "BYTES"),
        ("send-timeout", "SECONDS"),
        ("keep-alive-timeout", "SECONDS"),
        ("keep-alive-requests", "COUNT"),
        ("keep-alive-time", "SECONDS"),
        ("allow-half-close", ""),
        ("proxy-connect-timeout", "SECONDS"),
        ("proxy-read-timeout", "SECONDS"),
        ("proxy-send-timeout", "SECONDS"),
        ("max-connections", "COUNT"),
        ("max-endpoint-connections", "COUNT"),
    ),
)
"""Title and options, in the order in which they are shown."""

LONGEST_SECONDS = 31_536_000
LARGEST_COUNT = 1_000_000_000
MOST_CONNECTIONS = 1_000_000

_DEFAULTS = Limits()


def read_timeout(text: str) -> float:
    """Read how long something may take."""
    if not re.fullmatch(r"[0-9]{1,8}(?:\.[0-9]{1,6})?", text) or not 0 < float(text) <= LONGEST_SECONDS:
        raise ValueError(f"not a number of seconds, more than 0 and at most {LONGEST_SECONDS}")
    return float(text)


def _read_count(text: str, least: int, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text) or not least <= int(text) <= most:
        raise ValueError(f"not a whole number from {least} to {most}")
    return int(text)


def read_requests(text: str) -> int:
    """Read how many requests there may be."""
    return _read_count(text, 1, LARGEST_COUNT)


def read_rate(text: str) -> int:
    """Read a number of bytes a second; 0 is none."""
    return _read_count(text, 0, LARGEST_COUNT)


def read_most(text: str) -> int:
    """Read how many connections there may be."""
    return _read_count(text, 1, MOST_CONNECTIONS)


def read_most_or_all(text: str) -> int:
    """Read how many connections there may be; 0 means as many as are asked for."""
    return _read_count(text, 0, MOST_CONNECTIONS)


class LimitOptions(RepeatableOptions):
    """What holds for all; what an Ingress may ask for instead, its annotations say."""

    optParameters: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        parameter(
            "client-header-timeout",
            _DEFAULTS.head_seconds,
            "Seconds from the first byte of a request's head to its last; then the answer is 408.",
            read_timeout,
        ),
        parameter(
            "client-body-timeout",
            _DEFAULTS.body_seconds,
            "Seconds between two pieces of a request body; then the answer is 408. Upgraded connections may rest.",
            read_timeout,
        ),
        parameter(
            "client-body-min-rate",
            _DEFAULTS.body_bytes_per_second,
            "Bytes a second that must come of a request body, measured over --client-body-timeout; 0 for no limit.",
            read_rate,
        ),
        parameter(
            "send-timeout",
            _DEFAULTS.send_seconds,
            "Seconds that a client may take nothing of an answer that waits for it; then it is cut.",
            read_timeout,
        ),
        parameter(
            "keep-alive-timeout",
            _DEFAULTS.keep_alive_seconds,
            "Seconds that a connection may rest between two requests.",
            read_timeout,
        ),
        parameter(
            "keep-alive-requests",
            _DEFAULTS.keep_alive_requests,
            "Requests on one connection of HTTP/1.1; in HTTP/2 there is no such bound.",
            read_requests,
        ),
        parameter(
            "keep-alive-time",
            _DEFAULTS.keep_alive_age_seconds,
            "Seconds after which a connection takes no further request.",
            read_timeout,
        ),
        parameter(
            "proxy-connect-timeout",
            _DEFAULTS.upstream.connect_seconds,
            "Seconds to connect to an endpoint, TLS included; then another is tried, and in the end the answer is 504. "
            "An Ingress may ask for others by the annotation of this name.",
            read_timeout,
        ),
        parameter(
            "proxy-read-timeout",
            _DEFAULTS.upstream.read_seconds,
            "Seconds that an endpoint may be silent while it owes an answer; then it is 504. "
            "An Ingress may ask for others by the annotation of this name.",
            read_timeout,
        ),
        parameter(
            "proxy-send-timeout",
            _DEFAULTS.upstream.send_seconds,
            "Seconds that an endpoint may take nothing of a request that waits for it. "
            "An Ingress may ask for others by the annotation of this name.",
            read_timeout,
        ),
        parameter(
            "max-connections",
            None,
            "Connections of clients at once; then accepting pauses. "
            "Without it 8000, or fewer where the process may not have the descriptors.",
            read_most,
        ),
        parameter(
            "max-endpoint-connections",
            _DEFAULTS.max_endpoint_connections,
            "Connections to one endpoint at once; then others get its requests, or the answer is 503. 0 for no limit.",
            read_most_or_all,
        ),
    ]

    optFlags: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        [
            "allow-half-close",
            None,
            "Answer clients that end their side of a connection after a whole request (half-close); "
            "without this they have left, and their requests end with 499.",
        ],
    ]

    def limits(self) -> Limits:
        """Return what was decided."""
        return Limits(
            head_seconds=self["client-header-timeout"],
            body_seconds=self["client-body-timeout"],
            body_bytes_per_second=self["client-body-min-rate"],
            send_seconds=self["send-timeout"],
            keep_alive_seconds=self["keep-alive-timeout"],
            keep_alive_requests=self["keep-alive-requests"],
            keep_alive_age_seconds=self["keep-alive-time"],
            allow_half_close=bool(self["allow-half-close"]),
            upstream=Timeouts(
                self["proxy-connect-timeout"], self["proxy-read-timeout"], self["proxy-send-timeout"]
            ),
            max_connections=self["max-connections"],
            max_endpoint_connections=self["max-endpoint-connections"],
        )

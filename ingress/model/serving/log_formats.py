"""What the lines of the access log look like, where the operator has a format of nginx's: ``log-format-upstream``.

A format is read once, into texts and names of variables out of a fixed list; nothing of it is executed.

Source: https://nginx.org/en/docs/http/ngx_http_log_module.html#log_format, and the variables that ingress-nginx logs.
"""

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final

from ingress.model.frozen import frozen
from ingress.model.serving.log_destinations import AccessDestination
from ingress.model.text.expressions import Expression, ExpressionRefused, read_expression

MAX_FORMAT_CHARACTERS: Final = 8192
MAX_PARTS: Final = 256
MAX_SKIPPED: Final = 64
MAX_URL: Final = 2048

LOG_LEVELS: Final = ("debug", "info", "warn", "error", "critical")
"""Of the program's own log, the worst last."""


class LogForm(StrEnum):
    """What lines of the program's own log look like."""

    TEXT = "text"
    JSON = "json"


VARIABLES: Final = frozenset(
    [
        "remote_addr",
        "the_real_ip",
        "proxy_protocol_addr",
        "realip_remote_addr",
        "proxy_add_x_forwarded_for",
        "remote_user",
        "time_local",
        "time_iso8601",
        "msec",
        "request",
        "request_method",
        "request_uri",
        "uri",
        "args",
        "query_string",
        "is_args",
        "host",
        "http_host",
        "server_protocol",
        "scheme",
        "status",
        "body_bytes_sent",
        "bytes_sent",
        "request_length",
        "request_time",
        "upstream_addr",
        "upstream_status",
        "upstream_response_time",
        "upstream_response_length",
        "upstream_connect_time",
        "upstream_header_time",
        "proxy_host",
        "proxy_upstream_name",
        "proxy_alternative_upstream_name",
        "namespace",
        "ingress_name",
        "service_name",
        "service_port",
        "location_path",
        "req_id",
        "request_id",
        "pipe",
        "bytes_received",
        "content_length",
        "content_type",
        "ssl_protocol",
        "ssl_server_name",
        "server_name",
        "upstream_cache_status",
        "request_completion",
        "hostname",
        "pid",
        "opentelemetry_trace_id",
        "opentelemetry_span_id",
        "failure_cause",
        "failure_reason",
        "filter",
    ]
)
FAMILIES: Final = ("http_", "arg_", "cookie_")
"""Variables whose name goes on with that of a field, a parameter of the query, or a cookie."""

_PART: Final = re.compile(r"\$(?:\{([A-Za-z0-9_]{1,64})\}|([A-Za-z0-9_]{1,64}))|([^$]+|\$)")


@frozen
class LogFormat:
    """Texts and variables, in turn: at even places texts, at odd ones names."""

    parts: tuple[str, ...]


class LineForm(StrEnum):
    """What lines of the access log look like, where nobody says so with variables."""

    PLAIN = "plain"
    """Fields by their places."""
    JSON = "json"
    LOGFMT = "logfmt"
    """Names and values, with ``=`` between them."""


COMBINED: Final = '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
"""What nginx and Apache call ``combined``."""


@frozen
class AccessLogSettings:
    """What the operator decided about the access log."""

    destination: AccessDestination = None
    is_on: bool = True
    has_requests: bool = True
    """Whether requests have lines."""
    has_streams: bool = True
    """Whether streams and sessions of UDP have lines."""
    format: LogFormat | LineForm = LineForm.PLAIN
    escapes_json: bool = False
    """Whether what clients write is escaped as in a JSON string, and what there is not is empty; else as ``\\xHH``, and a ``-``.
    Of a format with variables."""
    share: float = 1.0
    """Of exchanges that are no failures, with a status from 200 to 399, how many have a line; picked at random."""
    skipped_urls: tuple[str, ...] = ()
    """Targets of requests without a line: whole ones, or expressions after ``~`` or, for any case, ``~*``."""

    def skips(self, target: bytes) -> bool:
        """Whether a request for *target* has no line."""
        if not self.skipped_urls:
            return False
        seen = target[:MAX_URL]
        return seen.decode("latin-1") in self.skipped_urls or any(
            _expression(one).is_in(seen) for one in self.skipped_urls if one.startswith("~")
        )


def read_log_format(text: str) -> LogFormat:
    """Read a format; raises ``ValueError`` with what is wrong behind its name."""
    if len(text) > MAX_FORMAT_CHARACTERS:
        raise ValueError(f"is longer than {MAX_FORMAT_CHARACTERS} characters")
    if any(character != "\t" and not character.isprintable() for character in text):
        raise ValueError("holds a control character, and a line of the log is one line")
    parts = [""]
    for braced, bare, plain in _PART.findall(text):
        name = braced or bare
        if not name:
            parts[-1] += plain
            continue
        if name not in VARIABLES and not any(name.startswith(each) and name != each for each in FAMILIES):
            raise ValueError(
                f"names ${name}, which is none of the variables that can be logged (docs/access-log.md)"
            )
        parts += [name, ""]
    if len(parts) > MAX_PARTS:
        raise ValueError(f"has more than {MAX_PARTS // 2} variables")
    return LogFormat(tuple(parts))


def read_line_form(text: str) -> LogFormat | LineForm:
    """Read the name of a form, or a format; raises ``ValueError``."""
    if text in tuple(LineForm):
        return LineForm(text)
    if "$" not in text and text != "combined":
        raise ValueError(f"none of combined, {', '.join(LineForm)}, and no format with $variables")
    return read_log_format(COMBINED if text == "combined" else text)


def read_skipped_url(text: str) -> str:
    """Read a target, or an expression after ``~``; raises ``ValueError``."""
    if len(text) > MAX_URL:
        raise ValueError(f"is longer than {MAX_URL} characters")
    if text.startswith("~"):
        try:
            _expression(text)
        except ExpressionRefused as refusal:
            raise ValueError(str(refusal)) from None
    return text


@lru_cache(maxsize=MAX_SKIPPED)
def _expression(text: str) -> Expression:
    bare = text[1:]
    return read_expression(f"(?i){bare[1:]}" if bare.startswith("*") else bare)

"""The options about traces: how their texts are read, and their rows of the table."""

import re
from typing import Final
from urllib.parse import urlsplit

from ingress.model.observability.span_names import read_span_name
from ingress.options import values as v
from ingress.options.option import Option

MOST_WAITING: Final = 65_536
MOST_PER_SECOND: Final = 100_000
LONGEST_DELAY_SECONDS: Final = 60.0
_PATH: Final = "/v1/traces"
_match_attribute: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,127}=[^\s,=][^,]{0,255}").fullmatch


def read_collector(text: str) -> str:
    """Read where spans go by OTLP; raises ``ValueError``."""
    url = urlsplit(text)
    try:
        is_sound = url.scheme in ("http", "https", "grpc", "grpcs") and bool(url.hostname) and url.port != 0
    except ValueError:
        is_sound = False
    if not is_sound or not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError('is not a URL such as "http://collector:4318" or "grpc://collector:4317"')
    if url.username is not None or url.query or url.fragment:
        raise ValueError("may have no user, query or fragment; OTEL_EXPORTER_OTLP_HEADERS says who we are")
    if url.scheme in ("grpc", "grpcs"):
        if url.port is None or url.path not in ("", "/"):
            raise ValueError("needs a port and may have no path, as in grpc://collector:4317")
        return f"{url.scheme}://{url.netloc}"
    return f"{url.scheme}://{url.netloc}{_PATH if url.path in ('', '/') else url.path}"


def read_ratio(text: str) -> float:
    """Read a share, from 0 to 1; raises ``ValueError``."""
    if re.fullmatch(r"0|1|[01]?\.[0-9]{1,12}|1\.0+", text) is None or float(text) > 1:
        raise ValueError("is not a number from 0 to 1")
    return float(text)


def _count(text: str, least: int, most: int) -> int:
    if re.fullmatch(r"[0-9]{1,9}", text) is None or not least <= int(text) <= most:
        raise ValueError(f"is not a number from {least} to {most}")
    return int(text)


def read_waiting(text: str) -> int:
    """Read how many may wait; raises ``ValueError``."""
    return _count(text, 1, MOST_WAITING)


def read_most_per_second(text: str) -> int:
    """Read how many there may be in a second; raises ``ValueError``."""
    return _count(text, 0, MOST_PER_SECOND)


def read_delay(text: str) -> float:
    """Read how long spans wait; raises ``ValueError``."""
    seconds = v.read_seconds(text)
    if not 0.01 <= seconds <= LONGEST_DELAY_SECONDS:
        raise ValueError(f"is not a number from 0.01 to {LONGEST_DELAY_SECONDS:g}")
    return seconds


def read_attribute(text: str) -> str:
    """Read an attribute and its value, as they are written; raises ``ValueError``."""
    if _match_attribute(text) is None or not text.isprintable():
        raise ValueError(
            "is not NAME=VALUE, with letters, digits, dots and dashes in the name and no comma in the value"
        )
    return text


def read_service(text: str) -> str:
    """Read what the controller is called in traces; raises ``ValueError``."""
    if not 0 < len(text.strip()) <= 255 or not text.isprintable():
        raise ValueError("is not a name of at most 255 characters")
    return text.strip()


# fmt: off
TRACING_OPTIONS: Final = (
    Option(name="tracing-endpoint", value="URL", read=read_collector, to="serving.tracing.endpoint", running=True,
           help="Collector that gets spans of sampled requests, by OTLP: http://HOST:4318 (needs the extra tracing), or grpc://HOST:4317 (tracing-grpc). Without it nothing is traced."),
    Option(name="tracing-ratio", value="RATIO", read=read_ratio, to="serving.tracing.ratio", running=True,
           help="Share of the traces that begin here that is sampled, from 0 to 1."),
    Option(name="tracing-most-per-second", value="COUNT", read=read_most_per_second, to="serving.tracing.most_per_second", running=True,
           help="Requests sampled in a second at most, at all workers together and whoever asks for it; 0 for no bound."),
    Option(name="tracing-trust-parent", value="BOOLEAN", read=v.read_boolean, to="serving.tracing.trusts_parent", running=True, shows_default=False,
           help="Whether traces that clients name in traceparent are gone on with; else each request begins one. [default: false; in a ConfigMap with otlp-collector-host: true]"),
    Option(name="tracing-follow-parent", value="BOOLEAN", read=v.read_boolean, to="serving.tracing.follows_parent", running=True, shows_default=False,
           help="Whether such a trace is sampled if its traceparent says so, and not by --tracing-ratio. [default: true]"),
    Option(name="tracing-header", value="NAME", read=v.read_field_name, to="serving.tracing.header", running=True, shows_default=False,
           help="Field of requests that has them sampled, whatever its value; everybody can send it who knows it. [default: none]"),
    Option(name="tracing-by-default", value="BOOLEAN", read=v.read_boolean, to="serving.tracing.by_default", running=True, shows_default=False,
           help="Whether requests are traced where no Ingress says so by enable-opentelemetry. [default: true; in a ConfigMap with otlp-collector-host what enable-opentelemetry says]"),
    Option(name="tracing-service", value="NAME", read=read_service, to="serving.tracing.service", running=True,
           help="What the controller is called in traces (service.name)."),
    Option(name="tracing-attribute", value="NAME=VALUE", read=read_attribute, to="serving.tracing.attributes", repeatable=True, running=True,
           help="What else is told of it: an attribute of the resource, such as deployment.environment.name=production."),
    Option(name="tracing-span-name", value="TEXT", read=read_span_name, to="serving.tracing.name", running=True, shows_default=False,
           help="What spans of requests are called, with $request_method, $host, $location_path, $namespace, $ingress_name, $service_name, $service_port and $scheme; an Ingress may say otherwise by opentelemetry-operation-name. [default: method and path of the rule]"),
    Option(name="tracing-query", to="serving.tracing.shows_query", running=True,
           help="Tell query strings in spans, too."),
    Option(name="tracing-queue-size", value="COUNT", read=read_waiting, to="serving.tracing.queue_size", running=True,
           help="Sampled requests that may wait for the collector, in each process; what finds no room is dropped and counted."),
    Option(name="tracing-batch-size", value="COUNT", read=read_waiting, to="serving.tracing.batch_size", running=True,
           help="Of these, how many are sent at once."),
    Option(name="tracing-delay", value="SECONDS", read=read_delay, to="serving.tracing.delay_seconds", running=True,
           help="Seconds after which fewer are sent, too."),
)
# fmt: on

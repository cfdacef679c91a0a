"""The keys of an ingress-nginx ConfigMap, and which options they are: one table.

A key that is the name of an option is that option, and needs no row.  The others are here: those that mean an option
of another name, those that change nothing, and those that cannot be honored.  Together these are all keys that ingress-nginx
documents; a name that is none of them is told, with the one that is probably meant.
"""

import re
from collections.abc import Callable
from typing import Final

from ingress.http.grammar import MAX_HEAD, MAX_REQUEST_LINE
from ingress.model.frozen import frozen
from ingress.options.values import read_boolean


@frozen
class ConfigMapKey:
    """What becomes of one key."""

    option: str = ""
    """The option that it decides; empty for none."""
    read: Callable[[str], str] = str.strip
    """Returns the text of that option for the text of the key; raises ``ValueError`` with a reason, without option too."""
    silent: tuple[str, ...] = ()
    """Values, in lower case, of which nothing needs to be said: what they ask for is so in any case."""
    adds: bool = False
    """Whether it is put behind what the option's own key says, and not in its place."""
    told: str = ""
    """Why it is not honored; empty: it changes nothing here, which needs no words."""
    is_note: bool = False
    """Whether that is for information: nothing is lost."""
    noted: Callable[[str], str] = lambda text: ""
    """Returns what is different where the option is decided by a text that can be read; empty where nothing is."""
    remark: str = ""
    """For the page of keys: what is refused or noted."""


def boolean(text: str) -> bool:
    """Read a boolean; raises ``ValueError``."""
    return read_boolean(text.strip())


def _opposite(text: str) -> str:
    return "false" if boolean(text) else "true"


_UNITS: Final = {
    "y": 31_536_000,
    "M": 2_592_000,
    "w": 604_800,
    "d": 86_400,
    "h": 3_600,
    "m": 60,
    "s": 1,
    "ms": 0.001,
}
_TIME: Final = re.compile(
    # Spaces belong to what stands before them: several ways to share many of them out would never be through.
    "".join(rf"(?:(?P<{unit}>[0-9]{{1,8}}){unit}{'(?!s)' if unit == 'm' else ''} *)?" for unit in _UNITS)
)


def _plain_seconds(text: str) -> str:
    """Read a number of seconds as nginx writes times: ``240s``, ``4m``, ``1h 30m``, or without a unit."""
    text = text.strip()
    if re.fullmatch(r"[0-9]{1,8}", text):
        return str(int(text))
    found = _TIME.fullmatch(text)
    if found is None or not text:
        raise ValueError('is not a time; write "60" or "60s"')
    return f"{sum(int(number) * _UNITS[unit] for unit, number in found.groupdict('0').items()):.15g}"


def _milliseconds(text: str) -> str:
    if re.fullmatch(r"[0-9]{1,9}", text.strip()) is None:
        raise ValueError('is not a number of milliseconds; write "5000"')
    return f"{int(text) / 1000:g}"


def _keep_alive(text: str) -> str:
    seconds = _plain_seconds(text)
    if float(seconds) == 0:
        raise ValueError('would end each connection after a request; write keep-alive-requests: "1" for that')
    return seconds


def _head_buffers(text: str) -> str:
    """Read number and size of nginx's buffers for heads; raises ``ValueError`` for more than there is room for here."""
    found = re.fullmatch(r"([0-9]{1,4})\s+([0-9]{1,9})([kKmM]?)", text.strip())
    if found is None:
        raise ValueError('is no number and size; write "4 8k"')
    size = int(found[2]) * {"": 1, "k": 1024, "m": 1024**2}[found[3].lower()]
    if size > MAX_REQUEST_LINE or int(found[1]) * size > MAX_HEAD:
        raise ValueError(
            f"is more than there is: a head has {MAX_HEAD // 1024} KiB at most here, and its first line {MAX_REQUEST_LINE // 1024} KiB"
        )
    return text


_VERSIONS: Final = {"tlsv1.2": "1.2", "tlsv1.3": "1.3"}
_OLD_VERSIONS: Final = frozenset({"sslv2", "sslv3", "tlsv1", "tlsv1.0", "tlsv1.1"})


def _further_version(text: str) -> str:
    return "" if "tlsv1.3" in text.lower() else "TLSv1.3 is spoken, too, with whom speaks it"


def _least_version(text: str) -> str:
    words = text.lower().split()
    for word in words:
        if word not in _VERSIONS and word not in _OLD_VERSIONS:
            raise ValueError('is not a list of versions; write "TLSv1.2 TLSv1.3"')
    found = sorted(_VERSIONS[word] for word in words if word in _VERSIONS)
    if not found or len(found) < len(words):
        raise ValueError("names versions that are not safe and not spoken; TLSv1.2 and TLSv1.3 are")
    return found[0]


def _server_field(text: str) -> str:
    boolean(text)
    # What is true is silent.
    return "Server"


_LEVELS: Final = {"notice": "info", "crit": "critical", "alert": "critical", "emerg": "critical"}


def _log_level(text: str) -> str:
    level = text.strip().lower()
    return _LEVELS.get(level, level)


_TRUE: Final = ("true", "1", "t")
_FALSE: Final = ("false", "0", "f")
OFF: Final = ("", "off", *_FALSE)
"""What asks for nothing."""

_NGINX: Final = ConfigMapKey()


def _missing(told: str, silent: tuple[str, ...] = OFF) -> ConfigMapKey:
    return ConfigMapKey(told=told, silent=silent)


def _note(told: str, silent: tuple[str, ...] = OFF) -> ConfigMapKey:
    return ConfigMapKey(told=told, silent=silent, is_note=True)


_TRACING: Final = "traces are told by OTLP alone: write enable-opentelemetry, and otlp-collector-host"
_STREAM: Final = "no text of nginx's is executed"
_STREAM_FORMAT: Final = (
    "[$remote_addr] [$time_local] $protocol $status $bytes_sent $bytes_received $session_time"
)
"""That of ingress-nginx, where nobody says another."""

KEYS: Final[dict[str, ConfigMapKey]] = {
    # Options by another name.
    "keep-alive": ConfigMapKey("keep-alive-timeout", _keep_alive),
    "hsts": ConfigMapKey("no-hsts", _opposite),
    "hsts-include-subdomains": ConfigMapKey("no-hsts-subdomains", _opposite),
    "use-http2": ConfigMapKey("no-http2", _opposite),
    "ssl-protocols": ConfigMapKey(
        "tls-min-version", _least_version, noted=_further_version, remark="`TLSv1.3` is always spoken, which is a note where it is not named"
    ),
    "ssl-reject-handshake": ConfigMapKey("strict-sni"),
    "block-cidrs": ConfigMapKey(
        "denylist-source-range", adds=True, remark="an address range that an Ingress lets in does not let these in, which it does in ingress-nginx; one that it denies takes the place of these"
    ),
    "allow-backend-server-header": ConfigMapKey(
        "hide-headers", _server_field, silent=_TRUE, adds=True, remark="`false` adds `Server`; where nobody says so it is passed on, unlike in ingress-nginx"
    ),
    "proxy-stream-timeout": ConfigMapKey("stream-timeout", _plain_seconds),
    "proxy-stream-responses": ConfigMapKey("stream-responses"),
    "proxy-stream-next-upstream": ConfigMapKey("no-stream-next-upstream", _opposite),
    "proxy-stream-next-upstream-timeout": ConfigMapKey("stream-next-upstream-timeout", _plain_seconds),
    "proxy-stream-next-upstream-tries": ConfigMapKey("stream-next-upstream-tries"),
    "worker-shutdown-timeout": ConfigMapKey("shutdown-grace", _plain_seconds),
    "error-log-level": ConfigMapKey("log-level", _log_level),
    "otel-service-name": ConfigMapKey("tracing-service"),
    "otel-sampler-parent-based": ConfigMapKey("tracing-follow-parent"),
    "otel-max-queuesize": ConfigMapKey("tracing-queue-size"),
    "otel-max-export-batch-size": ConfigMapKey("tracing-batch-size"),
    "otel-schedule-delay-millis": ConfigMapKey("tracing-delay", _milliseconds),
    "opentelemetry-operation-name": ConfigMapKey("tracing-span-name"),
    "opentelemetry-trust-incoming-span": ConfigMapKey("tracing-trust-parent"),
    # What is meant together: see ``ingress.options.config_map_tracing``, and below ``ingress.options.config_map``.
    "enable-opentelemetry": ConfigMapKey("tracing-by-default"),
    "otlp-collector-host": ConfigMapKey("tracing-endpoint"),
    "otlp-collector-port": ConfigMapKey("tracing-endpoint"),
    "otel-sampler": ConfigMapKey("tracing-ratio"),
    "otel-sampler-ratio": ConfigMapKey("tracing-ratio"),
    "use-forwarded-headers": ConfigMapKey("forwarded-headers"),
    "enable-real-ip": ConfigMapKey("forwarded-headers"),
    "proxy-real-ip-cidr": ConfigMapKey("trusted-proxies"),
    "enable-syslog": ConfigMapKey("access-log"),
    "syslog-host": ConfigMapKey("access-log"),
    "syslog-port": ConfigMapKey("access-log"),
    "forwarded-host-header": _missing("the host is read in X-Forwarded-Host", ("", "x-forwarded-host")),
    # What is done in any case.
    "proxy-protocol-header-timeout": _note("a PROXY header has the time of a head, --client-header-timeout", ("5s",)),
    "server-tokens": _note("no version is told to anybody"),
    "generate-request-id": _note("every request gets an X-Request-ID", _TRUE),
    "ignore-invalid-headers": _missing("a request with a field name that is none is refused with 400", _TRUE),
    "ssl-session-tickets": _note("sessions are resumed by tickets, whose keys change every twelve hours", _TRUE),
    "ssl-session-ticket-key": _missing("ticket keys are made anew every twelve hours, and nobody can set them", ("",)),
    "ssl-early-data": _missing("what comes as early data can be sent again by anybody"),
    "ssl-dh-param": _missing("there is no key exchange over finite fields", ("",)),
    "ssl-ecdh-curve": _missing("--tls-groups names the groups of the key exchange, on the command line alone", ("", "auto")),
    "enable-ocsp": _missing("no certificate status is stapled"),
    "retry-non-idempotent": _missing('write proxy-next-upstream: "error timeout non_idempotent"'),
    "http2-max-requests": _note("there is no such bound in HTTP/2", ("1000",)),
    "access-log-path": _missing("--access-log names the file, on the command line alone", ("", "/var/log/nginx/access.log")),
    "http-access-log-path": _missing("--access-log names the file, on the command line alone", ("",)),
    "gzip-disable": _note("who says Accept-Encoding is believed, whatever User-Agent says", ("",)),
    "access-log-params": _missing("lines are written as they come", ("",)),
    "error-log-path": _missing("twistd --logfile names the file", ("", "/var/log/nginx/error.log")),
    "log-format-escape-none": _missing("what clients write is always escaped"),
    "bind-address": _missing("--http and --https say where to listen", ("",)),
    "disable-ipv6": _note("--http and --https say where to listen"),
    "max-worker-connections": _note("--max-connections bounds the connections of all processes together", ("16384",)),
    "worker-processes": _note(
        "--workers says how many processes serve, on the command line alone: they are parted before anything of the cluster is read",
        ("auto", "1"),
    ),
    "upstream-keepalive-connections": _note("idle connections to endpoints are bounded by themselves", ("320",)),
    "upstream-keepalive-time": _note("connections to endpoints end when they rest too long", ("1h",)),
    "upstream-keepalive-timeout": _note("connections to endpoints end when they rest too long", ("60",)),
    "upstream-keepalive-requests": _note("there is no such bound", ("10000",)),
    "default-type": _missing("an answer without Content-Type gets none", ("", "text/html")),
    "use-port-in-redirects": _missing("redirects to a path name the port that was asked, and not the one that is listened at"),
    "proxy-http-version": _missing("endpoints are spoken to in HTTP/1.1", ("", "1.1")),
    "allow-cross-namespace-resources": _missing("an Ingress refers to Secrets of its own namespace"),
    "enable-auth-access-log": _note("what auth-url is asked has no line; ingress_sub_requests_total counts it"),
    "enable-access-log-for-default-backend": _note("all requests are logged", _TRUE),
    "limit-conn-zone-variable": _missing("limits are by the address of the client", ("", "$binary_remote_addr")),
    "large-client-header-buffers": ConfigMapKey(
        read=_head_buffers,
        remark=f"a head has {MAX_HEAD // 1024} KiB at most, and its first line {MAX_REQUEST_LINE // 1024} KiB: more is a problem, what it allows is silent",
    ),
    "http2-max-concurrent-streams": _note("a connection of HTTP/2 has 128 streams at once at most", ("128",)),
    # Text for nginx.
    "main-snippet": _missing("no text of nginx's is executed", ("",)),
    "stream-snippet": _missing(_STREAM, ("",)),
    "log-format-stream": _note("streams have lines of the form that requests have (access-log-format)", ("", _STREAM_FORMAT)),
    "stream-access-log-path": _note("the lines of streams go where those of requests go (access-log)", ("",)),
    "plugins": _missing("there is no Lua; --filter has a filter of a package stand before all requests", ("",)),
    "lua-shared-dicts": _NGINX,
    "use-geoip": _note("nothing is looked up about addresses", _TRUE),
    "use-geoip2": _missing("nothing is looked up about addresses"),
    "geoip2-autoreload-in-minutes": _NGINX,
}  # fmt: skip

# What is about the insides of nginx and asks for nothing.
_INSIDES: Final = """
    client-header-buffer-size forwarded-for-proxy-protocol-header disable-ipv6-dns enable-aio-write enable-multi-accept http2-max-field-size
    http2-max-header-size max-worker-open-files map-hash-bucket-size server-name-hash-max-size
    server-name-hash-bucket-size proxy-headers-hash-max-size proxy-headers-hash-bucket-size reuse-port
    ssl-session-cache ssl-session-cache-size ssl-session-timeout ssl-buffer-size worker-cpu-affinity
    worker-serial-reloads enable-serial-reloads variables-hash-bucket-size variables-hash-max-size nginx-status-ipv4-whitelist
    nginx-status-ipv6-whitelist debug-connections proxy-ssl-location-only
    grpc-buffer-size-kb
    opentelemetry-config opentracing-operation-name
    opentracing-location-operation-name opentracing-trust-incoming-span zipkin-collector-host zipkin-collector-port
    zipkin-service-name zipkin-sample-rate jaeger-collector-host jaeger-collector-port jaeger-endpoint
    jaeger-service-name jaeger-propagation-format jaeger-sampler-type jaeger-sampler-param jaeger-sampler-host
    jaeger-sampler-port jaeger-trace-context-header-name jaeger-debug-header jaeger-baggage-header
    jaeger-tracer-baggage-header-prefix jaeger-trace-baggage-header-prefix datadog-collector-host
    datadog-collector-port datadog-service-name datadog-environment datadog-operation-name-override
    datadog-priority-sampling datadog-sample-rate
    global-rate-limit-memcached-port global-rate-limit-memcached-connect-timeout
    global-rate-limit-memcached-max-idle-timeout global-rate-limit-memcached-pool-size global-rate-limit-status-code
"""
KEYS.update((name, _NGINX) for name in _INSIDES.split())
KEYS.update(
    {
        "enable-opentracing": _missing(_TRACING),
        "global-rate-limit-memcached-host": _missing("limits are counted by each replica for itself", ("",)),
    }
)

OTHER_DEFAULTS: Final = {
    "allow-backend-server-header": ("false", "true"),
    "allow-snippet-annotations": ("false", "true"),
    "annotations-risk-level": ("High", "Critical"),
    "client-body-timeout": ("60", "30"),
    "client-header-timeout": ("60", "10"),
    "proxy-buffer-size": ("4k", "64k"),
    "proxy-request-buffering": ("on", "off"),
    "strict-validate-path-type": ("true", "false"),
    "worker-shutdown-timeout": ("240s", "30s"),
}
"""Keys that are honored, of which nobody has to say anything there to have something else than here: its default, and ours."""

GUARDS: Final = frozenset({"plugins"})
"""Those that are not honored, and by which requests would have been kept out."""

NEVER_WERE: Final = {
    "proxy-buffers": "proxy-buffers-number",
    "client-max-body-size": "proxy-body-size",
    "body-size": "proxy-body-size",
    "max-body-size": "proxy-body-size",
    "enable-gzip": "use-gzip",
    "gzip": "use-gzip",
    "use-brotli": "enable-brotli",
    "http2": "use-http2",
    "enable-http2": "use-http2",
    "hsts-include-sub-domains": "hsts-include-subdomains",
    "real-ip-header": "forwarded-for-header",
    "set-real-ip-from": "proxy-real-ip-cidr",
    "redirect-to-https": "ssl-redirect",
    "custom-headers": "add-headers",
}
"""Names that ingress-nginx never had, or has no more, which are too far from the one that is meant."""

"""The panels of the Grafana dashboard: what each asks a Prometheus, and how it is drawn.

``scripts.grafana_dashboard`` makes the dashboard of them.  That every expression names series and labels that there are is
tested with those of the alert rules.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

JOB: Final = 'job="$job"'
POD: Final = f'{JOB}, pod=~"$pod"'
_OURS: Final = f'{JOB}, namespace=~"$namespace", ingress=~"$ingress"'
_OUR_FAILURES: Final = (
    'cause=~"bad-gateway|unavailable|gateway-timeout|cut|auth-failed|filter|overload|loop|bug"'
)
_BY_SERVICE: Final = "namespace, ingress, service"


class Panel(NamedTuple):
    """A panel: its title, its *queries* as expression and legend, and how it is drawn."""

    title: str
    queries: Sequence[tuple[str, str]]
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    about: str = ""
    stacked: bool = False
    bounds: Sequence[tuple[float, str]] = ()
    """From which value on a tile or a line has which colour."""
    decimals: int | None = None


class Row(NamedTuple):
    """Panels below a heading."""

    title: str
    panels: Sequence[Panel]
    height: int = 8


def _failing(labels: str) -> str:
    """Return the share of requests that fail here, of those with *labels*."""
    failing = f"sum(rate(ingress_failures_total{{{labels}, {_OUR_FAILURES}}}[$__rate_interval]))"
    return f"({failing} or vector(0)) / sum(rate(ingress_requests_total{{{labels}}}[$__rate_interval]))"


def _quantile(quantile: str, series: str) -> str:
    rate = f"sum by (le) (rate({series}_bucket{{{JOB}}}[$__rate_interval]))"
    return f"histogram_quantile({quantile}, {rate})"


def _top(expression: str) -> str:
    return f"topk(10, {expression})"


def _rate(series: str, labels: str = JOB, by: str = "") -> str:
    grouping = f" by ({by})" if by else ""
    return f"sum{grouping} (rate({series}{{{labels}}}[$__rate_interval]))"


_GOOD_TO_BAD: Final = ((0.0, "green"), (0.01, "yellow"), (0.05, "red"))
_NONE_IS_GOOD: Final = ((0.0, "green"), (1.0, "yellow"))

ROWS: Final = (
    Row(
        "Now",
        (
            Panel("Requests", ((_rate("ingress_requests_total", _OURS), ""),), "reqps", "stat", 4),
            Panel(
                "Failing here",
                ((_failing(_OURS), ""),),
                "percentunit",
                "stat",
                4,
                "502, 503 and 504 of the controller, answers that broke off, overload, filters and bugs. Endpoints' own errors are not among these.",
                bounds=_GOOD_TO_BAD,
                decimals=2,
            ),
            Panel(
                "p99",
                ((_quantile("0.99", "ingress_request_duration_seconds"), ""),),
                "s",
                "stat",
                4,
                "Of all Ingresses, from the head of a request to the last byte of its answer.",
            ),
            Panel(
                "Connections", ((f"sum(ingress_downstream_connections{{{POD}}})", ""),), kind="stat", width=3
            ),
            Panel(
                "Endpoints left out",
                ((f"sum(ingress_endpoints_ejected{{{POD}}})", ""),),
                kind="stat",
                width=3,
                bounds=_NONE_IS_GOOD,
            ),
            Panel(
                "Next certificate ends",
                ((f"min(ingress_certificate_expiry_timestamp_seconds{{{JOB}}}) - time()", ""),),
                "s",
                "stat",
                3,
                bounds=((0.0, "red"), (3 * 86400.0, "yellow"), (14 * 86400.0, "green")),
            ),
            Panel(
                "Leaders",
                ((f"sum(ingress_is_leader{{{JOB}}})", ""),),
                kind="stat",
                width=3,
                about="1 but for the moment of a takeover.",
                bounds=((0.0, "red"), (1.0, "green"), (2.0, "red")),
            ),
        ),
        4,
    ),
    Row(
        "Traffic",
        (
            Panel(
                "Requests by status",
                ((_rate("ingress_requests_total", _OURS, "status"), "{{status}}"),),
                "reqps",
                stacked=True,
            ),
            Panel(
                "Failures by cause",
                ((_rate("ingress_failures_total", _OURS, "cause"), "{{cause}}"),),
                "reqps",
                about="Whose failure it was: docs/runbook.md says what each means.",
                stacked=True,
            ),
            Panel(
                "Time of a request, and of endpoints in it",
                (
                    (_quantile("0.5", "ingress_request_duration_seconds"), "p50"),
                    (_quantile("0.99", "ingress_request_duration_seconds"), "p99"),
                    (_quantile("0.99", "ingress_upstream_duration_seconds"), "p99 of endpoints"),
                ),
                "s",
                about="Of all Ingresses. The points are traces, where the controller makes some.",
            ),
            Panel(
                "Bytes of bodies",
                (
                    (_rate("ingress_response_body_bytes_total", _OURS), "to clients"),
                    (_rate("ingress_request_body_bytes_total", _OURS), "from clients"),
                ),
                "Bps",
            ),
            Panel(
                "Distribution of times",
                (
                    (
                        f"sum by (le) (increase(ingress_request_duration_seconds_bucket{{{JOB}}}[$__rate_interval]))",
                        "{{le}}",
                    ),
                ),
                "s",
                "heatmap",
            ),
            Panel(
                "Attempts repeated",
                ((_rate("ingress_attempts_repeated_total", POD, "reason"), "{{reason}}"),),
                "reqps",
                stacked=True,
            ),
        ),
    ),
    Row(
        "By Ingress and Service",
        (
            Panel(
                "Most requests",
                (
                    (
                        _top(_rate("ingress_requests_total", _OURS, _BY_SERVICE)),
                        "{{namespace}}/{{ingress}} {{service}}",
                    ),
                ),
                "reqps",
            ),
            Panel(
                "Most failures",
                (
                    (
                        _top(_rate("ingress_failures_total", _OURS, f"{_BY_SERVICE}, cause")),
                        "{{namespace}}/{{ingress}} {{service}}: {{cause}}",
                    ),
                ),
                "reqps",
            ),
            Panel(
                "Longest requests, mean",
                (
                    (
                        _top(
                            f"{_rate('ingress_request_seconds_total', _OURS, _BY_SERVICE)} / {_rate('ingress_requests_total', _OURS, _BY_SERVICE)}"
                        ),
                        "{{namespace}}/{{ingress}} {{service}}",
                    ),
                ),
                "s",
            ),
            Panel(
                "Slowest Services, mean",
                (
                    (
                        _top(
                            f"{_rate('ingress_upstream_seconds_total', _OURS, _BY_SERVICE)} / {_rate('ingress_requests_total', _OURS, _BY_SERVICE)}"
                        ),
                        "{{namespace}}/{{ingress}} {{service}}",
                    ),
                ),
                "s",
                about="Time of endpoints alone.",
            ),
            Panel(
                "Most bytes to clients",
                (
                    (
                        _top(_rate("ingress_response_body_bytes_total", _OURS, _BY_SERVICE)),
                        "{{namespace}}/{{ingress}} {{service}}",
                    ),
                ),
                "Bps",
            ),
            Panel(
                "Certificates that end first",
                (
                    (
                        f"bottomk(10, min by (namespace, secret) (ingress_certificate_expiry_timestamp_seconds{{{JOB}}}) - time())",
                        "{{namespace}}/{{secret}}",
                    ),
                ),
                "s",
                "bargauge",
                bounds=((0.0, "red"), (3 * 86400.0, "yellow"), (14 * 86400.0, "green")),
            ),
        ),
    ),
    Row(
        "Endpoints",
        (
            Panel("Endpoints by state", ((f"sum by (state) (ingress_endpoints{{{POD}}})", "{{state}}"),)),
            Panel(
                "Connections to endpoints",
                ((f"sum by (state) (ingress_pool_connections{{{POD}}})", "{{state}}"),),
                stacked=True,
            ),
            Panel(
                "What goes wrong with endpoints",
                (
                    (_rate("ingress_upstream_failures_total", POD), "attempts that failed"),
                    (_rate("ingress_endpoint_ejections_total", POD), "left out for a while"),
                    (_rate("ingress_endpoints_passed_over_total", POD), "passed over, full"),
                ),
                "reqps",
            ),
            Panel(
                "What filters ask",
                ((_rate("ingress_sub_requests_total", POD, "kind, outcome"), "{{kind}}, {{outcome}}"),),
                "reqps",
            ),
            Panel(
                "Filters that failed requests",
                ((_rate("ingress_filter_failures_total", POD, "filter"), "{{filter}}"),),
                "reqps",
            ),
            Panel(
                "What filters count",
                (
                    (
                        _top(_rate("ingress_filter_events_total", POD, "filter, event")),
                        "{{filter}} {{event}}",
                    ),
                ),
                "reqps",
            ),
        ),
    ),
    Row(
        "What is served, and from where",
        (
            Panel(
                "Problems by reason",
                ((f"max by (reason) (ingress_problems{{{POD}}}) > 0", "{{reason}}"),),
                stacked=True,
            ),
            Panel(
                "Routes and certificates",
                (
                    (f"max(ingress_routes{{{POD}}})", "routes"),
                    (f"max(ingress_certificates{{{POD}}})", "certificates"),
                ),
            ),
            Panel(
                "Since the API server last said anything",
                ((f"max by (kind) (ingress_watch_last_contact_seconds{{{POD}}})", "{{kind}}"),),
                "s",
                bounds=((0.0, "green"), (90.0, "red")),
            ),
            Panel(
                "Changes of objects",
                ((_rate("ingress_watch_events_total", POD, "kind"), "{{kind}}"),),
                "cps",
            ),
            Panel(
                "Making a snapshot, mean",
                (
                    (
                        f"{_rate('ingress_snapshot_seconds_sum', POD, 'pod')} / {_rate('ingress_snapshot_seconds_count', POD, 'pod')}",
                        "{{pod}}",
                    ),
                ),
                "s",
            ),
            Panel(
                "Changed, and not yet translated",
                ((f"ingress_changes_waiting_seconds{{{POD}}}", "{{pod}}"),),
                "s",
            ),
            Panel("Who leads", ((f"sum by (pod) (ingress_is_leader{{{POD}}})", "{{pod}}"),)),
            Panel(
                "Statuses and Events written",
                (
                    (_rate("ingress_status_writes_total", POD, "outcome"), "statuses, {{outcome}}"),
                    (_rate("ingress_events_total", POD, "outcome"), "Events, {{outcome}}"),
                ),
                "wps",
            ),
            Panel(
                "Versions",
                (
                    (
                        f"count by (version, code, python, twisted, openssl) (ingress_build_info{{{POD}}})",
                        "{{version}} ({{code}}), Python {{python}}, Twisted {{twisted}}, {{openssl}}",
                    ),
                ),
            ),
        ),
    ),
    Row(
        "Streams and UDP",
        (
            Panel(
                "Streams and sessions of UDP",
                (
                    (f"sum by (sort) (ingress_stream_connections{{{POD}}})", "{{sort}}"),
                    (f"sum(ingress_passthrough_connections{{{POD}}})", "TLS that passes through"),
                    (f"sum(ingress_udp_sessions_most{{{POD}}})", "udp, at most"),
                ),
                width=12,
                about="Sessions of UDP are open until they were answered, or nothing moved for a while.",
            ),
            Panel(
                "Ended, by status",
                (
                    (
                        _rate("ingress_stream_connections_ended_total", POD, "sort, status"),
                        "{{sort}}, {{status}}",
                    ),
                    (
                        _rate("ingress_passthrough_connections_ended_total", POD, "status"),
                        "TLS that passes through, {{status}}",
                    ),
                ),
                "cps",
                width=12,
            ),
            Panel(
                "Bytes of streams",
                (
                    (_rate("ingress_stream_bytes_total", POD, "sort, direction"), "{{sort}}, {{direction}}"),
                    (
                        _rate("ingress_passthrough_bytes_total", POD, "direction"),
                        "TLS that passes through, {{direction}}",
                    ),
                ),
                "Bps",
                about="Counted when they end.",
            ),
            Panel(
                "Datagrams of UDP",
                (
                    (_rate("ingress_udp_datagrams_total", POD, "direction"), "{{direction}}"),
                    (_rate("ingress_udp_sessions_displaced_total", POD), "sessions that made way"),
                ),
                "pps",
                about="Counted when their sessions end. Sessions make way where there are as many as may be.",
            ),
            Panel(
                "Datagrams dropped",
                ((_rate("ingress_udp_datagrams_dropped_total", POD, "cause"), "{{cause}}"),),
                "pps",
                about="By cause: docs/metrics.md says what each means.",
            ),
        ),
    ),
    Row(
        "Room",
        (
            Panel(
                "Connections of clients",
                (
                    (f"sum by (pod, tls) (ingress_downstream_connections{{{POD}}})", "{{pod}}, TLS {{tls}}"),
                    (f"ingress_downstream_connections_most{{{POD}}}", "{{pod}}, at most"),
                ),
            ),
            Panel(
                "Connections accepted",
                ((_rate("ingress_downstream_connections_accepted_total", POD, "tls"), "TLS {{tls}}"),),
                "cps",
            ),
            Panel(
                "How late the process is",
                (
                    (f"ingress_reactor_lag_seconds{{{POD}}}", "{{pod}}"),
                    (f"ingress_worker_lateness_seconds{{{POD}}}", "{{pod}}, worker {{worker}}"),
                ),
                "s",
            ),
            Panel(
                "Processor",
                ((f"rate(process_cpu_seconds_total{{{POD}}}[$__rate_interval])", "{{pod}} {{worker}}"),),
                "percentunit",
            ),
            Panel(
                "Memory",
                (
                    (f"process_resident_memory_bytes{{{POD}}}", "{{pod}} {{worker}}"),
                    (f"ingress_memory_used_bytes{{{POD}}}", "{{pod}}, control group"),
                    (f"ingress_memory_limit_bytes{{{POD}}}", "{{pod}}, at most"),
                ),
                "bytes",
            ),
            Panel(
                "Descriptors, of those that there may be",
                ((f"process_open_fds{{{POD}}} / process_max_fds{{{POD}}}", "{{pod}} {{worker}}"),),
                "percentunit",
            ),
            Panel(
                "Refused since there is too much",
                (
                    (
                        _rate("ingress_overload_requests_refused_total", POD, "pod, cause"),
                        "{{pod}}, {{cause}}",
                    ),
                    (_rate("ingress_accept_pauses_total", POD, "pod"), "{{pod}}, accepting pauses"),
                ),
                "cps",
            ),
            Panel(
                "Workers",
                (
                    (f"sum by (pod) (ingress_worker_up{{{POD}}})", "{{pod}}, serving"),
                    (
                        f"sum by (pod, cause) (increase(ingress_worker_ends_total{{{POD}}}[$__rate_interval]))",
                        "{{pod}}, ended: {{cause}}",
                    ),
                ),
            ),
            Panel(
                "Lines lost",
                (
                    (_rate("ingress_access_lines_dropped_total", POD, "pod"), "{{pod}}, access log"),
                    (_rate("ingress_log_lines_dropped_total", POD, "pod"), "{{pod}}, log"),
                ),
                "cps",
            ),
        ),
    ),
)

"""What series under names of ingress-nginx come to, as dashboards, alerts and autoscalers that were written for it ask for them.

Series are written as ``promtool test rules`` reads them, a value each 15 seconds.
"""

from collections.abc import Mapping
from typing import Final

from attrs import frozen

_TARGET: Final = 'job="txingress", pod="txingress-1", instance="10.0.0.1:10254"'
_OTHER: Final = 'job="txingress", pod="txingress-2", instance="10.0.0.2:10254"'
_POD: Final = f'{_TARGET}, namespace="txingress"'
_SHOP: Final = 'namespace="shop", ingress="web", service="cart"'
_BLOG: Final = 'namespace="blog", ingress="blog", service="blog"'
_N: Final = "nginx_ingress_controller_"


@frozen
class Recorded:
    """What is *asked* after so many *minutes* of *series*: each expression with its results, by their labels."""

    name: str
    minutes: int
    series: Mapping[str, str]
    asked: Mapping[str, Mapping[str, float]]


def _grows(by: int) -> str:
    """Return a counter that grows *by* so much in 15 seconds, for five minutes."""
    return f"0+{by}x20"


def _requests(of: str, status: str, target: str = _TARGET) -> str:
    return f'ingress_requests_total{{{target}, {of}, status="{status}"}}'


_REQUESTS: Final = {
    _requests(_SHOP, "2xx"): _grows(90),
    _requests(_SHOP, "5xx"): _grows(30),
    _requests(_BLOG, "2xx"): _grows(15),
    _requests(_SHOP, "2xx", _OTHER): _grows(60),
    # No Ingress: the scrape has it in the controller's own namespace.
    f'ingress_requests_total{{{_POD}, status="4xx"}}': _grows(150),
}

OF_THEIR_NAMES: Final = (
    Recorded(
        "requests: rates by Ingress, shares of failures, and what an autoscaler asks for",
        5,
        _REQUESTS,
        {
            f"sum by (ingress) (rate({_N}requests[2m]))": {'{ingress="web"}': 12, '{ingress="blog"}': 1},
            f'sum(rate({_N}requests{{status!~"[4-5].*"}}[2m])) / sum(rate({_N}requests[2m]))': {
                "{}": 11 / 13
            },
            f'sum by (exported_namespace, exported_service) (irate({_N}requests{{status=~"5.*"}}[2m]))': {
                '{exported_namespace="shop", exported_service="cart"}': 2,
            },
            f'sum by (namespace, service) (rate({_N}requests{{exported_namespace="blog"}}[2m]))': {
                '{namespace="blog", service="blog"}': 1,
            },
            f'sum by (controller_pod) (rate({_N}requests{{controller_pod=~".*", controller_class=~".*"}}[2m]))': {
                '{controller_pod="txingress-1"}': 9,
                '{controller_pod="txingress-2"}': 4,
            },
            f"sum(rate({_N}nginx_process_requests_total[2m]))": {"{}": 23},
        },
    ),
    Recorded(
        "a replica that starts anew is no drop of the rate",
        5,
        {_requests(_SHOP, "2xx"): "0+30x10 0+30x10"},
        {f"sum by (ingress) (increase({_N}requests[5m]))": {'{ingress="web"}': 570}},
    ),
    Recorded(
        "durations of each Ingress, where they are shown, and not those of the process besides",
        5,
        {
            f'ingress_request_duration_by_service_seconds_bucket{{{_TARGET}, {_SHOP}, le="0.1"}}': _grows(15),
            f'ingress_request_duration_by_service_seconds_bucket{{{_TARGET}, {_SHOP}, le="0.25"}}': _grows(
                30
            ),
            f'ingress_request_duration_by_service_seconds_bucket{{{_TARGET}, {_SHOP}, le="+Inf"}}': _grows(
                30
            ),
            f"ingress_request_duration_by_service_seconds_sum{{{_TARGET}, {_SHOP}}}": _grows(3),
            f"ingress_request_duration_by_service_seconds_count{{{_TARGET}, {_SHOP}}}": _grows(30),
            f'ingress_request_duration_seconds_bucket{{{_POD}, le="+Inf"}}': _grows(999),
            f"ingress_request_duration_seconds_sum{{{_POD}}}": _grows(999),
            f"ingress_request_duration_seconds_count{{{_POD}}}": _grows(999),
            f'ingress_upstream_duration_by_service_seconds_bucket{{{_TARGET}, {_SHOP}, le="0.5"}}': _grows(
                30
            ),
            f'ingress_upstream_duration_by_service_seconds_bucket{{{_TARGET}, {_SHOP}, le="+Inf"}}': _grows(
                30
            ),
            f"ingress_upstream_duration_by_service_seconds_sum{{{_TARGET}, {_SHOP}}}": _grows(15),
            f"ingress_upstream_duration_by_service_seconds_count{{{_TARGET}, {_SHOP}}}": _grows(30),
        },
        {
            f"histogram_quantile(0.5, sum by (le, ingress) (rate({_N}request_duration_seconds_bucket[2m])))": {
                '{ingress="web"}': 0.1,
            },
            f"sum by (exported_namespace) (rate({_N}request_duration_seconds_sum[2m]))"
            f" / sum by (exported_namespace) (rate({_N}request_duration_seconds_count[2m]))": {
                '{exported_namespace="shop"}': 0.1,
            },
            f"sum(rate({_N}request_duration_seconds_count[2m]))": {"{}": 2},
            f"histogram_quantile(0.5, sum by (le) (rate({_N}response_duration_seconds_bucket[2m])))": {
                "{}": 0.25
            },
            f"sum(rate({_N}response_duration_seconds_sum[2m])) / sum(rate({_N}response_duration_seconds_count[2m]))": {
                "{}": 0.5,
            },
        },
    ),
    Recorded(
        "durations of the whole process, where there are no others: of no Ingress, and in nobody's namespace",
        5,
        {
            f'ingress_request_duration_seconds_bucket{{{_POD}, le="0.1"}}': _grows(30),
            f'ingress_request_duration_seconds_bucket{{{_POD}, le="+Inf"}}': _grows(30),
            f"ingress_request_duration_seconds_count{{{_POD}}}": _grows(30),
            f"ingress_upstream_duration_seconds_count{{{_POD}}}": _grows(15),
        },
        {
            f"histogram_quantile(0.5, sum by (le, ingress) (rate({_N}request_duration_seconds_bucket[2m])))": {
                "{}": 0.05,
            },
            f"sum by (exported_namespace, ingress, controller_pod) (rate({_N}request_duration_seconds_count[2m]))": {
                '{controller_pod="txingress-1"}': 2,
            },
            f"sum(rate({_N}response_duration_seconds_count[2m]))": {"{}": 1},
        },
    ),
    Recorded(
        "sizes: bytes a second, and the mean of a request",
        5,
        {
            **_REQUESTS,
            f"ingress_response_body_bytes_total{{{_TARGET}, {_SHOP}}}": _grows(120_000),
            f"ingress_request_body_bytes_total{{{_TARGET}, {_SHOP}}}": _grows(1500),
            f"ingress_response_body_bytes_total{{{_POD}}}": _grows(999),
        },
        {
            f"sum(irate({_N}response_size_sum[2m]))": {"{}": 8000},
            f"sum(irate({_N}bytes_sent_sum[2m]))": {"{}": 8000},
            f"sum by (ingress) (irate({_N}request_size_sum[2m]))": {'{ingress="web"}': 100},
            f'sum(rate({_N}response_size_sum{{controller_pod="txingress-1", ingress="web"}}[2m]))'
            f' / sum(rate({_N}response_size_count{{controller_pod="txingress-1", ingress="web"}}[2m]))': {
                "{}": 1000
            },
            f"sum(rate({_N}request_size_count[2m]))": {"{}": 13},
            f"sum(rate({_N}bytes_sent_count[2m]))": {"{}": 13},
        },
    ),
    Recorded(
        "the process: connections, processor time and memory of all workers, when it changed, and who leads",
        5,
        {
            f'ingress_downstream_connections{{{_POD}, tls="true"}}': "7x20",
            f'ingress_downstream_connections{{{_POD}, tls="false"}}': "3x20",
            f'ingress_downstream_connections_accepted_total{{{_POD}, tls="true"}}': _grows(30),
            f"process_cpu_seconds_total{{{_POD}}}": _grows(3),
            f'process_cpu_seconds_total{{{_POD}, worker="0"}}': _grows(12),
            'process_cpu_seconds_total{job="other", instance="x"}': _grows(999),
            f"process_resident_memory_bytes{{{_POD}}}": "1000x20",
            f'process_resident_memory_bytes{{{_POD}, worker="0"}}': "2000x20",
            'process_resident_memory_bytes{job="other", instance="x"}': "999x20",
            f"ingress_last_publish_timestamp_seconds{{{_POD}}}": "1700000000x20",
            f"ingress_is_leader{{{_POD}}}": "1x20",
        },
        {
            f'sum({_N}nginx_process_connections{{state="active"}})': {"{}": 10},
            f'sum(rate({_N}nginx_process_connections_total{{state="accepted"}}[2m]))': {"{}": 2},
            f'sum(rate({_N}nginx_process_cpu_seconds_total{{controller_pod="txingress-1"}}[2m]))': {"{}": 1},
            f"avg({_N}nginx_process_resident_memory_bytes)": {"{}": 3000},
            f"max({_N}config_last_reload_successful_timestamp_seconds)": {"{}": 1_700_000_000},
            f"sum by (controller_pod) ({_N}leader_election_status)": {'{controller_pod="txingress-1"}': 1},
            # What would have to be invented is not there: an alert on it sleeps.
            f"count({_N}config_last_reload_successful == 0) > 0": {},
        },
    ),
    Recorded(
        "certificates: the key that ends first counts, and the default one is that of the host _",
        5,
        {
            f'ingress_certificate_expiry_timestamp_seconds{{{_TARGET}, namespace="shop", secret="tls", host="a.test", key_type="RSA"}}': "1000x20",
            f'ingress_certificate_expiry_timestamp_seconds{{{_TARGET}, namespace="shop", secret="tls", host="a.test", key_type="ECDSA"}}': "900x20",
            f'ingress_certificate_expiry_timestamp_seconds{{{_POD}, key_type="ECDSA"}}': "500x20",
        },
        {
            f'avg by (host) ({_N}ssl_expire_time_seconds{{host!="_"}}) - time()': {'{host="a.test"}': 600},
            f"sum by (host, namespace, secret_name) ({_N}ssl_expire_time_seconds)": {
                '{host="a.test", namespace="shop", secret_name="tls"}': 900,
                '{host="_", namespace="txingress"}': 500,
            },
        },
    ),
)

"""For each alert: series on which it fires, and series close to them on which it does not.

Series are written as ``promtool test rules`` reads them: ``0+60x10`` begins with 0 and grows by 60 a minute, ten times; ``_`` is a
minute without a value.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import field, frozen

from ingress.model.exchanges.causes import Cause

Series = Mapping[str, str]

_POD: Final = 'job="txingress", namespace="txingress", pod="txingress-1", instance="10.0.0.1:10254"'
_OTHER: Final = 'job="txingress", namespace="txingress", pod="txingress-2", instance="10.0.0.2:10254"'
_SHOP: Final = 'job="txingress", namespace="shop", ingress="web", service="cart", pod="txingress-1", instance="10.0.0.1:10254"'


@frozen
class Case:
    """What *alert* is to make of *fires* and of *quiet* after so many *minutes*; *why* says what is different about the latter."""

    alert: str
    why: str
    minutes: int
    fires: Series
    quiet: Series
    labels: Mapping[str, str] = field(factory=dict)
    """Labels of the alert that lead to whoever is concerned."""


def _pod(name: str, values: str, labels: str = "", of: str = _POD) -> Series:
    return {f"{name}{{{of}{', ' if labels else ''}{labels}}}": values}


def _failures(cause: str) -> str:
    return f'ingress_failures_total{{{_SHOP}, cause="{cause}"}}'


_REQUESTS: Final = f'ingress_requests_total{{{_SHOP}, status="5xx"}}'
_SHOP_LABELS: Final = {"namespace": "shop", "ingress": "web", "service": "cart"}


def _share(alert: str, cause: Cause, minutes: int, bad: int, good: int) -> Iterator[Case]:
    """Yield that of 600 requests a minute *bad* fire it and *good* do not, nor do all that fail for other causes, nor all of one a minute."""
    long = minutes + 1
    ours = _failures(cause.value)
    fires = {_REQUESTS: f"0+600x{long}", ours: f"0+{bad}x{long}"}
    few = {_REQUESTS: f"0+600x{long}", ours: f"0+{good}x{long}"}
    yield Case(alert, "few fail", minutes, fires, few, _SHOP_LABELS)
    together = _TOGETHER.get(alert, {cause})
    others = {_failures(other.value): f"0+600x{long}" for other in Cause if other not in together}
    yield Case(alert, "it is for other causes", minutes, fires, {_REQUESTS: f"0+600x{long}", **others})
    rare = {_REQUESTS: f"0+1x{long}", ours: f"0+1x{long}"}
    yield Case(alert, "hardly anybody asks", minutes, fires, rare)
    nobodys = {_of_nobody(series): values for series, values in fires.items()}
    yield Case(alert, "it is no Ingress's", minutes, fires, nobodys)


_TOGETHER: Final = {
    "TxingressServiceDown": {Cause.BAD_GATEWAY, Cause.UNAVAILABLE, Cause.GATEWAY_TIMEOUT},
    "TxingressAuthRefusing": {Cause.AUTH, Cause.AUTH_FAILED},
}
"""Causes that one alert is for; of all others, one."""


def _of_nobody(series: str) -> str:
    named = 'namespace="shop", ingress="web", service="cart"'
    assert named in series
    return series.replace(named, 'namespace="", ingress="", service=""')


def _growing(alert: str, name: str, minutes: int, step: int, labels: str = "") -> Case:
    """Return that a counter which grows fires it, and one that has been like this for long does not."""
    long = minutes + 1
    return Case(
        alert,
        "it was so before",
        minutes,
        _pod(name, f"7+{step}x{long}", labels),
        _pod(name, f"7+0x{long}", labels),
    )


def _above(alert: str, name: str, minutes: int, bad: float, good: float, labels: str = "") -> Case:
    long = minutes + 1
    return Case(
        alert,
        "it is less",
        minutes,
        _pod(name, f"{bad}+0x{long}", labels),
        _pod(name, f"{good}+0x{long}", labels),
    )


def _brief(alert: str, name: str, minutes: int, bad: float, labels: str = "") -> Case:
    """Return that what is over after a minute does not fire it."""
    long = minutes + 1
    return Case(
        alert,
        "it was for a moment",
        minutes,
        _pod(name, f"{bad}+0x{long}", labels),
        _pod(name, f"{bad} 0+0x{long}", labels),
    )


_DAY: Final = 86400
_CERTIFICATE: Final = (
    'job="txingress", namespace="shop", secret="tls", host="{}", key_type="RSA", pod="txingress-1"'
)


def _certificate(seconds: float, minutes: int, host: str = "shop.test") -> Series:
    """Return a certificate that ends so long after the beginning of the test, which is at the epoch."""
    name = f"ingress_certificate_expiry_timestamp_seconds{{{_CERTIFICATE.format(host)}}}"
    return {name: f"{seconds:.0f}+0x{minutes + 1}"}


def _latencies(slow: int) -> Series:
    """Return 600 requests a minute, of which *slow* took over five seconds."""
    name = f"ingress_request_duration_seconds_bucket{{{_POD}, le="
    return {
        f'{name}"1"}}': f"0+{600 - slow}x20",
        f'{name}"5"}}': f"0+{600 - slow}x20",
        f'{name}"10"}}': "0+600x20",
        f'{name}"+Inf"}}': "0+600x20",
        f'ingress_requests_total{{{_SHOP}, status="2xx"}}': "0+600x20",
    }


def _cases() -> Iterator[Case]:
    up = 'up{job="txingress", namespace="txingress", pod="txingress-1"}'
    yield Case("TxingressDown", "it answers", 3, {up: "1 0+0x4"}, {up: "1+0x5"}, {"pod": "txingress-1"})
    yield Case("TxingressDown", "it is another job", 3, {up: "0+0x4"}, {'up{job="shop"}': "0+0x4"})
    yield Case(
        "TxingressAbsent",
        "it is down, which is told",
        6,
        {'up{job="shop"}': "1+0x7"},
        {up: "0+0x7"},
        {"job": "txingress"},
    )

    yield Case(
        "TxingressLeaderMissing",
        "the other one leads",
        4,
        {**_pod("ingress_is_leader", "0+0x5"), **_pod("ingress_is_leader", "1 0+0x5", of=_OTHER)},
        {**_pod("ingress_is_leader", "0+0x5"), **_pod("ingress_is_leader", "1+0x5", of=_OTHER)},
        {"namespace": "txingress"},
    )
    yield Case(
        "TxingressTwoLeaders",
        "one scrape came before a takeover, the other one after it",
        4,
        {**_pod("ingress_is_leader", "1+0x5"), **_pod("ingress_is_leader", "1+0x5", of=_OTHER)},
        {**_pod("ingress_is_leader", "1 1 0+0x5"), **_pod("ingress_is_leader", "0 1+0x5", of=_OTHER)},
        {"namespace": "txingress"},
    )
    yield _above("TxingressWatchSilent", "ingress_watch_last_contact_seconds", 3, 120, 65, 'kind="Ingress"')
    yield _above("TxingressWatchRefused", "ingress_watch_refused_seconds", 3, 90, 0, 'kind="Ingress"')
    reason = 'reason="ServiceNotFound"'
    yield Case(
        "TxingressProblemsNew",
        "there were as many an hour ago",
        70,
        _pod("ingress_problems", "2+0x62 5+0x10", reason),
        _pod("ingress_problems", "5+0x72", reason),
        {"reason": "ServiceNotFound"},
    )
    note = 'reason="AnnotationNote"'
    yield Case(
        "TxingressProblemsNew",
        "it is a note",
        70,
        _pod("ingress_problems", "2+0x62 5+0x10", reason),
        _pod("ingress_problems", "2+0x62 5+0x10", note),
    )
    yield _growing("TxingressTranslationFailed", "ingress_translations_failed_total", 5, 1)
    yield _above("TxingressSnapshotStale", "ingress_changes_waiting_seconds", 3, 45, 5)
    yield _growing("TxingressStatusWritesFailing", "ingress_status_writes_total", 22, 2, 'outcome="failed"')
    yield _growing("TxingressSecretReadsFailing", "ingress_secret_reads_total", 32, 1, 'outcome="failed"')

    yield from _share("TxingressServiceDown", Cause.UNAVAILABLE, 8, 500, 200)
    yield from _share("TxingressBadGateway", Cause.BAD_GATEWAY, 12, 60, 12)
    yield from _share("TxingressUnavailable", Cause.UNAVAILABLE, 12, 60, 12)
    yield from _share("TxingressGatewayTimeout", Cause.GATEWAY_TIMEOUT, 12, 60, 12)
    yield from _share("TxingressAnswersCut", Cause.CUT, 12, 12, 3)
    yield from _share("TxingressUpstreamErrors", Cause.UPSTREAM, 12, 60, 12)
    yield from _share("TxingressLimiting", Cause.LIMIT, 22, 200, 60)
    yield from _share("TxingressAuthRefusing", Cause.AUTH, 22, 400, 200)
    asked = {**_pod("ingress_sub_requests_total", "0+600x12", 'kind="ask", outcome="answered"')}
    yield Case(
        "TxingressAuthServiceFailing",
        "mirrors fail, for which nobody waits",
        11,
        {**asked, **_pod("ingress_sub_requests_total", "0+60x12", 'kind="ask", outcome="failed"')},
        {**asked, **_pod("ingress_sub_requests_total", "0+60x12", 'kind="tell", outcome="failed"')},
        {"pod": "txingress-1"},
    )
    yield Case(
        "TxingressFilterFailing",
        "it failed long ago",
        20,
        _pod("ingress_filter_failures_total", "_x18 1+0x5", 'filter="team"'),
        _pod("ingress_filter_failures_total", "3+0x22", 'filter="team"'),
        {"filter": "team"},
    )
    yield Case(
        "TxingressBug",
        "it was long ago",
        20,
        {_failures("bug"): "_x18 1+0x5"},
        {_failures("bug"): "3+0x22"},
        _SHOP_LABELS,
    )
    all_requests = {f'ingress_requests_total{{{_SHOP}, status="2xx"}}': "0+600x12"}
    yield Case(
        "TxingressTrafficFailing",
        "these are the endpoints' own errors, refusals and clients' mistakes",
        11,
        {**all_requests, _failures("overload"): "0+60x12"},
        {
            **all_requests,
            **{
                _failures(cause): "0+600x12"
                for cause in ("upstream", "limit", "auth", "no-route", "request", "client")
            },
        },
        {"job": "txingress"},
    )
    yield Case(
        "TxingressLatencyHigh",
        "one in a thousand is slow",
        17,
        _latencies(60),
        _latencies(0),
        {"job": "txingress"},
    )

    yield _above("TxingressEndpointsEjected", "ingress_endpoints_ejected", 14, 1, 0)
    yield _brief("TxingressEndpointsEjected", "ingress_endpoints_ejected", 14, 1)
    yield _growing("TxingressEndpointsFull", "ingress_endpoints_passed_over_total", 11, 3)

    shop = {"namespace": "shop", "secret": "tls"}
    week, month, day = _certificate(7 * _DAY, 70), _certificate(30 * _DAY, 70), _certificate(_DAY, 70)
    yield Case("TxingressCertificateEnding", "it is good for a month", 65, week, month, shop)
    yield Case("TxingressCertificateEnding", "the other alert has it", 65, week, day, shop)
    yield Case(
        "TxingressCertificateEndingSoon",
        "it is good for a week",
        15,
        _certificate(_DAY, 15),
        _certificate(7 * _DAY, 15),
        shop,
    )
    yield Case(
        "TxingressCertificateEndingSoon",
        "it has ended",
        15,
        _certificate(_DAY, 15),
        _certificate(1, 15),
        shop,
    )
    yield Case(
        "TxingressCertificateExpired",
        "it ends in an hour",
        2,
        _certificate(60, 2),
        _certificate(3600, 2),
        shop,
    )

    yield _growing("TxingressConnectionsFull", "ingress_accept_pauses_total", 4, 1)
    yield _growing("TxingressConnectionsFull", "ingress_downstream_connections_closed_early_total", 4, 1)
    yield Case(
        "TxingressConnectionsNearLimit",
        "half of the places are free",
        6,
        {
            **_pod("ingress_downstream_connections", "500+0x7", 'tls="true"'),
            **_pod("ingress_downstream_connections", "400+0x7", 'tls="false"'),
            **_pod("ingress_downstream_connections_most", "1000+0x7"),
        },
        {
            **_pod("ingress_downstream_connections", "500+0x7", 'tls="true"'),
            **_pod("ingress_downstream_connections_most", "1000+0x7"),
        },
        {"pod": "txingress-1"},
    )
    yield Case(
        "TxingressMemoryNearLimit",
        "a quarter of it is free",
        6,
        {**_pod("ingress_memory_used_bytes", "90+0x7"), **_pod("ingress_memory_limit_bytes", "100+0x7")},
        {**_pod("ingress_memory_used_bytes", "75+0x7"), **_pod("ingress_memory_limit_bytes", "100+0x7")},
        {"pod": "txingress-1"},
    )
    late = 'cause="late"'
    yield _above("TxingressOverloaded", "ingress_overload", 2, 1, 0, late)
    yield _growing("TxingressOverloaded", "ingress_overload_requests_refused_total", 4, 5, late)
    yield _above("TxingressReactorLag", "ingress_reactor_lag_seconds", 6, 0.4, 0.02)
    yield Case(
        "TxingressDescriptorsNearLimit",
        "half of them are free",
        6,
        {**_pod("process_open_fds", "950+0x7"), **_pod("process_max_fds", "1000+0x7")},
        {**_pod("process_open_fds", "500+0x7"), **_pod("process_max_fds", "1000+0x7")},
        {"pod": "txingress-1"},
    )
    yield _above("TxingressWorkerDown", "ingress_worker_up", 3, 0, 1, 'worker="1"')
    yield _growing(
        "TxingressWorkersRestarting", "ingress_worker_ends_total", 3, 1, 'worker="1", cause="killed"'
    )
    yield Case(
        "TxingressWorkersRestarting",
        "it was told to end",
        3,
        _pod("ingress_worker_ends_total", "0+1x4", 'worker="1", cause="hung"'),
        _pod("ingress_worker_ends_total", "0+1x4", 'worker="1", cause="stopped"'),
    )
    yield _above("TxingressWorkerBehind", "ingress_worker_behind_seconds", 2, 45, 2, 'worker="1"')
    yield _growing(
        "TxingressConnectionStartsRefused",
        "ingress_connection_starts_refused_total",
        12,
        5,
        'cause="malformed"',
    )
    yield _growing("TxingressAccessLinesDropped", "ingress_access_lines_dropped_total", 2, 5)
    yield _growing("TxingressLogLinesDropped", "ingress_log_lines_dropped_total", 2, 5)


CASES: Final = tuple(_cases())

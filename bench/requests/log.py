"""What a line of the access log costs in each form, in microseconds: ``make bench-log`` prints them.

A record as a GET over TLS leaves it, with the fields of a browser, is handed to the log as the proxy does; that includes
collecting the line, and not writing it.  Of several rounds the best counts: whatever else the machine does only adds to one.
"""

from collections.abc import Callable
from time import perf_counter, time
from typing import Final

from twisted.internet.task import Clock

from ingress.http.request_head import parse_request_head
from ingress.model.cluster.objects import ObjectKey
from ingress.model.exchanges.records import AttemptRecord, Record, RecordedSecurity
from ingress.model.observability.traces import TraceContext
from ingress.model.serving.log_formats import AccessLogSettings, LineForm, read_line_form
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.proxy.exchange.access_log.access_log import AccessLog
from ingress.routing.route import Match, Route

_LINES: Final = 500
"""In a round: fewer than a batch, which the log hands over."""
_ROUNDS: Final = 400

# That of ingress-nginx.
USUAL_OF_NGINX: Final = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
    " $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr"
    " $upstream_response_length $upstream_response_time $upstream_status $req_id"
)
_FORMS: Final = {
    "plain": AccessLogSettings(),
    "plain, a tenth of it": AccessLogSettings(share=0.1),
    "json": AccessLogSettings(format=LineForm.JSON),
    "logfmt": AccessLogSettings(format=LineForm.LOGFMT),
    "combined": AccessLogSettings(format=read_line_form("combined")),
    "that of ingress-nginx": AccessLogSettings(format=read_line_form(USUAL_OF_NGINX)),
}


class _Security:
    """TLS that is asked for nothing that costs."""

    def tls_version(self) -> str:
        return "TLSv1.3"

    def server_name(self) -> str:
        return "shop.example.com"


class _Downstream:
    @property
    def security(self) -> RecordedSecurity | None:
        return _Security()


def usual_record() -> Record:
    """Return a record of a GET that was answered."""
    backend = BackendReference("shop", "web", 80)
    head = parse_request_head(
        b"GET /cart?id=7 HTTP/1.1\r\nHost: shop.example.com\r\nAccept: text/html,application/xhtml+xml\r\n"
        b"User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n"
        b"Accept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br\r\nReferer: https://shop.example.com/"
    )
    return Record(
        id=b"0123456789abcdef0123456789abcdef",
        route=Route("shop.example.com", "/", Match.PREFIX, None, backend),
        owner=ObjectKey("shop", "web"),
        filter="",
        attempts=(AttemptRecord(Endpoint("10.0.4.17", 8080), "200", 0.0, 0.0123, 0.0004, 0.0171),),
        status=200,
        bytes_sent=5120,
        seconds=0.0183,
        reason="",
        client=b"203.0.113.9",
        method=b"GET",
        host=b"shop.example.com",
        target=b"/cart?id=7",
        protocol=b"HTTP/1.1",
        head=head,
        scheme=b"https",
        backend=backend,
        downstream=_Downstream(),
        trace=TraceContext("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"),
    )


def microseconds(settings: AccessLogSettings, clock: Callable[[], float] = perf_counter) -> float:
    """Return what one line costs by *settings*."""
    log = AccessLog(Clock(), lambda batch: None, lambda lines: None, time)
    log.follow(settings)
    record, best = usual_record(), float("inf")
    for _ in range(_ROUNDS):
        began = clock()
        for _ in range(_LINES):
            log.exchange_ended(record)
        best = min(best, clock() - began)
        log._lines.clear()
    return best / _LINES * 1e6


def main() -> None:
    """Print a row for each form."""
    for name, settings in _FORMS.items():
        print(f"{name:24}{microseconds(settings):8.2f} us a line")


if __name__ == "__main__":
    main()

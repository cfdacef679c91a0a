"""Spans by the conventions for HTTP, of records as they come."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.http.request_head import parse_request_head
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.exchanges.causes import Cause
from ingress.model.exchanges.records import AttemptRecord, Record
from ingress.model.network.http_urls import parse_url
from ingress.model.observability.span_names import MAX_NAME, VARIABLES, SpanName, read_span_name
from ingress.model.observability.traces import TraceContext
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.model.upstream.upstream_tls import LinkSettings, TlsSettings, UpstreamTls
from ingress.routing.route import Match, Route
from ingress.tracing.ended import MAX_TEXT, EndedExchange, EndedSubRequest, EndedWait
from ingress.tracing.spans import Span, SpanKind, Value, render_name, spans_of
from tests.fakes.counting import calls

TRACE = TraceContext("a" * 32, "f" * 16, True, "01", "b" * 16, "c=d", 1_700_000_000.0, 5.0)
BACKEND = BackendReference("shop", "web", 80)
ROUTE = Route("shop.test", "/cart", Match.PREFIX, Owner(Kind.INGRESS, ObjectKey("shop", "web")), BACKEND)
ONE = Endpoint("10.0.0.1", 8000)
HEAD = parse_request_head(b"GET /cart/7?a=b HTTP/1.1\r\nHost: Shop.test\r\nUser-Agent: curl/8")
RECORD = Record(
    b"id1", ROUTE, ObjectKey("shop", "web"), "", (AttemptRecord(ONE, "200", 0.1, 0.3, 0.2, 0.4, True),), 200, 42, 0.5, "",
    b"203.0.113.9", b"GET", b"shop.test", b"/cart/7?a=b", b"HTTP/2.0", HEAD, b"https", None, BACKEND, 7,
)  # fmt: skip


def spans(record: Record = RECORD, *, query: bool = False) -> tuple[Span, ...]:
    """Return the spans of an exchange."""
    return spans_of(EndedExchange(TRACE, record, "TLSv1.3", b"curl/8"), shows_query=query)


class ExchangeTests(SynchronousTestCase):
    """An exchange and its attempts."""

    maxDiff = None

    def test_whole(self) -> None:
        """The span of a request has what the conventions ask for, and whose it was."""
        server, attempt = spans()
        self.assertEqual((server.name, server.kind, server.error), ("GET /cart", SpanKind.SERVER, None))
        wanted: dict[str, Value] = {
            "http.request.method": "GET",
            "url.path": "/cart/7",
            "url.scheme": "https",
            "server.address": "shop.test",
            "client.address": "203.0.113.9",
            "http.response.status_code": 200,
            "http.response.body.size": 42,
            "http.request.body.size": 7,
            "network.protocol.version": "2",
            "tls.protocol.version": "1.3",
            "user_agent.original": "curl/8",
            "http.route": "/cart",
            "k8s.namespace.name": "shop",
            "txingress.ingress": "shop/web",
            "txingress.backend": "shop/web:80",
            "txingress.request_id": "id1",
        }
        self.assertEqual(dict(server.attributes), wanted)
        self.assertEqual((server.began, server.over), (1_700_000_005_000_000_000, 1_700_000_005_500_000_000))
        of_attempt: dict[str, Value] = {
            "http.request.method": "GET",
            "url.scheme": "http",
            "server.address": "10.0.0.1",
            "server.port": 8000,
            "http.response.status_code": 200,
            "txingress.backend": "shop/web:80",
            "txingress.connection.reused": True,
            "txingress.connection.seconds": 0.1,
        }
        self.assertEqual(dict(attempt.attributes), of_attempt)
        self.assertEqual(
            (attempt.began, attempt.over), (1_700_000_005_100_000_000, 1_700_000_005_400_000_000)
        )
        self.assertEqual((attempt.parent_id, attempt.span_id), ("f" * 16, "0" * 15 + "1"))

    def test_query(self) -> None:
        """A query string is told where that is asked for, and nowhere else."""
        self.assertNotIn("a=b", repr(spans()))
        self.assertEqual(spans(query=True)[0].attributes["url.query"], "a=b")

    def test_whose_failure(self) -> None:
        """An error says whose it was: a cause of ours by its word, a status of the endpoint by its number."""
        for status, cause, error_type in (
            (502, Cause.BAD_GATEWAY, "bad-gateway"),
            (500, Cause.UPSTREAM, "500"),
            (200, Cause.CUT, "cut"),
            (404, Cause.NO_ROUTE, None),
            (499, Cause.CLIENT, None),
        ):
            server = spans(RECORD._replace(status=status, cause=cause, reason="why"))[0]
            self.assertEqual(server.attributes.get("error.type"), error_type)
            self.assertEqual(
                (server.error, server.attributes["txingress.cause"]),
                ("why" if error_type else None, cause.value),
            )

    def test_secure_endpoint(self) -> None:
        """An endpoint that is spoken to over TLS is at https."""
        attempt = RECORD.attempts[0]._replace(
            endpoint=Endpoint("::1", 8443, LinkSettings(UpstreamTls(TlsSettings())))
        )
        self.assertEqual(spans(RECORD._replace(attempts=(attempt,)))[1].attributes["url.scheme"], "https")

    def test_methods(self) -> None:
        """A method that nobody knows is no name of a span, and is told cut."""
        server, attempt = spans(RECORD._replace(method=b"X" * 99))
        self.assertEqual((server.name, attempt.name), ("HTTP /cart", "HTTP"))
        self.assertEqual(server.attributes["http.request.method"], "_OTHER")
        self.assertEqual(server.attributes["http.request.method_original"], "X" * 32)

    @given(st.binary(max_size=3000), st.binary(max_size=3000), st.binary(max_size=40))
    def test_hostile(self, target: bytes, host: bytes, method: bytes) -> None:
        """Whatever clients write, every value is text of a sane length that can be told."""
        for span in spans(RECORD._replace(target=target, host=host, method=method), query=True):
            for value in (span.name, *span.attributes.values()):
                if isinstance(value, str):
                    self.assertLessEqual(len(value), MAX_TEXT)
                    value.encode("utf-8")


class OtherTests(SynchronousTestCase):
    """Sub-requests, and filters that had somebody wait."""

    def test_sub_request(self) -> None:
        """It has where it went, without query, and what was answered; 4xx is an error of who answered."""
        ended = EndedSubRequest(
            TRACE, "1" * 16, b"GET", "http://auth.test:4180/x?y", b"/verify?token=1", 5.0, 6.0, 403
        )
        (span,) = spans_of(ended, shows_query=True)
        self.assertEqual(span.attributes["url.full"], "http://auth.test:4180/verify")
        self.assertEqual((span.attributes["server.address"], span.error), ("auth.test", "403"))
        self.assertEqual((span.over - span.began, span.parent_id), (1_000_000_000, TRACE.span_id))

    def test_whom_it_asked(self) -> None:
        """Its server is told as that of an attempt is: an address of IPv6 without brackets, and the port, be it the usual one."""
        asked = {
            "http://[fd00::1]/x": ("http://[fd00::1]/verify", "fd00::1", 80),
            "https://[fd00::1]:8443": ("https://[fd00::1]:8443/verify", "fd00::1", 8443),
            "https://auth.test/x": ("https://auth.test/verify", "auth.test", 443),
        }
        for url, told in asked.items():
            ended = EndedSubRequest(TRACE, "1" * 16, b"GET", url, b"/verify", 5.0, 6.0, 200)
            (span,) = spans_of(ended, shows_query=False)
            names = ("url.full", "server.address", "server.port")
            self.assertEqual(tuple(span.attributes[name] for name in names), told)

    def test_what_is_asked_often_is_read_once(self) -> None:
        """A span takes less than to read the URL would, once that was read."""
        url = "http://auth.test/x"
        ended = EndedSubRequest(TRACE, "1" * 16, b"GET", url, b"/verify", 5.0, 6.0, 200)
        spans_of(ended, shows_query=False)
        self.assertLess(calls(lambda: spans_of(ended, shows_query=False)), calls(lambda: parse_url(url)))

    def test_wait(self) -> None:
        """A filter that failed says so."""
        (span,) = spans_of(EndedWait(TRACE, "1" * 16, "auth", 5.0, 5.5, "ValueError: no"), shows_query=False)
        self.assertEqual(
            (span.name, span.error, span.attributes["txingress.filter"]),
            ("filter auth", "ValueError: no", "auth"),
        )


class NameTests(SynchronousTestCase):
    """Names that somebody asked for."""

    def test_variables(self) -> None:
        """Each variable has a value, and what visitors choose is none of them."""
        for name in VARIABLES:
            text = render_name(self.read(f"${{{name}}}"), RECORD)
            self.assertTrue(text)
            self.assertNotIn("7", text.replace("80", ""))
        self.assertEqual(render_name(self.read("to $service_name:$service_port"), RECORD), "to web:80")

    def test_nothing_known(self) -> None:
        """Without route a name may come to nothing, and is the method then."""
        self.assertEqual(
            render_name(self.read("$service_name"), RECORD._replace(route=None, backend=None)), "GET"
        )

    def test_refused(self) -> None:
        """Other variables, names that are too long and what cannot be printed are refused."""
        for text in ("$http_cookie", "${args}", "a\nb", "x" * (MAX_NAME + 1)):
            self.assertRaises(ValueError, read_span_name, text)

    @staticmethod
    def read(text: str) -> SpanName:
        """Read a name that is one."""
        found = read_span_name(text)
        assert found is not None
        return found


class TraceTests(SynchronousTestCase):
    """Ids of attempts."""

    @given(st.integers(1, 2**64 - 32), st.integers(0, 20))
    def test_own(self, span: int, count: int) -> None:
        """Each attempt has an id of its own that is not the request's; where nobody is told of spans they have the request's."""
        trace = TraceContext("a" * 32, f"{span:016x}", True)
        self.assertEqual(
            len({trace.span_id, *(trace.attempt_id(number) for number in range(count))}), count + 1
        )
        self.assertEqual(trace._replace(is_sampled=False).attempt_id(3), trace.span_id)

    def test_never_nothing(self) -> None:
        """No id is all zeros, which would be none."""
        self.assertEqual(TraceContext("a" * 32, "f" * 16, True).attempt_id(0), "0" * 15 + "1")

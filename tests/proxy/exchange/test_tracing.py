"""Exchanges that are traced: what goes on, and which spans come of it."""

from __future__ import annotations

from attrs import evolve

from ingress.annotations.observability.tracing import TracedRoute
from ingress.annotations.requests.mirrors import Mirror
from ingress.filters import Facts, Filter, Reply, RouteTracing
from ingress.model.observability.span_names import read_span_name
from ingress.model.observability.tracing_settings import TracingSettings
from ingress.model.requests.templates import read_template
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.transport import REFUSED, TIMED_OUT
from ingress.tracing.ended import MAX_TEXT, EndedExchange
from ingress.tracing.spans import SpanKind
from tests.fakes.http2.client import MemoryWire
from tests.fakes.http2.server import Http2Server
from tests.proxy.exchange.external_auth_case import ALLOWED, AUTH, UNKNOWN, filters
from tests.proxy.h2_upstream_case import HTTP_2
from tests.proxy.playing import OK, ONE, TWO, fields_of
from tests.proxy.traced_case import ALL, NOW, TracedCase, tree_of

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
SAMPLED = f"00-{TRACE}-{SPAN}-01".encode()
UNSAMPLED = f"00-{TRACE}-{SPAN}-00".encode()
CLIENTS = (b"traceparent", SAMPLED), (b"tracestate", b"other=1")


class TreeTests(TracedCase):
    """Which spans there are, and which of them is the parent of which."""

    def test_get(self) -> None:
        """A GET has a span of its own, and one of its attempt below, which is what the endpoint is told of."""
        client = self.get(target=b"/a?secret=1")
        endpoint = self.upstream()
        self.reactor.pass_time(0.5)
        told = self.parent(endpoint)
        endpoint.say(OK)
        self.assertEqual(client.heard().status, 200)
        self.assertEqual(tree_of(self.spans()), {"GET /": {"GET": {}}})
        server, attempt = self.spans()
        self.assertEqual((server.kind, attempt.kind), (SpanKind.SERVER, SpanKind.CLIENT))
        self.assertEqual(
            (told.trace_id, told.span_id, told.is_sampled), (server.trace_id, attempt.span_id, True)
        )
        self.assertEqual((server.began, server.over), (int(NOW * 1e9), int((NOW + 0.5) * 1e9)))
        (record,) = self.metrics.records
        assert record.trace is not None
        self.assertEqual((record.trace.trace_id, record.trace.is_sampled), (record.id.decode(), True))
        self.assertEqual(record.id.decode(), server.trace_id)
        self.assertNotIn("secret", repr(self.spans()))

    def test_retry(self) -> None:
        """Each attempt has a span, the second one says so, and each endpoint is told of its own."""
        self.stage.publish((ONE, TWO))
        first = self.get()
        lost, (one,) = self.upstream(), self.connector.asked
        told = [self.parent(lost)]
        lost.reset()
        self.reactor.settle()
        told.append(self.parent(self.upstream()))
        self.upstream().say(OK)
        self.assertEqual(first.heard().status, 200)
        self.assertEqual(tree_of(self.spans()), {"GET /": {"GET": {}, "GET 2": {}}})
        _, *attempts = self.spans()
        self.assertEqual([each.span_id for each in told], [each.span_id for each in attempts])
        self.assertIsNotNone(attempts[0].error)
        self.assertEqual(attempts[0].attributes["server.address"], one.address)
        self.assertEqual(attempts[1].attributes["http.request.resend_count"], 1)
        self.assertEqual(attempts[1].attributes["http.response.status_code"], 200)

    def test_auth(self) -> None:
        """What a filter asks has a span below that of the request, and is told of it; so has the time in which the filter waited."""
        self.stage.publish((ONE,), filters=filters(auth_url="http://auth.test:4180/oauth2/auth?x=1"))
        client = self.get(fields=CLIENTS)
        service = self.upstream()
        asked = self.parent(service)
        self.reactor.pass_time(0.25)
        service.say(ALLOWED)
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 200)
        below: dict[str, object] = {"GET": {}, "GET 2": {}, "filter external-auth": {}}
        self.assertEqual(tree_of(self.spans(), SPAN), {"GET /": below})
        (question,) = [one for one in self.spans() if one.attributes.get("txingress.sub_request")]
        self.assertEqual((asked.trace_id, asked.span_id, asked.state), (TRACE, question.span_id, "other=1"))
        self.assertEqual(question.attributes["url.full"], "http://auth.test:4180/oauth2/auth")
        self.assertEqual(question.attributes["http.response.status_code"], 202)
        waited = self.span("filter external-auth")
        self.assertEqual((waited.kind, waited.over - waited.began), (SpanKind.INTERNAL, 250_000_000))

    def test_refused_by_auth(self) -> None:
        """Whom a filter refuses has no attempt, and the span says which filter it was."""
        self.stage.publish((ONE,), filters=filters(auth_url="http://auth.test:4180/"))
        client = self.get()
        self.upstream().say(UNKNOWN)
        self.assertEqual(client.heard().status, 401)
        server = self.span("GET /")
        self.assertEqual(server.attributes["txingress.filter"], "external-auth")
        self.assertEqual(server.attributes["txingress.cause"], "auth")
        self.assertIsNone(server.error)

    def test_auth_unreachable(self) -> None:
        """A service that cannot be asked shows in its span, with the reason."""
        self.connector.unreachable[AUTH] = REFUSED
        self.stage.publish((ONE,), filters=filters(auth_url="http://auth.test:4180/"))
        self.assertEqual(self.get().heard().status, 500)
        (question,) = [one for one in self.spans() if one.attributes.get("txingress.sub_request")]
        self.assertEqual((question.error, question.attributes["error.type"]), (REFUSED, "failed"))

    def test_mirror(self) -> None:
        """A copy is part of the trace, too, and its span comes when it is over, though the exchange was before."""
        self.stage.publish((ONE,), filters=(Mirror("http://mirror.test", host=read_template("copy.test")),))
        client = self.get()
        self.reactor.settle()
        self.upstream(0).say(OK)
        self.assertEqual(client.heard().status, 200)
        copied = self.parent(self.upstream(1))
        self.upstream(1).say(OK)
        (span,) = [one for one in self.spans() if one.attributes.get("txingress.sub_request") == "tell"]
        self.assertEqual((copied.span_id, copied.trace_id), (span.span_id, self.span("GET /").trace_id))

    def test_502_503_504(self) -> None:
        """An error of ours says in its span whose it was and why, and each attempt what became of it."""
        for status, cause, why in ((502, "bad-gateway", REFUSED), (504, "gateway-timeout", TIMED_OUT)):
            self.told.clear()
            self.connector.unreachable[ONE] = why
            self.assertEqual(self.get().heard().status, status)
            server, attempt = self.spans()
            self.assertEqual(server.attributes["error.type"], cause)
            self.assertEqual((server.error, attempt.parent_id), (why, server.span_id))
            self.assertNotIn("http.response.status_code", attempt.attributes)
        self.told.clear()
        self.stage.publish((), "Service shop/web has no endpoints")
        self.assertEqual(self.get().heard().status, 503)
        (server,) = self.spans()
        self.assertEqual(server.attributes["txingress.cause"], "unavailable")
        self.assertEqual(server.error, "Service shop/web has no endpoints")

    def test_of_endpoint(self) -> None:
        """A 5xx of the endpoint's own is an error of both spans, a 404 of its own of the attempt alone."""
        for status, is_error in ((500, True), (404, False)):
            self.told.clear()
            self.get()
            self.upstream().say(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status)
            server, attempt = self.spans()
            self.assertEqual((server.error is not None, attempt.error), (is_error, str(status)))
            self.assertEqual(server.attributes.get("error.type"), str(status) if is_error else None)

    def test_no_route(self) -> None:
        """What no route takes has a span without a path of a rule."""
        client = self.client()
        self.stage.publish((ONE,), host="other.test")
        client.ask()
        self.assertEqual(client.heard().status, 404)
        (server,) = self.spans()
        self.assertEqual((server.name, server.attributes["txingress.cause"]), ("GET", "no-route"))
        self.assertNotIn("http.route", server.attributes)

    def test_left(self) -> None:
        """A client that leaves ends its span, which is no error of the server's."""
        client = self.get()
        client.leave()
        server = self.spans()[0]
        self.assertEqual((server.attributes["http.response.status_code"], server.error), (499, None))

    def test_waiting_cut_short(self) -> None:
        """A filter whose decision nobody waits for any more has its span all the same."""
        self.stage.publish((ONE,), filters=filters(auth_url="http://auth.test:4180/"))
        client = self.get()
        client.leave()
        self.assertEqual(self.span("filter external-auth").error, "nobody waits any longer")

    def test_large_request(self) -> None:
        """What waits to be told keeps neither the connection nor what a client fills its head with."""
        agent = b"curl/8" + b"x" * 4000
        self.get(target=b"/" + b"a" * 4000, fields=((b"user-agent", agent), (b"cookie", b"c" * 4000)))
        self.upstream().say(OK)
        (ended,) = self.told
        assert isinstance(ended, EndedExchange)
        self.assertEqual((ended.record.downstream, ended.record.head), (None, None))
        self.assertEqual((len(ended.record.target), len(ended.agent)), (MAX_TEXT, MAX_TEXT))
        self.assertEqual(self.spans()[0].attributes["user_agent.original"], agent[:MAX_TEXT].decode())


class Http2TreeTests(TreeTests):
    """The same over HTTP/2."""

    is_http2 = True


class Http2UpstreamTests(TracedCase):
    """To an endpoint that speaks HTTP/2."""

    def test_told(self) -> None:
        """It is told of its attempt by the same fields."""
        self.stage.publish((Endpoint("10.0.0.1", 8000, HTTP_2),))
        self.get(fields=CLIENTS)
        server = Http2Server(MemoryWire(self.reactor, self.upstream()))
        server.greet()
        fields = server.fields(1)
        attempt = f"00-{TRACE}-".encode()
        self.assertTrue(fields[b"traceparent"].startswith(attempt), fields)
        self.assertNotIn(SPAN.encode(), fields[b"traceparent"])
        self.assertEqual(fields[b"tracestate"], b"other=1")


class ParentTests(TracedCase):
    """What clients say of a trace."""

    def test_continued(self) -> None:
        """The trace of a client goes on: its span is our parent, and what others have noted goes with it."""
        self.get(fields=CLIENTS)
        told = self.parent(self.upstream())
        self.upstream().say(OK)
        server, attempt = self.spans()
        self.assertEqual((server.trace_id, server.parent_id, server.is_parent_remote), (TRACE, SPAN, True))
        self.assertEqual((told.trace_id, told.span_id, told.state), (TRACE, attempt.span_id, "other=1"))

    def test_not_sampled_by_client(self) -> None:
        """One that is not sampled stays so, whatever the ratio; the endpoint is told of another parent."""
        self.get(fields=((b"traceparent", UNSAMPLED),))
        told = self.parent(self.upstream())
        self.upstream().say(OK)
        self.assertEqual((told.trace_id, told.is_sampled, self.told), (TRACE, False, []))
        self.assertNotEqual(told.span_id, SPAN)
        (record,) = self.metrics.records
        assert record.trace is not None
        self.assertEqual((record.trace.trace_id, record.trace.is_sampled), (TRACE, False))

    def test_ratio_in_place_of_flag(self) -> None:
        """Where clients are not to be followed, the ratio decides for their traces, too."""
        self.trace(evolve(ALL, follows_parent=False))
        self.get(fields=((b"traceparent", UNSAMPLED),))
        self.assertTrue(self.parent(self.upstream()).is_sampled)

    def test_not_trusted(self) -> None:
        """Of a client that is not trusted nothing is believed: another trace begins, and nothing goes on of what it said."""
        self.trace(evolve(ALL, trusts_parent=False, ratio=0.0))
        self.get(fields=CLIENTS)
        told = self.parent(self.upstream())
        self.upstream().say(OK)
        self.assertNotEqual(told.trace_id, TRACE)
        self.assertEqual((told.is_sampled, told.state, self.told), (False, "", []))

    def test_unreadable(self) -> None:
        """What cannot be read goes no further, and a trace begins here."""
        self.get(fields=((b"traceparent", b"00-1-2-01"), (b"tracestate", b"other=1")))
        said = self.upstream().take()
        self.assertEqual((said.count(b"traceparent:"), said.count(b"tracestate:")), (1, 0))

    def test_two(self) -> None:
        """Of two parents neither is believed, and one field goes on."""
        self.get(fields=(*CLIENTS, CLIENTS[0]))
        said = fields_of(self.upstream().take())
        self.assertNotIn(TRACE.encode(), said[b"traceparent"])

    def test_own_request_id(self) -> None:
        """A client that names its request does not name our trace by that."""
        self.get(fields=((b"X-Request-ID", b"f" * 32),))
        self.assertNotEqual(self.parent(self.upstream()).trace_id, "f" * 32)


class SamplingTests(TracedCase):
    """Which requests are sampled."""

    def ask(self, *fields: tuple[bytes, bytes]) -> bool:
        """Have a request with *fields*; return whether the endpoint is told that it is sampled."""
        self.get(fields=fields)
        is_sampled = self.parent(self.upstream()).is_sampled
        self.upstream().say(OK)
        return is_sampled

    def test_none(self) -> None:
        """Without luck a request has no span, and its endpoint is told of a trace all the same."""
        self.trace(evolve(ALL, ratio=0.0))
        self.assertFalse(self.ask())
        self.assertEqual(self.told, [])

    def test_header(self) -> None:
        """The field that the operator chose has a request sampled, wherever it stands among the fields."""
        self.trace(evolve(ALL, ratio=0.0, header="X-Trace-Me"))
        self.assertTrue(self.ask((b"x-trace-me", b"")))
        self.assertTrue(self.ask((b"Accept", b"*/*"), (b"X-TRACE-ME", b"1")))
        self.assertFalse(self.ask((b"X-Trace-Me-Not", b"1"), (b"A", b"x-trace-me: 1")))

    def test_most(self) -> None:
        """However many clients ask for it, no more are sampled in a second than there may be; these are counted."""
        self.trace(evolve(ALL, most_per_second=2))
        self.assertEqual([self.ask(*CLIENTS) for _ in range(5)], [True, True, False, False, False])
        self.assertEqual(self.metrics.value("ingress_traces_limited_total"), 3)
        self.reactor.pass_time(1.0)
        self.assertTrue(self.ask(*CLIENTS))


class RouteTests(TracedCase):
    """What routes say of traces."""

    def serve(self, said: RouteTracing, settings: TracingSettings = ALL) -> None:
        """Have a route that says this."""
        self.trace(settings)
        self.stage.publish((ONE,), filters=(TracedRoute(said),))

    def test_off(self) -> None:
        """A route that is not to be traced has no span, and what clients say goes on as it came."""
        self.serve(RouteTracing(is_on=False))
        self.get(fields=CLIENTS)
        self.assertEqual(fields_of(self.upstream().take())[b"traceparent"], SAMPLED)
        self.upstream().say(OK)
        self.assertEqual((self.told, self.metrics.records[0].trace), ([], None))

    def test_on(self) -> None:
        """Where nothing is traced by default, a route that asks for it is."""
        self.serve(RouteTracing(is_on=True), evolve(ALL, by_default=False))
        self.get()
        self.assertTrue(self.parent(self.upstream()).is_sampled)
        self.stage.publish((ONE,))
        self.get()
        self.assertNotIn(b"traceparent", self.upstream().take())

    def test_trust(self) -> None:
        """It says whether its clients are believed, against what holds for all."""
        for trusts in (True, False):
            self.serve(RouteTracing(trusts_parent=trusts), evolve(ALL, trusts_parent=not trusts))
            self.get(fields=CLIENTS)
            self.assertEqual(self.parent(self.upstream()).trace_id == TRACE, trusts)

    def test_name(self) -> None:
        """It says what its spans are called."""
        self.serve(RouteTracing(name=read_span_name("$request_method to $service_name:${service_port} $uri")))
        self.get(target=b"/any/path")
        self.upstream().say(OK)
        self.assertEqual(self.spans()[0].name, "GET to web:80 /")


class OffTests(TracedCase):
    """Without tracing."""

    def test_passes(self) -> None:
        """What clients say goes on as it came, and no record has a trace."""
        self.trace(None)
        self.get(fields=CLIENTS)
        said = fields_of(self.upstream().take())
        self.assertEqual((said[b"traceparent"], said[b"tracestate"]), (SAMPLED, b"other=1"))
        self.upstream().say(OK)
        self.assertIsNone(self.metrics.records[0].trace)


class _Seeing(Filter):
    def __init__(self) -> None:
        self.seen: list[object] = []

    def on_request(self, facts: Facts) -> Reply | None:
        self.seen.append(facts.trace)
        return None


class FactTests(TracedCase):
    """What filters know of it."""

    def test_seen(self) -> None:
        """A filter sees the trace that the record has in the end."""
        seeing = _Seeing()
        self.filter_by(seeing)
        self.get()
        self.upstream().say(OK)
        self.assertEqual(seeing.seen, [self.metrics.records[0].trace])

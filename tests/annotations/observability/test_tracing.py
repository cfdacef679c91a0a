"""Annotations about traces."""

from __future__ import annotations

from datetime import UTC, datetime

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.observability.tracing import TracedRoute
from ingress.filters import RouteTracing
from ingress.model.cluster.problems import Reason
from ingress.model.observability.span_names import read_span_name
from ingress.proxy.exchange.filtering.chain import Chain, live_filter
from ingress.translate.options import TranslateOptions
from ingress.translate.translate import translate
from tests.fakes.filter_parts import FakeServices
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress
from tests.workers.sent import sent


class TracingTests(SynchronousTestCase):
    """What an Ingress says of its requests."""

    def said(self, **written: str) -> tuple[RouteTracing | None, list[tuple[Reason, str]]]:
        """Return what the route says of traces, in a worker too, and what is told of the annotations."""
        found = translate(state_of([ingress("a", "/", **written)]), TranslateOptions(), datetime.now(UTC))
        (route,) = found.table.routes
        self.assertEqual(sent(found).table.routes, found.table.routes)
        told = [(one.reason, one.message) for one in found.problems if "annotations" in one.field]
        filters = tuple(
            live_filter(spec.name, spec.make(FakeServices()), spec.phase) for spec in route.filters
        )
        return Chain(filters).tracing, told

    def test_honored(self) -> None:
        """Each is what the route says; where none is there the route has no filter for it."""
        name = "HTTP $request_method $service_name"
        for written, wanted in (
            ({}, None),
            ({"enable_opentelemetry": "false"}, RouteTracing(is_on=False)),
            ({"enable_opentelemetry": "true"}, RouteTracing(is_on=True)),
            ({"opentelemetry_trust_incoming_span": "true"}, RouteTracing(trusts_parent=True)),
            ({"opentelemetry_operation_name": name}, RouteTracing(name=read_span_name(name))),
        ):
            self.assertEqual(self.said(**written), (wanted, []))

    def test_refused(self) -> None:
        """What cannot be read is told, and what holds for all does."""
        for name, value, words in (
            ("enable_opentelemetry", "maybe", "is not a boolean"),
            ("opentelemetry_trust_incoming_span", "x", "is not a boolean"),
            ("opentelemetry_operation_name", "a\nb", "is not a name"),
            ("opentelemetry_operation_name", "$http_cookie", "has $http_cookie"),
        ):
            said, ((reason, message),) = self.said(**{name: value})
            self.assertEqual((said, reason), (None, Reason.INVALID_ANNOTATION))
            self.assertIn(words, message)

    def test_described(self) -> None:
        """A program that serves nothing can say what is asked for."""
        for said, words in (
            (RouteTracing(is_on=False), "is not traced"),
            (RouteTracing(is_on=True, trusts_parent=True), "goes on with the client's trace"),
            (RouteTracing(trusts_parent=False), "begins a trace of its own"),
            (RouteTracing(name=read_span_name("to $host")), "its spans are called to $host"),
        ):
            self.assertIn(words, TracedRoute(said).describe())

"""What is held of requests and answers, by the annotations of an Ingress."""

from datetime import UTC, datetime

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.requests.buffers import (
    MOST_HEAD_BYTES,
    MOST_HELD,
    USUALLY_HELD,
    RequestBuffering,
    parse_count,
    parse_head_size,
    parse_held_size,
)
from ingress.model.cluster.problems import Reason
from ingress.model.serving.limits import AskedTimeouts
from ingress.routing.route import Route
from ingress.translate.options import TranslateOptions
from ingress.translate.translate import translate
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress
from tests.workers.sent import sent


class ValueTests(SynchronousTestCase):
    """What the values may be."""

    def test_sizes(self) -> None:
        """Sizes are those of nginx, in any case of their unit."""
        for text, expected in (
            ("1k", 1024),
            ("16K", 16384),
            ("128k", 131072),
            ("1g", 1 << 30),
            (" 8192 ", 8192),
        ):
            self.assertEqual([parse_head_size(text), parse_held_size(text)], [expected] * 2, text)

    def test_numbers(self) -> None:
        """A number of buffers is a whole one."""
        self.assertEqual(parse_count("4"), 4)
        for text in ("", "0", "-1", "4.5", "4 256k", "four", "9" * 10, "\u0664"):
            self.assertRaises(ValueRefused, parse_count, text)

    def test_refused(self) -> None:
        """What is no size is refused, whether it would have changed anything or not."""
        for text in ("", "-1", "4 k", "4kb", "k", "on", "16k;", "\uff14k", "9" * 300_000, "1\r\n8k", "$size"):
            for parse in (parse_head_size, parse_held_size):
                self.assertRaises(ValueRefused, parse, text)

    def test_nothing_fits(self) -> None:
        """A head of an answer needs some room, and so does a body that is to be held."""
        for text in ("0", "0k", "512", "1023"):
            self.assertRaises(ValueRefused, parse_head_size, text)
        self.assertRaises(ValueRefused, parse_held_size, "0")


class IngressTests(SynchronousTestCase):
    """From the annotations of an Ingress to its route."""

    def translated(self, **written: str) -> tuple[Route, list[tuple[Reason, str]]]:
        """Return the route of an Ingress with these annotations, and what is told about them."""
        found = translate(state_of([ingress("a", "/", **written)]), TranslateOptions(), datetime.now(UTC))
        (route,) = found.table.routes
        self.assertEqual(sent(found).table.routes, found.table.routes)
        told = [(one.reason, one.message) for one in found.problems if "annotations" in one.field]
        return route, told

    def test_silence(self) -> None:
        """What changes nothing, or asks for what is done anyway, is accepted without a word."""
        for written in (
            {"proxy_buffers_number": "8", "proxy_busy_buffers_size": "64k", "proxy_max_temp_file_size": "0"},
            {"proxy_buffering": "off", "proxy_request_buffering": "off", "client_body_buffer_size": "1m"},
            {"proxy_http_version": "1.1", "enable_rewrite_log": "false", "enable_access_log": "true"},
        ):
            route, told = self.translated(**written)
            self.assertEqual((told, route.filters, route.timeouts), ([], (), None), written)

    def test_head(self) -> None:
        """``proxy-buffer-size`` is what the head of an answer may have; beyond what is possible there is a note."""
        for text, size in (("4k", 4096), ("128k", 131072), ("256k", MOST_HEAD_BYTES)):
            route, told = self.translated(proxy_buffer_size=text)
            self.assertEqual((route.timeouts, told), (AskedTimeouts(head_bytes=size), []))
        route, ((reason, message),) = self.translated(proxy_buffer_size="1m", proxy_read_timeout="9")
        self.assertEqual(route.timeouts, AskedTimeouts(read_seconds=9.0, head_bytes=MOST_HEAD_BYTES))
        self.assertEqual(reason, Reason.ANNOTATION_NOTE)
        self.assertIn("256k", message)

    def test_request_buffering(self) -> None:
        """``proxy-request-buffering`` holds what ``client-body-buffer-size`` says, within bounds."""
        for size, held in ((None, USUALLY_HELD), ("64k", 65536), ("1m", MOST_HELD)):
            written = {} if size is None else {"client_body_buffer_size": size}
            route, told = self.translated(proxy_request_buffering="on", **written)
            self.assertEqual((route.filters, told), ((RequestBuffering(held),), []))
        route, ((reason, message),) = self.translated(
            proxy_request_buffering="on", client_body_buffer_size="1g"
        )
        self.assertEqual((route.filters, reason), ((RequestBuffering(MOST_HELD),), Reason.ANNOTATION_NOTE))
        self.assertIn("client-body-buffer-size: 1024k", message)

    def test_conversations(self) -> None:
        """Nothing is held where endpoints speak gRPC: a client may wait for an answer before it says more."""
        for protocol, count in (("GRPC", 0), ("GRPCS", 0), ("HTTP", 1), ("HTTPS", 1)):
            route, _ = self.translated(proxy_request_buffering="on", backend_protocol=protocol)
            self.assertEqual(len(route.filters), count, protocol)

    def test_reading_ahead(self) -> None:
        """That answers are read ahead of clients is not to be had, which is a note."""
        route, ((reason, message),) = self.translated(proxy_buffering="on")
        self.assertEqual((route.filters, reason), ((), Reason.ANNOTATION_NOTE))
        self.assertIn("streamed", message)

    def test_refusals(self) -> None:
        """What cannot be read, or not be had, is told with name, value and what is done instead."""
        for name, value, reason, words in (
            ("proxy_buffer_size", "4 k", Reason.INVALID_ANNOTATION, 'proxy-buffer-size: "4 k" is not a size'),
            ("proxy_buffers_number", "4 256k", Reason.INVALID_ANNOTATION, "changes nothing here"),
            ("proxy_busy_buffers_size", "big", Reason.INVALID_ANNOTATION, "changes nothing here"),
            ("proxy_http_version", "1.0", Reason.INVALID_ANNOTATION, "HTTP/1.1 is spoken"),
            ("proxy_http_version", "2", Reason.INVALID_ANNOTATION, "backend-protocol: GRPC"),
            ("proxy_request_buffering", "true", Reason.INVALID_ANNOTATION, 'not "on" or "off"'),
            ("enable_rewrite_log", "true", Reason.UNSUPPORTED_ANNOTATION, "rewrites are not logged"),
            ("enable_access_log", "off", Reason.INVALID_ANNOTATION, "requests are logged"),
            ("opentelemetry_operation_name", "a\nb", Reason.INVALID_ANNOTATION, "is not a name"),
        ):
            route, ((told, message),) = self.translated(**{name: value})
            self.assertEqual((told, route.filters), (reason, ()), name)
            self.assertIn(words, message)

    def test_access_log(self) -> None:
        """``enable-access-log`` says of a route whether its requests are logged."""
        for text, is_logged in (("false", False), ("true", True), ("no", True)):
            route, _ = self.translated(enable_access_log=text)
            self.assertEqual(route.is_logged, is_logged)

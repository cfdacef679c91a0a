"""Compression: from option to bytes that clients can read."""

import gc
import tracemalloc
import zlib
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.answers import compression, content_codings
from ingress.annotations.answers.answer_rates import AnswerRate
from ingress.annotations.answers.compression import (
    COMPRESSION,
    MOST_TYPES,
    SLOW_TURN_BYTES,
    TURN_BYTES,
    TYPES,
    Coding,
    Compression,
    CompressionSettings,
    parse_types,
    preferred,
    weak_tag,
)
from ingress.annotations.answers.content_codings import encoder_maker
from ingress.annotations.contract.values import ValueRefused
from ingress.filters import AnswerEdit, Facts, Filter, FilterSpec, Hook, Phase, Reply, used_hooks
from ingress.proxy.exchange.filtering.answer_passage import SLICE
from ingress.translate.options import TranslateOptions
from ingress.translate.translate import translate
from tests.annotations.served_case import ServedCase
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices
from tests.fakes.specs import SpecOf
from tests.operator_settings import operator_settings
from tests.proxy.exchange.filtering.test_filter_bodies import Loud
from tests.proxy.filter_case import FilterCase, Heard
from tests.proxy.playing import ONE, Stage
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress
from tests.workers.sent import sent

GZIP = Coding("gzip", 1, TYPES, 256)
BROTLI = Coding("br", 4, TYPES, 20)
ZSTD = Coding("zstd", 3, TYPES, 256)
ALL = Compression((BROTLI, ZSTD, GZIP))
TEXT = b"<p>One of the pages that a shop has, and what is for sale there</p>\n" * 40


def plain(coding: bytes, octets: bytes) -> bytes:
    """Return what *octets* were made of, as far as they came."""
    if coding == b"gzip":
        return zlib.decompressobj(31).decompress(octets)
    if coding == b"br":
        found: bytes = import_module("brotli").Decompressor().process(octets)
        return found
    package: Any = import_module("zstandard")
    read: bytes = package.ZstdDecompressor().decompressobj().decompress(octets)
    return read


class ParsingTests(SynchronousTestCase):
    """What the operator may write."""

    def test_types(self) -> None:
        """Types stand between blanks or commas, in any case."""
        self.assertEqual(parse_types(" Text/CSS, application/json\n*"), ("*", "application/json", "text/css"))
        for text in (
            "",
            "text",
            "text/",
            "text/css;q=1",
            "te xt/css",
            "a/b/c",
            "text/*",
            "x" * 300_000,
            "a/b\x00",
        ):
            with self.assertRaises(ValueRefused, msg=text[:20]):
                parse_types(text)
        with self.assertRaises(ValueRefused):
            parse_types("a/b " * (MOST_TYPES + 1))

    def test_others(self) -> None:
        """Levels are those of the library, lengths whole numbers, switches booleans."""
        for name, good, bad in (
            ("gzip-level", ("1", "9"), ("0", "10", "-1", "1.5", "x", "9" * 400)),
            ("brotli-level", ("0", "6"), ("7", "11", "-1", "")),
            ("zstd-level", ("1", "9"), ("0", "10", "-5")),
            ("gzip-min-length", ("0", "1000"), ("-1", "1k", "1e3")),
            ("brotli-min-length", ("20",), ("-1", "٣")),
            ("use-gzip", ("true", "false"), ("on", "yes", "")),
            ("enable-brotli", ("true", "false"), ("on",)),
            ("enable-zstd", ("true", "false"), ("on",)),
        ):
            parse = COMPRESSION.options[name].parse
            for text in good:
                parse(text)
            for text in bad:
                with self.assertRaises(ValueRefused, msg=f"{name}={text[:9]}"):
                    parse(text)

    def test_missing_package(self) -> None:
        """A coding whose package is not installed cannot be switched on, and the reason names it; off it can be."""
        self.patch(content_codings, "find_spec", lambda name: None)
        for name, package in (("enable-brotli", "brotli"), ("enable-zstd", "zstandard")):
            with self.assertRaises(ValueRefused) as raised:
                COMPRESSION.options[name].parse("true")
            self.assertIn(f"needs the Python package {package}", str(raised.exception))
            self.assertIs(COMPRESSION.options[name].parse("false"), False)
        self.assertIs(COMPRESSION.options["use-gzip"].parse("true"), True)


class PreferenceTests(SynchronousTestCase):
    """``Accept-Encoding``."""

    def test_preferred(self) -> None:
        """What the client likes best is taken, ours first among equals, and nothing that it likes less than none."""
        names = (b"br", b"zstd", b"gzip")
        for accepted, expected in (
            (b"gzip, deflate, br, zstd", b"br"),
            (b"gzip", b"gzip"),
            (b"GZIP;Q=1", b"gzip"),
            (b"x-gzip", b"gzip"),
            (b"gzip;q=1.0, br;q=0.5", b"gzip"),
            (b"gzip;q=0.5,br;q=0.5", b"br"),
            (b"br;q=0, gzip;q=0.001", b"gzip"),
            (b"*", b"br"),
            (b"*;q=0.5, gzip", b"gzip"),
            (b"br;q=0, *", b"zstd"),
            (b"identity;q=1, gzip;q=0.5", b""),
            (b"identity;q=0.5, gzip;q=0.5", b"gzip"),
            (b"identity;q=0.5, gzip", b"gzip"),
            (b"gzip;q=0", b""),
            (b"*;q=0", b""),
            (b"identity", b""),
            (b"deflate", b""),
            (b"", b""),
            (b",;q=1,;;", b""),
            (b"gzip;q=2", b""),
            (b"gzip;q=nan", b""),
            (b"gzip;q=-1", b""),
            (b"gzip;q=1e0", b""),
            (b"not-gzip", b""),
            (b"gzip ; q=0.9", b"gzip"),
        ):
            self.assertEqual(preferred(accepted, names), expected, accepted)
        self.assertEqual(preferred(b"br, gzip", (b"gzip",)), b"gzip")


class CodingTests(SynchronousTestCase):
    """Encoders."""

    def test_all_is_out(self) -> None:
        """Whatever was fed can be read by the client when the call returns, in each coding; and the end is an end."""
        for name in ("gzip", "br", "zstd"):
            for length in (None, len(TEXT) * 3):
                encoder = encoder_maker(name, 3)(length)
                came = b""
                for count in range(1, 4):
                    came += encoder.feed(TEXT)
                    self.assertEqual(plain(name.encode(), came), TEXT * count, name)
                came += encoder.finish()
                self.assertLess(len(came), len(TEXT))
                self.assertEqual(plain(name.encode(), came), TEXT * 3)

    def test_beside_each_other(self) -> None:
        """Bodies that are compressed at the same time have nothing of each other."""
        for name in ("gzip", "br", "zstd"):
            make = encoder_maker(name, 3)
            bodies = [TEXT, TEXT[::-1], b"x" * 5000]
            encoders = [make(None) for _ in bodies]
            came = [encoder.feed(body[:2000]) for encoder, body in zip(encoders, bodies, strict=True)]
            for at, (encoder, body) in enumerate(zip(encoders, bodies, strict=True)):
                came[at] += encoder.feed(body[2000:]) + encoder.finish()
            self.assertEqual([plain(name.encode(), one) for one in came], bodies, name)

    def test_memory(self) -> None:
        """A small body has a small window, which a body of that length still fits into."""
        for length in (1, 200, 1000, 5000, 16_000, 40_000):
            body = bytes(number * number % 251 for number in range(length))
            encoder = encoder_maker("gzip", 9)(length)
            self.assertEqual(plain(b"gzip", encoder.feed(body) + encoder.finish()), body)


ACCEPTING = FakeFacts(fields={b"accept-encoding": b"gzip, br"})


def edited(
    spec: FilterSpec, facts: FakeFacts = ACCEPTING, status: int = 200, /, **fields: bytes
) -> dict[bytes, bytes]:
    """Return the fields of an answer once *spec* has seen it; in their names an underscore stands for a dash."""
    named = [(name.replace("_", "-").encode(), value) for name, value in fields.items()]
    edit = FakeEdit(status=status, fields=named)
    spec.make(FakeServices()).on_answer(facts, edit)
    return {name.lower(): value for name, value in edit.fields}


class EligibleTests(SynchronousTestCase):
    """Which answers are compressed."""

    SPEC = Compression((GZIP,))

    def test_compressed(self) -> None:
        """Of the statuses, types and lengths of nginx; what is not known to be short is long enough."""
        for status, fields in (
            (200, {"content_type": b"text/html"}),
            (200, {"content_type": b"Text/HTML; charset=utf-8"}),
            (200, {"content_type": b"application/json", "content_length": b"256"}),
            (200, {"content_type": b"application/json", "content_length": b"256, 256"}),
            (403, {"content_type": b"text/html"}),
            (404, {"content_type": b"text/plain"}),
            (200, {"content_type": b"text/html; profile=" + b"a" * 1000}),
        ):
            found = edited(self.SPEC, ACCEPTING, status, **fields)
            self.assertEqual(found[b"content-encoding"], b"gzip", (status, fields))
            self.assertEqual(found[b"vary"], b"Accept-Encoding")

    def test_left_alone(self) -> None:
        """Nothing of another status, type or length, nothing that has a coding, and nothing that must not be transformed."""
        html = {"content_type": b"text/html"}
        for status, fields in (
            (206, html),
            (304, html),
            (204, html),
            (500, html),
            (301, html),
            (200, {}),
            (200, {"content_type": b""}),
            (200, {"content_type": b"image/png"}),
            (200, {"content_type": b"text/event-stream"}),
            (200, {"content_type": b"text/htmlx"}),
            (200, {**html, "content_length": b"255"}),
            (200, {**html, "content_encoding": b"br"}),
            (200, {**html, "content_encoding": b"identity"}),
            (200, {**html, "cache_control": b"public, No-Transform"}),
        ):
            found = edited(self.SPEC, ACCEPTING, status, **fields)
            self.assertEqual(found.get(b"content-encoding"), fields.get("content_encoding"), (status, fields))
            self.assertNotIn(b"vary", found)
        self.assertNotIn(
            b"vary",
            edited(self.SPEC, FakeFacts(method=b"HEAD", fields={b"accept-encoding": b"gzip"}), 200, **html),
        )

    def test_several_fields(self) -> None:
        """What the second field of a name says counts as what the first one does."""
        for name, value in ((b"Cache-Control", b"no-transform"), (b"Content-Encoding", b"br")):
            edit = FakeEdit(fields=[(b"Content-Type", b"text/html"), (name, b""), (name, value)])
            self.SPEC.make(FakeServices()).on_answer(ACCEPTING, edit)
            self.assertEqual(len(edit.fields), 3)

    def test_long_types(self) -> None:
        """Long types, each a new one, are not kept: an endpoint may send as many as it likes."""
        made = self.SPEC.make(FakeServices())
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        before, _ = tracemalloc.get_traced_memory()
        for number in range(100):
            fields = [(b"content-type", b"text/html; a=%d" % number + b"a" * 10_000)]
            made.on_answer(ACCEPTING, FakeEdit(status=200, fields=fields))
        after, _ = tracemalloc.get_traced_memory()
        self.assertLess(after - before, 100_000)

    def test_not_accepted(self) -> None:
        """An answer that would be compressed for others says so by ``Vary``, and is as it came."""
        for accepted in (b"", b"deflate", b"gzip;q=0", b"gzip," * 100):
            found = edited(
                self.SPEC,
                FakeFacts(fields={b"accept-encoding": accepted}),
                content_type=b"text/html",
                etag=b'"1"',
            )
            self.assertEqual(
                found, {b"content-type": b"text/html", b"etag": b'"1"', b"vary": b"Accept-Encoding"}
            )

    def test_fields(self) -> None:
        """A strong entity tag becomes a weak one, what is none goes; ranges and digests of what is not sent are not told."""
        for tag, expected in (
            (b'"1"', b'W/"1"'),
            (b'W/"1"', b'W/"1"'),
            (b'""', b'W/""'),
            (b"", None),
            (b"1", None),
            (b'"1', None),
            (b'w/"1"', None),
            (b'"1" ; x="2"', None),
        ):
            found = edited(
                self.SPEC,
                content_type=b"text/html",
                etag=tag,
                accept_ranges=b"bytes",
                content_md5=b"x",
                content_digest=b"x",
                repr_digest=b"sha-256=:x=:",
                digest=b"sha-256=x",
            )
            self.assertEqual(found.pop(b"etag", None), expected, tag)
            self.assertEqual(set(found), {b"content-type", b"vary", b"content-encoding"})

    def test_two_tags(self) -> None:
        """Of two entity tags nobody knows which one holds, and none is told."""
        self.assertEqual(weak_tag((b'W/"1"', b'"2"')), b"")

    def test_each_its_own(self) -> None:
        """Each coding has its own types and least length; the first of those that are left is taken."""
        spec = Compression((Coding("br", 4, ("text/css",), 20), Coding("gzip", 1, ("*",), 256)))
        for content_type, length, expected in (
            (b"text/css", b"100", b"br"),
            (b"text/html", b"100", b"br"),
            (b"image/png", b"1000", b"gzip"),
            (b"image/png", b"100", None),
            (b"text/css", b"10", None),
        ):
            found = edited(spec, content_type=content_type, content_length=length)
            self.assertEqual(found.get(b"content-encoding"), expected)


class TranslationTests(SynchronousTestCase):
    """From options to filters."""

    def test_off(self) -> None:
        """Nobody has a filter unless the operator wants one; then all routes have it, and no annotation is needed."""
        for settings, expected in (
            (CompressionSettings(), ()),
            (CompressionSettings(gzip_level=5), ()),
            (CompressionSettings(gzip=True), (Compression((GZIP,)),)),
            (CompressionSettings(gzip=True, brotli=True, zstd=True), (Compression((BROTLI, ZSTD, GZIP)),)),
        ):
            options = TranslateOptions(operators=operator_settings((COMPRESSION, settings)))
            found = translate(state_of([ingress("a", "/")]), options, datetime.now(UTC))
            for one in (found, sent(found)):
                (route,) = one.table.routes
                self.assertEqual(route.filters, expected)

    def test_spec(self) -> None:
        """It stands in a phase of its own, and is told with its levels."""
        for coding in (GZIP, BROTLI, ZSTD):
            spec = Compression((coding,))
            self.assertEqual(used_hooks(spec.make(FakeServices())), {Hook.ANSWER, Hook.ANSWER_BODY})
            self.assertEqual(spec.phase, Phase.CODING)
            self.assertIn(f"{coding.name} at level {coding.level}", spec.describe())


class CompressedTests(FilterCase):
    """Compressed answers in the proxy, over HTTP/1.1."""

    HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"

    def ask(self, spec: FilterSpec = ALL, accepted: bytes = b"gzip", **asked: Any) -> None:
        """Ask for a page."""
        self.stage.publish((ONE,), filters=(spec,))
        self.asking = self.client(**asked)
        self.asking.ask(fields=((b"accept-encoding", accepted),))

    def whole(self, body: bytes, *fields: bytes) -> Heard:
        """Have it answered, and return what came."""
        lines = b"".join(one + b"\r\n" for one in fields)
        self.upstream().say(self.HEAD + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        return self.asking.heard()

    def test_round_trip(self) -> None:
        """The client gets what the endpoint said, in the coding that it likes, without a length; the log has what was sent."""
        for coding in (b"gzip", b"br", b"zstd"):
            self.ask(accepted=coding)
            heard = self.whole(TEXT, b'ETag: "1"')
            self.assertTrue(heard.is_whole)
            self.assertEqual(heard.all(b"content-encoding"), [coding])
            self.assertEqual(heard.all(b"content-length"), [])
            self.assertEqual((heard.all(b"etag"), heard.all(b"vary")), ([b'W/"1"'], [b"Accept-Encoding"]))
            self.assertEqual(plain(coding, heard.body), TEXT)
            self.assertLess(len(heard.body), len(TEXT) / 5)
            self.assertEqual(self.metrics.records[-1].bytes_sent, len(heard.body))

    def test_several_fields(self) -> None:
        """Of what client and endpoint say, several fields of a name are as one."""
        self.stage.publish((ONE,), filters=(ALL,))
        self.asking = self.get(fields=((b"accept-encoding", b"deflate"), (b"accept-encoding", b"gzip")))
        self.assertEqual(self.whole(TEXT).all(b"content-encoding"), [b"gzip"])
        self.ask()
        heard = self.whole(TEXT, b"Cache-Control: public", b"Cache-Control: no-transform")
        self.assertEqual((heard.body, heard.all(b"vary")), (TEXT, []))

    def test_not_compressed(self) -> None:
        """What is not compressed keeps its length, and is no other than without the filter."""
        self.ask()
        heard = self.whole(b"short")
        self.assertEqual((heard.body, heard.all(b"content-length")), (b"short", [b"5"]))
        self.assertEqual((heard.all(b"vary"), heard.all(b"content-encoding")), ([], []))

    def test_streams(self) -> None:
        """Each piece can be read as soon as the endpoint has said it, as server-sent events want it."""
        events = Compression((Coding("gzip", 1, ("text/event-stream",)),))
        self.ask(events)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        self.upstream().say(head)
        said = b""
        for number in range(5):
            event = b"data: %d\n\n" % number
            self.upstream().say(b"%x\r\n%b\r\n" % (len(event), event))
            said += event
            self.assertEqual(plain(b"gzip", self.asking.heard().body), said)
        self.upstream().say(b"0\r\n\r\n")
        self.assertTrue(self.asking.heard().is_whole)

    def test_turns(self) -> None:
        """Of a large piece only so much is compressed in one turn, and the end comes once all is."""
        turns: list[list[int]] = [[]]
        real = compression._Compressing.feed

        def feed(stage: compression._Compressing, piece: bytes) -> bytes:
            turns[-1].append(len(piece))
            return real(stage, piece)

        self.patch(compression._Compressing, "feed", feed)
        for coding, most in ((GZIP, TURN_BYTES), (Coding("gzip", 9), SLOW_TURN_BYTES)):
            turns.append([])
            before = len(turns)
            body = TEXT * 200
            later = self.reactor.callLater

            def call_later(seconds: float, call: Any, *arguments: Any, later: Any = later) -> Any:
                if not seconds:
                    turns.append([])
                return later(seconds, call, *arguments)

            self.patch(self.reactor, "callLater", call_later)
            self.ask(Compression((coding,)))
            heard = self.whole(body)
            self.reactor.pass_time(1)
            heard = self.asking.heard()
            self.assertEqual((plain(b"gzip", heard.body), heard.is_whole), (body, True))
            some = turns[before - 1 :]
            self.assertLessEqual(max(map(sum, some)), most + SLICE)
            self.assertLessEqual(max(max(one, default=0) for one in some), SLICE)
            self.assertGreaterEqual(len([one for one in some if one]), len(body) // most)
            self.patch(self.reactor, "callLater", later)

    def test_client_that_leaves(self) -> None:
        """What a body holds is let go at once when its client leaves, and when it is whole."""
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        for leaves in (True, False):
            self.ask(accepted=b"zstd")
            self.upstream().say(self.HEAD + b"Content-Length: 9000\r\n\r\n" + b"x" * 5000)
            self.assertEqual(self.held(), 1)
            if leaves:
                self.asking.leave()
            else:
                self.upstream().say(b"x" * 4000)
            self.assertEqual(self.held(), 0)

    @staticmethod
    def held() -> int:
        """Return how many bodies are being compressed."""
        return sum(isinstance(one, compression._Compressing) for one in gc.get_objects())

    def test_slow_client(self) -> None:
        """A client that takes nothing has its endpoint wait: what is held stays within bounds."""
        self.ask(Compression((Coding("gzip", 1, ("*",)),)), window=1000)
        noise = bytes(number * 7919 % 65521 % 251 for number in range(32 * 1024))
        self.upstream().say(self.HEAD + b"Content-Length: %d\r\n\r\n" % (len(noise) * 100))
        for _ in range(100):
            self.upstream().post(noise)
        self.reactor.pass_time(2)
        self.assertTrue(self.upstream()._incoming)
        self.asking.leave()

    def test_own_replies(self) -> None:
        """Replies of our own, and of filters, are answers like any other."""

        class Refuses(Filter):
            def on_request(self, facts: Facts) -> Reply | None:
                return Reply(403, ((b"Content-Type", b"text/html"),), TEXT)

        spec = Compression((GZIP,))
        self.stage.publish((ONE,), filters=(SpecOf(Refuses()), spec))
        self.asking = self.get(fields=((b"accept-encoding", b"gzip"),))
        heard = self.asking.heard()
        self.assertEqual((heard.status, heard.is_whole, plain(b"gzip", heard.body)), (403, True, TEXT))

    def test_filters_of_all(self) -> None:
        """A filter before all requests changes the head and the body of an answer before it is compressed."""

        class Hides(Filter):
            def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
                edit.drop(b"Vary")

        everything = (SpecOf(Hides(), phase=Phase.ANSWER), SpecOf(Loud(answers=True), "loud", Phase.ANSWER))
        self.stage = Stage(everything=everything)
        self.reactor, self.connector = self.stage.reactor, self.stage.connector
        self.ask(Compression((GZIP,)))
        heard = self.whole(TEXT, b"Vary: X-Team")
        self.assertEqual(heard.all(b"vary"), [b"Accept-Encoding"])
        self.assertEqual(plain(b"gzip", heard.body), TEXT.upper() + b"!")

    def test_pace(self) -> None:
        """The rate of an answer is that of the bytes that are sent."""
        self.stage.publish((ONE,), filters=(AnswerRate(1024), Compression((GZIP,))))
        self.asking = self.get(fields=((b"accept-encoding", b"gzip"),))
        self.whole(TEXT * 100)
        self.reactor.pass_time(3)
        heard = self.asking.heard()
        self.assertEqual((heard.is_whole, plain(b"gzip", heard.body)), (True, TEXT * 100))


class CompressedOverHttp2Tests(CompressedTests):
    """The same over HTTP/2."""

    is_http2 = True


class BehindOthersTests(ServedCase):
    """Answers whose heads annotations change: what these say is what compression goes by."""

    OPTIONS = TranslateOptions(operators=operator_settings((COMPRESSION, CompressionSettings(gzip=True))))

    def heard(self, **annotations: str) -> Heard:
        """Return what a client hears of an answer with a strong entity tag."""
        self.serve(ingress("web", "/", host="shop.test", **annotations), options=self.OPTIONS)
        asking = self.get(fields=((b"accept-encoding", b"gzip"), (b"origin", b"https://a.test")))
        self.upstream().say(
            b'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nETag: "1"\r\nVary: X-A\r\n'
            b"Content-Length: %d\r\n\r\n" % len(TEXT) + TEXT
        )
        return asking.heard()

    def test_compressed(self) -> None:
        """Whatever is put or taken away, what is compressed says its coding and varies by it, and has no strong tag."""
        for snippet, varies, tag in (
            ("", [b"X-A", b"Accept-Encoding"], b'W/"1"'),
            ("proxy_hide_header Vary;", [b"Accept-Encoding"], b'W/"1"'),
            ('more_clear_headers "Vary";', [b"Accept-Encoding"], b'W/"1"'),
            ('more_set_headers "Vary: X-Q";', [b"X-Q", b"Accept-Encoding"], b'W/"1"'),
            ("add_header Vary X-Q;", [b"X-A", b"X-Q", b"Accept-Encoding"], b'W/"1"'),
            ('more_clear_headers "Content-Encoding";', [b"X-A", b"Accept-Encoding"], b'W/"1"'),
            ('more_set_headers "ETag: \\"2\\"";', [b"X-A", b"Accept-Encoding"], b'W/"2"'),
        ):
            heard = self.heard(**{"configuration-snippet": snippet} if snippet else {})
            self.assertEqual(heard.all(b"vary"), varies, snippet)
            self.assertEqual((heard.all(b"content-encoding"), heard.all(b"etag")), ([b"gzip"], [tag]))
            self.assertEqual(plain(b"gzip", heard.body), TEXT)

    def test_left_alone(self) -> None:
        """What makes an answer one that is not compressed does so, whoever says it."""
        for snippet in (
            'more_set_headers "Cache-Control: no-transform";',
            "add_header Cache-Control no-transform;",
            'more_set_headers "Content-Type: image/png";',
            'more_set_headers "Content-Encoding: identity";',
        ):
            heard = self.heard(**{"configuration-snippet": snippet})
            self.assertEqual((heard.body, heard.all(b"vary")), (TEXT, [b"X-A"]), snippet)
            self.assertEqual(heard.all(b"etag"), [b'"1"'])

    def test_origins(self) -> None:
        """What varies by origin does so beside the coding."""
        heard = self.heard(**{"enable-cors": "true", "cors-allow-origin": "https://a.test,https://b.test"})
        self.assertEqual(heard.all(b"vary"), [b"X-A", b"Origin", b"Accept-Encoding"])

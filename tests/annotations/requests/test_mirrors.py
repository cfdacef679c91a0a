"""Mirrors: what is read of annotations, and what a copy is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.asked_urls import Leave, parse_targets
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.requests.mirrors import (
    MIRRORS,
    Mirror,
    MirrorSettings,
    parse_mirror_host,
    parse_mirror_target,
)
from ingress.filter_parts.mirroring import MOST_BYTES, SECONDS
from ingress.filters import BodyFlow, BodyStage, SubRequest
from ingress.model.cluster.problems import Reason
from ingress.model.requests.templates import read_template
from ingress.routing.route import Route
from ingress.translate.options import TranslateOptions
from ingress.translate.translate import translate
from tests.fakes.filter_parts import FakeFacts, FakeServices
from tests.operator_settings import operator_settings
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress
from tests.workers.sent import sent

OPTIONS = TranslateOptions()


class ValueTests(SynchronousTestCase):
    """What the values may be."""

    def test_targets(self) -> None:
        """A target is a URL whose host no request decides; constants of the route may."""
        for text in (
            "http://mirror.test",
            "https://mirror.test:8443/in?a=b",
            "https://mirror.test/$request_uri",
            "https://mirror.test$request_uri",
            "http://mirror.$namespace.svc.cluster.local$uri",
            "http://10.0.0.1/${request_uri}&x=$host",
            "HTTP://[2001:db8::1]:80/",
        ):
            parse_mirror_target(text)

    def test_refused(self) -> None:
        """What is no such URL is refused."""
        for text in (
            "",
            "mirror.test",
            "//mirror.test/",
            "ftp://mirror.test/",
            "http://user:secret@mirror.test/",
            "http://$host/",
            "https://$http_x_mirror$request_uri",
            "http://mirror.test.$arg_domain/",
            "$scheme://mirror.test/",
            "http://mirror.test/#top",
            "http://mirror.test/ a",
            "http://mirror.test/\r\nX: y",
            "http://mirror.test:0/",
            "http://mirror.test:port/",
            "http://mirror.test/$nobody_knows",
            "http://mirror.test/$status",
            "http://mirror.test/${request_uri",
            "http://mirror.test/\u00e4",
            "http:///path",
            "http://mirror.test/" + "a" * 300_000,
        ):
            self.assertRaises(ValueRefused, parse_mirror_target, text)

    def test_hosts(self) -> None:
        """What a copy says in ``Host`` is a host."""
        for text, host in (
            (" Mirror.test ", "mirror.test"),
            ("a.test:8080", "a.test:8080"),
            ("[::1]:80", "[::1]:80"),
            ("$host", "$host"),
            ("$http_host", "$http_host"),
            ("$best_http_host", "$best_http_host"),
            ("${service_name}.$namespace.test:81", "${service_name}.$namespace.test:81"),
        ):
            self.assertEqual(parse_mirror_host(text), read_template(host))
        for text in (
            "$http_x_host",
            "$arg_host",
            "$host/a",
            "$host $host",
            "${host",
            "$location_path",
            "$http_host:81",
            "shadow.$best_http_host",
        ):
            self.assertRaises(ValueRefused, parse_mirror_host, text)
        for text in ("", "a b", "http://a.test", "a/b", "a\r\nX: y", "\u00e4.test", "a" * 300):
            self.assertRaises(ValueRefused, parse_mirror_host, text)


class RouteTests(SynchronousTestCase):
    """From the annotations of an Ingress to its route."""

    def translated(
        self,
        options: TranslateOptions = OPTIONS,
        **written: str,
    ) -> tuple[Route, list[tuple[Reason, str]]]:
        """Return the route of an Ingress with these annotations, and what is told about them."""
        found = translate(state_of([ingress("a", "/in", **written)]), options, datetime.now(UTC))
        (route,) = found.table.routes
        self.assertEqual(sent(found).table.routes, found.table.routes)
        return route, [(one.reason, one.message) for one in found.problems if "annotations" in one.field]

    def test_targets(self) -> None:
        """Host and target are told apart; without a path, a copy goes to that of the request."""
        uri = read_template("$request_uri")
        for text, base, target in (
            ("https://mirror.test", "https://mirror.test", uri),
            ("https://mirror.test$request_uri", "https://mirror.test", uri),
            ("https://mirror.test/$request_uri", "https://mirror.test", read_template("/$request_uri")),
            ("http://mirror.test:81/in?x=$host", "http://mirror.test:81", read_template("/in?x=$host")),
            ("http://$service_name.$namespace.svc$uri", "http://web.demo.svc", read_template("$uri")),
            ("http://mirror.test/in", "http://mirror.test", read_template("/in$is_args$args")),
            ("http://mirror.test/in?a=b", "http://mirror.test", read_template("/in?a=b")),
            ("http://$namespace.test/in", "http://demo.test", read_template("/in")),
        ):
            route, told = self.translated(mirror_target=text)
            self.assertEqual((route.filters, told), ((Mirror(base, target),), []), text)

    def test_family(self) -> None:
        """Host and body are as the other annotations say."""
        route, told = self.translated(
            mirror_target="https://mirror.test", mirror_host="Other.test", mirror_request_body="off"
        )
        (spec,) = route.filters
        self.assertEqual(
            spec, Mirror("https://mirror.test", host=read_template("other.test"), sends_body=False)
        )
        self.assertEqual(told, [])

    def test_host_by_objects(self) -> None:
        """Names of objects that make no host leave that of the target, as ``*.`` of a rule does; so does one without end."""
        for host, text, known in (
            ("a.test", "shadow.$server_name", "shadow.a.test"),
            ("*.a.test", "$server_name", ""),
            ("*.a.test", "$namespace.$service_name:81", "demo.web:81"),
            ("*.a.test", "$host", "$host"),
            ("b" * 60 + ".test", "$server_name.$server_name.$server_name.$server_name", ""),
        ):
            one = ingress("a", "/in", host=host, mirror_target="http://mirror.test", mirror_host=text)
            (route,) = translate(state_of([one]), OPTIONS, datetime.now(UTC)).table.routes
            (spec,) = route.filters
            assert isinstance(spec, Mirror)
            self.assertEqual(spec.host, read_template(known), text)

    def test_forbidden(self) -> None:
        """Where no tenant may lead, it is told, and no copy goes there whatever its host means later."""
        for target in ("http://127.0.0.1/", "http://169.254.169.254/latest", "http://[::1]:8080/"):
            _, ((reason, message),) = self.translated(mirror_target=target)
            self.assertEqual(reason, Reason.INVALID_ANNOTATION)
            self.assertIn("nothing is mirrored", message)

    def test_allowed(self) -> None:
        """The operator says which hosts there may be; one that is named in full may be anywhere."""
        allowed = parse_targets("mirror.test, 127.0.0.1, 10.0.0.0/8")
        options = evolve(OPTIONS, operators=operator_settings((MIRRORS, MirrorSettings(allowed=allowed))))
        for host, leave in (
            ("mirror.test", Leave(is_trusted=True)),
            ("127.0.0.1", Leave(is_trusted=True)),
            ("other.test", Leave(within=("10.0.0.0/8",))),
        ):
            route, told = self.translated(options, mirror_target=f"http://{host}")
            (spec,) = route.filters
            assert isinstance(spec, Mirror)
            self.assertEqual((spec.leave, told), (leave, []))
        narrow = evolve(
            OPTIONS,
            operators=operator_settings((MIRRORS, MirrorSettings(allowed=parse_targets("mirror.test")))),
        )
        route, ((_, message),) = self.translated(narrow, mirror_target="http://other.test")
        self.assertEqual(route.filters, ())
        self.assertIn("not among what --mirror-target-allow names", message)

    def test_nothing_to_mirror_to(self) -> None:
        """The others alone are noted, and a target that cannot be read mirrors nothing."""
        route, told = self.translated(mirror_host="a.test", mirror_request_body="on")
        self.assertEqual((route.filters, [reason for reason, _ in told]), ((), [Reason.ANNOTATION_NOTE] * 2))
        route, ((reason, _),) = self.translated(mirror_target="mirror.test")
        self.assertEqual((route.filters, reason), ((), Reason.INVALID_ANNOTATION))


class NoFlow:
    """The pace of a body, which a mirror never sets."""

    def pause(self) -> None:
        raise AssertionError("a mirror has nobody wait")

    def resume(self) -> None:
        raise AssertionError("a mirror has nobody wait")


class Refusing(FakeServices):
    """Services that send nothing."""

    def tell(self, request: SubRequest) -> None:
        """Refuse it."""
        raise ValueError("no method to ask by")


class CopyTests(SynchronousTestCase):
    """What a mirror is told."""

    def setUp(self) -> None:
        """Have nobody listen."""
        self.services = FakeServices()

    def copies(self, facts: Any, *pieces: bytes, ended: bool = True, **spec: Any) -> list[SubRequest]:
        """Return what is told of a request whose body comes in these pieces."""
        live = Mirror("http://mirror.test", **spec).make(self.services)
        self.assertIsNone(live.on_request(facts))
        flow: BodyFlow = NoFlow()
        stage: BodyStage | None = live.on_request_body(facts, flow) if pieces else None
        if stage is not None:
            for piece in pieces:
                stage.feed(piece)
            if ended:
                stage.finish()
        return self.services.told

    def test_head(self) -> None:
        """A copy has method, target and fields of the request, and those of the proxy's own."""
        facts = FakeFacts(
            method=b"DELETE", target=b"/a?b", fields={b"cookie": b"c"}, proxys_lines=b"X-Request-ID: 7\r\n"
        )
        (copy,) = self.copies(facts, host=read_template("other.test"))
        self.assertEqual(
            (copy.url, copy.target, copy.authority, copy.method, copy.lines, copy.body, copy.seconds, copy.verifies),
            ("http://mirror.test", b"/a?b", b"other.test", b"DELETE", b"cookie: c\r\nX-Request-ID: 7\r\n", b"", SECONDS, False),
        )  # fmt: skip
        self.assertFalse(copy.is_trusted or copy.wants_body)

    def test_targets(self) -> None:
        """What the request brings into the target stays a target."""
        facts = FakeFacts(target=b"/a", host=b"shop.test", fields={b"x-a": b"b c\td"})
        (copy,) = self.copies(facts, target=read_template("/in?h=$host&a=$http_x_a"))
        self.assertEqual(copy.target, b"/in?h=shop.test&a=b%20c%09d")

    def test_hosts(self) -> None:
        """The host of the request is what ``Host`` says; where it makes none with what is beside it, that of the target is."""
        for text, host, said in (
            ("$host", b"shop.test", b"shop.test"),
            ("$host", b"[::1]", b"[::1]"),
            ("$host", b"", b""),
            ("shadow.$host:81", b"shop.test", b"shadow.shop.test:81"),
            ("shadow.$host:81", b"[::1]", b""),
            ("shadow.$host", b"", b""),
            ("shadow.$host", b".".join([b"a" * 62] * 4), b""),
        ):
            *_, copy = self.copies(FakeFacts(host=host), host=read_template(text))
            self.assertEqual(copy.authority, said, (text, host))

    def test_body(self) -> None:
        """A body is copied once it is whole."""
        facts = FakeFacts(method=b"POST", is_body_whole=False)
        self.assertEqual([copy.body for copy in self.copies(facts, b"ab", b"", b"cd")], [b"abcd"])
        self.assertEqual(len(self.copies(FakeFacts(is_body_whole=False), b"ab", ended=False)), 1)

    def test_held(self) -> None:
        """A body that another filter holds is copied once, too."""
        facts = FakeFacts(method=b"POST", body=b"abcd", is_body_whole=True)
        self.assertEqual([copy.body for copy in self.copies(facts, b"abcd")], [b"abcd"])

    def test_long(self) -> None:
        """A request with a longer body is not copied, which is counted once."""
        for pieces in ([b"x" * 1024] * (MOST_BYTES // 1024 + 2), [b"x" * (MOST_BYTES + 1), b"x"]):
            self.services = FakeServices()
            facts = FakeFacts(method=b"POST", is_body_whole=False)
            self.assertEqual(self.copies(facts, *pieces), [])
            self.assertEqual(self.services.counted, ["too-long"])

    def test_without_body(self) -> None:
        """Where bodies are not wanted, a copy has none, and goes at once."""
        facts = FakeFacts(method=b"POST", is_body_whole=False)
        self.assertEqual([copy.body for copy in self.copies(facts, b"ab", sends_body=False)], [None])

    def test_not_sent(self) -> None:
        """A request of which no copy can be made is counted, and goes on."""

        self.services = Refusing()
        self.assertEqual(self.copies(FakeFacts(method=b"TRACE")), [])
        self.assertEqual(self.services.counted, ["not-sent"])

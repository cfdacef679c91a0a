"""Error pages of the default backend, from the annotations of an Ingress to routes and filters."""

from __future__ import annotations

from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

from attrs import evolve
from twisted.internet.defer import Deferred, fail, succeed
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.answers.custom_errors import (
    CUSTOM_ERRORS,
    MOST_AT_ONCE,
    MOST_BYTES,
    SECONDS,
    CustomErrors,
    CustomErrorSettings,
    StandingIn,
    parse_codes,
    parse_service,
)
from ingress.annotations.contract.values import ValueRefused
from ingress.filters import Filter, Reply, SubAnswer, SubRequest, SubRequestFailed
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.state import ClusterState
from ingress.model.upstream.backends import BackendReference, Endpoint
from ingress.routing.variants import WeightedBackend
from ingress.translate.incremental import Translation
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices
from tests.operator_settings import operator_settings
from tests.translate.golden import read_state
from tests.workers.sent import sent

OWN = BackendReference("demo", "errors")
OPERATORS = BackendReference("ops", "pages", 80)
OPTIONS = TranslateOptions(default_backend_service=OPERATORS)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ABOUT = (
    (b"X-Namespace", b"demo"),
    (b"X-Ingress-Name", b"shop"),
    (b"X-Service-Name", b"web"),
    (b"X-Service-Port", b"80"),
)

INGRESS = """
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
  namespace: {namespace}
  creationTimestamp: "2026-01-0{age}T00:00:00Z"
  annotations: {{{annotations}}}
spec:
  ingressClassName: nginx
  rules:
  - host: a.test
    http:
      paths:
      - {{path: {path}, pathType: Prefix, backend: {{service: {{name: web, port: {{number: 80}}}}}}}}
"""
SERVICE = """
apiVersion: v1
kind: Service
metadata: {{name: {name}, namespace: {namespace}}}
spec: {{ports: [{{port: 80}}, {{port: 81}}]}}
"""
SLICE = """
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {{name: {name}-1, namespace: {namespace}, labels: {{kubernetes.io/service-name: {name}}}}}
addressType: IPv4
ports: [{{port: 8080}}]
endpoints: [{{addresses: [{address}]}}]
"""


def ingress(
    name: str = "shop", namespace: str = "demo", path: str = "/shop", age: int = 1, **annotations: str
) -> str:
    """Return an Ingress; in the names of annotations an underscore stands for a dash."""
    written = ", ".join(
        f"nginx.ingress.kubernetes.io/{key.replace('_', '-')}: {value!r}"
        for key, value in annotations.items()
    )
    return INGRESS.format(name=name, namespace=namespace, path=path, age=age, annotations=written)


def service(name: str, namespace: str = "demo", address: str = "10.0.0.9") -> str:
    """Return a Service with an endpoint."""
    return "---".join(one.format(name=name, namespace=namespace, address=address) for one in (SERVICE, SLICE))


def state_of(*documents: str) -> ClusterState:
    """Return what these manifests come to."""
    return read_state("---".join(documents))


class ValueTests(SynchronousTestCase):
    """What the values may be."""

    def test_codes(self) -> None:
        """Statuses stand in any order, with or without blanks, as often as one likes."""
        for text, codes in (
            ("404", (404,)),
            ("503,404", (404, 503)),
            (" 404, 503 ,404,", (404, 503)),
            ("418", (418,)),
            ("300,599", (300, 599)),
            ("", ()),
        ):
            self.assertEqual(parse_codes(text), codes)

    def test_no_codes(self) -> None:
        """What replaces no error, or is no status, is refused, and the message has the word."""
        for text in (
            "200",
            "99",
            "600",
            "5xx",
            "404 503",
            "404;503",
            "not found",
            "-404",
            "4e2",
            "\u0664\u0660\u0664",
            "404\r\nX: y",
        ):
            refusal = self.assertRaises(ValueRefused, parse_codes, text)
            self.assertIn("no status from 300 to 599", str(refusal))
        self.assertRaises(ValueRefused, parse_codes, "404," * 100_000)

    def test_services(self) -> None:
        """A Service is named alone: it is of the own namespace, and its first port is asked."""
        self.assertEqual(parse_service(" error-pages "), "error-pages")
        for text in (
            "",
            "ops/errors",
            "errors:80",
            "Errors",
            "a.b",
            "-a",
            "a-",
            "a" * 64,
            "a\n",
            "http://a",
            "$a",
            "\u00e4",
        ):
            if text.strip() != "a":
                self.assertRaises(ValueRefused, parse_service, text)


class RouteTests(SynchronousTestCase):
    """From objects to routes."""

    def snapshot(self, *documents: str, options: TranslateOptions = OPTIONS) -> Snapshot:
        """Translate these."""
        return translate(state_of(*documents), options, NOW)

    def spec_of(self, found: Snapshot) -> CustomErrors:
        """Return what replaces errors of the one route of an Ingress."""
        (route,) = [one for one in found.table.routes if one.owner is not None]
        (spec,) = [one for one in route.filters if isinstance(one, CustomErrors)]
        return spec

    def test_asked(self) -> None:
        """The Service of the Ingress is asked first, then the operator's, and both are found as backends are."""
        found = self.snapshot(
            ingress(custom_http_errors="404,503", default_backend="errors"),
            service("web"), service("errors", address="10.0.0.7"), service("pages", "ops", "10.0.0.8"),
        )  # fmt: skip
        self.assertEqual(self.spec_of(found), CustomErrors((404, 503), (OWN, OPERATORS), False, ABOUT))
        (route,) = [one for one in found.table.routes if one.owner is not None]
        self.assertEqual(route.beside, (OWN, OPERATORS))
        self.assertEqual(route.stand_in, WeightedBackend(OWN, filters=(StandingIn(ABOUT),)))
        self.assertEqual(found.backends[OWN].endpoints, (Endpoint("10.0.0.7", 8080),))
        self.assertEqual(found.problems, ())
        self.assertEqual(sent(found).table.routes, found.table.routes)

    def test_operators_alone(self) -> None:
        """Without a Service of its own an Ingress has the operator's asked, which stands in for nobody."""
        found = self.snapshot(ingress(custom_http_errors="404"), service("web"), service("pages", "ops"))
        (route,) = [one for one in found.table.routes if one.owner is not None]
        self.assertEqual((self.spec_of(found).backends, route.stand_in), ((OPERATORS,), None))

    def test_nobody(self) -> None:
        """Where there is no default backend at all, errors are replaced by the status alone."""
        found = self.snapshot(ingress(custom_http_errors="404"), service("web"), options=TranslateOptions())
        self.assertEqual(self.spec_of(found).backends, ())
        self.assertEqual(found.problems, ())

    def test_default_backend_alone(self) -> None:
        """A default backend without statuses stands in, and replaces nothing."""
        found = self.snapshot(ingress(default_backend="errors"), service("web"), service("errors"))
        (route,) = [one for one in found.table.routes if one.owner is not None]
        self.assertEqual((route.beside, route.filters), ((OWN,), ()))
        self.assertIsNotNone(route.stand_in)

    def test_missing(self) -> None:
        """A Service that is not there is a problem of the annotation that names it."""
        found = self.snapshot(ingress(default_backend="errors"), service("web"), service("pages", "ops"))
        (problem,) = found.problems
        self.assertEqual(
            (problem.reason, problem.field, problem.message),
            (
                Reason.SERVICE_NOT_FOUND,
                "metadata.annotations[nginx.ingress.kubernetes.io/default-backend]",
                "there is no Service demo/errors",
            ),
        )

    def test_refused(self) -> None:
        """Statuses that are none, and Services of others, are told; nothing of them holds."""
        found = self.snapshot(
            ingress(custom_http_errors="404,99", default_backend="ops/pages"),
            service("web"),
            service("pages", "ops"),
        )
        self.assertEqual([one.reason for one in found.problems], [Reason.INVALID_ANNOTATION] * 2)
        (route,) = [one for one in found.table.routes if one.owner is not None]
        self.assertEqual((route.beside, route.stand_in, route.filters), ((), None, ()))

    def test_operators_say(self) -> None:
        """The operator may have statuses replaced for all Ingresses, and each may say otherwise."""
        options = evolve(
            OPTIONS, operators=operator_settings((CUSTOM_ERRORS, CustomErrorSettings(codes=(502,))))
        )
        cases: list[tuple[dict[str, Any], list[tuple[int, ...]]]] = [
            ({}, [(502,)]),
            ({"custom_http_errors": "404"}, [(404,)]),
            ({"enable_custom_http_errors": "false"}, []),
        ]
        for written, codes in cases:
            found = self.snapshot(
                ingress(**written), service("web"), service("pages", "ops"), options=options
            )
            (route,) = [one for one in found.table.routes if one.owner is not None]
            replaced = [one.codes for one in route.filters if isinstance(one, CustomErrors)]
            self.assertEqual(replaced, codes)

    def test_unmatched(self) -> None:
        """What no path takes has the error page of the Ingress that the host belongs to, and of no other."""
        found = self.snapshot(
            ingress("shop", custom_http_errors="404", default_backend="errors", age=1),
            ingress("late", "other", "/late", age=2, custom_http_errors="404,500", default_backend="errors"),
            service("web"), service("errors"), service("web", "other"), service("errors", "other"),
            options=TranslateOptions(),
        )  # fmt: skip
        about = ABOUT[:2]
        self.assertEqual(found.table.host_filters(b"a.test"), (CustomErrors((404,), (OWN,), False, about),))

    def test_hosts_of_nobody(self) -> None:
        """The operator's statuses hold for what its default backend gets of hosts that no rule names; of others their Ingresses say."""
        options = evolve(
            OPTIONS, operators=operator_settings((CUSTOM_ERRORS, CustomErrorSettings(codes=(404,))))
        )
        replacing = CustomErrors((404,), (OPERATORS,))
        cases: list[tuple[dict[str, Any], tuple[CustomErrors, ...]]] = [
            ({}, (evolve(replacing, about=ABOUT[:2]),)),
            ({"custom_http_errors": "500"}, (evolve(replacing, codes=(500,), about=ABOUT[:2]),)),
            ({"enable_custom_http_errors": "false"}, ()),
        ]
        for written, of_host in cases:
            found = self.snapshot(
                ingress(**written), service("web"), service("pages", "ops"), options=options
            )
            filters = {route.host: route.filters for route in found.table.routes if route.owner is None}
            self.assertEqual(filters, {"": (replacing,), "a.test": of_host})
            self.assertEqual(sent(found).table.routes, found.table.routes)

    def test_follows_changes(self) -> None:
        """A Service that comes, changes or goes changes what is found, as from scratch."""
        before = [ingress(custom_http_errors="404", default_backend="errors"), service("web")]
        translation = Translation(OPTIONS)
        state = state_of(*before)
        translation.mark_everything(state)
        for _ in translation.round(state, NOW):
            pass
        for documents in (
            [*before, service("errors", address="10.0.0.7")],
            [*before, service("errors", address="10.0.0.6")],
            before,
            [ingress(), service("web")],
        ):
            state = state_of(*documents)
            key = ObjectKey("demo", "errors")
            marks: list[ObjectId] = [(Kind.SERVICE, key), (Kind.INGRESS, ObjectKey("demo", "shop"))]
            translation.mark(marks)
            translation.endpoints_changed([key])
            translation.refresh(state)
            for _ in translation.round(state, NOW):
                pass
            found, expected = translation.snapshot, translate(state, OPTIONS, NOW)
            assert found is not None
            self.assertEqual(dict(found.backends), dict(expected.backends))
            self.assertEqual(tuple(found.problems), expected.problems)
            self.assertEqual(found.table.routes, expected.table.routes)

    def test_closed(self) -> None:
        """What is closed for a missing guard asks no Service for a page, whether that guard is refused or not honored."""
        open_one = ingress(custom_http_errors="503", default_backend="web")
        for closing in ("enable-modsecurity: 'true'", "whitelist-source-range: 'x'", ""):
            closed = f", nginx.ingress.kubernetes.io/{closing}" if closing else ""
            found = self.snapshot(
                open_one.replace("default-backend: 'web'", f"default-backend: 'web'{closed}"), service("web")
            )
            (route,) = [one for one in found.table.routes if one.owner is not None]
            kinds = {type(one) for one in route.filters}
            self.assertEqual((GuardMissing in kinds, CustomErrors in kinds), (bool(closed), not closed))


class ReplacingTests(SynchronousTestCase):
    """What the live filter asks and answers."""

    def setUp(self) -> None:
        """Have a default backend that answers as the test says."""
        self.asked: list[SubRequest] = []
        self.answers: list[SubAnswer | Exception | None] = []
        self.waiting: list[Deferred[SubAnswer]] = []
        self.services = FakeServices(answer=self.answer)

    def answer(self, request: SubRequest) -> Deferred[SubAnswer]:
        """Answer the next one; None has it wait."""
        self.asked.append(request)
        answer = self.answers.pop(0)
        if answer is None:
            self.waiting.append(Deferred())
            return self.waiting[-1]
        return fail(answer) if isinstance(answer, Exception) else succeed(answer)

    def live(self, *backends: BackendReference, keeps_answers: bool = False) -> Filter:
        """Return the filter."""
        return CustomErrors((401, 404, 503), backends or (OWN,), keeps_answers, ABOUT).make(self.services)

    def replaced(self, live: Filter, edit: FakeEdit, facts: FakeFacts | None = None) -> Any:
        """Return what comes in place of an answer."""
        verdict = live.on_answer(facts or FakeFacts(), edit)
        return (
            self.successResultOf(Deferred.fromCoroutine(verdict))
            if isinstance(verdict, Coroutine)
            else verdict
        )

    def test_told(self) -> None:
        """The default backend is told what happened, to whom, and what the client would like."""
        self.answers = [SubAnswer(404, ((b"Content-Type", b"text/html"),), b"<p>")]
        facts = FakeFacts(
            method=b"POST", target=b"/a?b", id=b"id7", client=b"192.0.2.7",
            fields={b"host": b"shop.test:8080", b"accept": b"text/html", b"cookie": b"c=d", b"range": b"bytes=0-1"},
        )  # fmt: skip
        reply = self.replaced(self.live(), FakeEdit(404), facts)
        self.assertEqual(reply, Reply(404, ((b"Content-Type", b"text/html"),), b"<p>"))
        (request,) = self.asked
        self.assertEqual(
            (request.url, request.target, request.authority, request.method, request.body, request.backend),
            ("http://errors", b"/?b", b"shop.test:8080", b"GET", b"", OWN),
        )
        self.assertEqual((request.max_bytes, request.seconds), (MOST_BYTES, SECONDS))
        expected = {
            b"X-Code": b"404", b"X-Format": b"text/html", b"X-Original-URI": b"/a?b", b"X-Request-ID": b"id7",
            b"X-Forwarded-For": b"192.0.2.7", b"accept": b"text/html", b"cookie": b"c=d", **dict(ABOUT),
        }  # fmt: skip
        self.assertEqual(dict(request.fields), expected)

    def test_what_comes(self) -> None:
        """Its status and its fields go on, but for those that every reply of ours has by itself."""
        fields = (
            (b"Set-Cookie", b"a=b"),
            (b"set-cookie", b"c=d"),
            (b"Date", b"x"),
            (b"Content-Length", b"1"),
            (b"Trailer", b"x"),
        )
        for status in (200, 302, 410, 500, 503):
            self.answers = [SubAnswer(status, fields, b"1")]
            reply = self.replaced(self.live(), FakeEdit(404))
            self.assertEqual(reply, Reply(status, fields[:2], b"1"))

    def test_challenge(self) -> None:
        """Challenges to clients stay, all of them, unless the default backend has one of its own."""
        edit = FakeEdit(401, fields=[(b"WWW-Authenticate", b"Negotiate"), (b"www-authenticate", b"Basic")])
        self.answers = [
            SubAnswer(401), SubAnswer(401, ((b"www-authenticate", b"Digest"),)), SubAnswer(200), SubRequestFailed("no")
        ]  # fmt: skip
        found = [self.replaced(self.live(), edit) for _ in range(4)]
        challenges = [
            [value for name, value in reply.fields if name.lower() == b"www-authenticate"] for reply in found
        ]
        both = [b"Negotiate", b"Basic"]
        self.assertEqual(challenges, [both, [b"Digest"], [], both])

    def test_left_alone(self) -> None:
        """Other statuses stay, and so do answers to gRPC; answers of endpoints do where that is asked."""
        grpc = FakeFacts(fields={b"content-type": b"application/grpc+proto"})
        for edit, facts, keeps in (
            (FakeEdit(200), FakeFacts(), False),
            (FakeEdit(500, is_ours=True), FakeFacts(), False),
            (FakeEdit(404), grpc, False),
            # Upper and lower case mean the same in a media type (RFC 9110 section 8.3.1).
            (FakeEdit(404), FakeFacts(fields={b"content-type": b"Application/gRPC"}), False),
            (FakeEdit(404), FakeFacts(), True),
        ):
            self.assertIsNone(self.replaced(self.live(keeps_answers=keeps), edit, facts))
        self.answers = [SubAnswer(404)]
        self.assertIsNotNone(self.replaced(self.live(keeps_answers=True), FakeEdit(404, is_ours=True)))

    def test_failing(self) -> None:
        """If the first cannot be asked the next one is; if nobody answers, the client gets the status alone."""
        self.answers = [SubRequestFailed("no endpoint"), SubAnswer(404, (), b"theirs")]
        self.assertEqual(self.replaced(self.live(OWN, OPERATORS), FakeEdit(404)).body, b"theirs")
        self.answers = [SubRequestFailed("no endpoint"), SubAnswer(700)]
        reply = self.replaced(self.live(OWN, OPERATORS), FakeEdit(404))
        self.assertEqual((reply.status, reply.body), (404, b"404 Not Found\n"))
        self.assertEqual(self.services.counted, ["replaced", "failed"])

    def test_time(self) -> None:
        """The time is for all of them together."""
        live = self.live(OWN, OPERATORS)
        self.answers = [None, SubAnswer(404)]
        verdict = live.on_answer(FakeFacts(), FakeEdit(404))
        assert isinstance(verdict, Coroutine)
        coming = Deferred.fromCoroutine(verdict)
        self.services.clock.clock.advance(4)
        self.waiting[0].errback(SubRequestFailed("no endpoint"))
        self.successResultOf(coming)
        self.assertEqual([request.seconds for request in self.asked], [SECONDS, SECONDS - 4])

    def test_many(self) -> None:
        """So many at once are asked for; the others get the status alone, until some have come or nobody wants them."""
        live = self.live()
        self.answers = [None] * (MOST_AT_ONCE + 1)
        coming = []
        for _ in range(MOST_AT_ONCE):
            verdict = live.on_answer(FakeFacts(), FakeEdit(503))
            assert isinstance(verdict, Coroutine)
            coming.append(Deferred.fromCoroutine(verdict))
        self.assertEqual(self.replaced(live, FakeEdit(503)).body, b"503 Service Unavailable\n")
        coming[0].addErrback(lambda failure: None)
        coming[0].cancel()
        verdict = live.on_answer(FakeFacts(), FakeEdit(503))
        assert isinstance(verdict, Coroutine)
        Deferred.fromCoroutine(verdict)
        self.assertEqual(len(self.asked), MOST_AT_ONCE + 1)
        self.assertEqual(self.services.counted, ["busy"])

    def test_hostile_hosts(self) -> None:
        """A host that no URL can name costs the error page, and nothing else."""
        self.services.answer = lambda request: fail(ValueError("no URL"))
        reply = self.replaced(self.live(), FakeEdit(404), FakeFacts(host=b"\xff"))
        self.assertEqual(reply.status, 404)

    def test_standing_in(self) -> None:
        """Who stands in is told for whom, over whatever the client says."""
        edit = FakeEdit(fields=[(b"x-code", b"200")])
        facts = FakeFacts(fields={b"accept": b"image/png"})
        StandingIn(ABOUT).make(self.services).on_upstream(facts, edit)
        self.assertEqual(edit.fields, [(b"X-Code", b"503"), *ABOUT, (b"X-Format", b"image/png")])

    def test_answer_of_who_stands_in(self) -> None:
        """Its answer stays, whatever the status; a reply of ours in its place is replaced as ever."""
        facts = FakeFacts()
        StandingIn(ABOUT).make(self.services).on_upstream(facts, FakeEdit())
        self.assertIsNone(self.replaced(self.live(), FakeEdit(503), facts))
        self.answers = [SubAnswer(503, (), b"page")]
        self.assertEqual(self.replaced(self.live(), FakeEdit(503, is_ours=True), facts).body, b"page")

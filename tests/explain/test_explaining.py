"""What is explained beyond routes: handshakes, who the client is, and filters of whatever kind."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from attrs import evolve, field, frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.firewall.filters import InspectRequests
from ingress.annotations.upstream.fastcgi import OWN_VARIABLES, FastCgiParams
from ingress.explain.asked_request import read_asked
from ingress.explain.explaining import explain
from ingress.explain.explanation import End, Explanation, Says
from ingress.explain.served import Served
from ingress.filters import (
    AnswerEdit,
    Facts,
    Filter,
    FilterSpec,
    Phase,
    Reply,
    RequestEdit,
    Scope,
    Services,
    SubAnswer,
    SubRequest,
    SubRequestFailed,
)
from ingress.identity.certificates import CertificateTable
from ingress.identity.key_pairs import load_certificate
from ingress.identity.server_names import HandshakeSettings, HandshakeSettingsTable
from ingress.model.cluster.objects import Kind, ObjectKey, Owner, Secret
from ingress.model.exchanges.firewall import RuleSet
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.model.requests.templates import read_template
from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable
from ingress.routing.variants import WeightedBackend
from ingress.translate.snapshot import Snapshot
from tests.translate.golden import issued

NOW = datetime(2026, 7, 1, tzinfo=UTC)
OWNER = Owner(Kind.INGRESS, ObjectKey("web", "shop"))
BACKEND = BackendReference("web", "shop", 80)
OTHER = BackendReference("web", "other", 443)
STATES = {BACKEND: BackendState((Endpoint("10.0.0.1", 80),)), OTHER: BackendState(reason="nobody is there")}


@frozen
class Made:
    """A spec whose filter a test makes."""

    maker: Callable[[Services], Filter] = field(hash=False, eq=id)
    name: str = "made"
    phase: Phase = Phase.ACCESS

    def describe(self) -> str:
        """Say that it is one of a test."""
        return "does what a test wants"

    def make(self, services: Services) -> Filter:
        """Make it."""
        return self.maker(services)


def snapshot(*filters: FilterSpec, host_filters: tuple[FilterSpec, ...] = (), **more: Any) -> Snapshot:
    """Return a snapshot of one host with one path, whose route has *filters*."""
    route = Route("a.test", "/x", Match.PREFIX, OWNER, BACKEND, filters=filters)
    table = RouteTable().patched({"a.test": HostRoutes((route,), host_filters)})
    return Snapshot(table, STATES, **more)


def explained(
    served: Snapshot,
    url: str = "http://a.test/x",
    *headers: str,
    client: str = "10.0.0.9",
    method: str = "GET",
) -> Explanation:
    """Return the explanation by *served*."""
    return explain(read_asked(url, method, headers, client), Served(served, NOW))


class HealthCheckTests(SynchronousTestCase):
    def test_health_check(self) -> None:
        """It is answered for a host that no rule names, and goes where the rule says for another."""
        found = explained(snapshot(), "http://10.0.0.1/healthz").outcome
        self.assertEqual((found.status, found.is_taken), (200, True))
        self.assertIn("health check", found.sentence)
        self.assertEqual(explained(snapshot(), "http://a.test/healthz").outcome.status, 404)


class HandshakeTests(SynchronousTestCase):
    def certificates(self, *names: str, ends: timedelta = timedelta(days=10)) -> CertificateTable:
        """Return a table with one certificate for *names*, shown for ``a.test``."""
        content = issued(names, NOW - timedelta(days=1), NOW + ends)
        one = load_certificate(Secret(ObjectKey("web", "cert"), "kubernetes.io/tls", content))
        return CertificateTable(exact={"a.test": (one,)})

    def test_the_certificate_is_that_of_the_server_name(self) -> None:
        """With its Secret, its names, its end, and whether clients take it."""
        found = explained(snapshot(certificates=self.certificates("a.test")), "https://A.test/x").handshake
        assert found is not None
        (shown,) = found.certificates
        self.assertEqual(
            (shown.secret, shown.names, shown.not_after),
            ("web/cert", ("a.test",), "2026-07-11T00:00:00.000Z"),
        )
        self.assertTrue(shown.covers)
        for table in (self.certificates("b.test"), self.certificates("a.test", ends=-timedelta(hours=1))):
            found = explained(snapshot(certificates=table), "https://a.test/x").handshake
            assert found is not None
            self.assertFalse(found.certificates[0].covers)

    def test_an_address_names_no_server(self) -> None:
        """Then the default certificate is shown, and nothing passes through."""
        found = explained(snapshot(certificates=self.certificates("a.test")), "https://[::1]/x").handshake
        assert found is not None
        self.assertEqual((found.server_name, found.certificates), ("", ()))

    def test_strict_sni_closes_for_names_of_nobody(self) -> None:
        """The handshake is refused, and no request is looked at."""
        serving = ServingSettings(strict_sni=True)
        found = explained(snapshot(serving=serving), "https://b.test/x")
        self.assertEqual((found.outcome.end, found.outcome.is_taken), (End.CLOSED, False))
        self.assertIn("--strict-sni", found.outcome.sentence)

    def test_passthrough_is_neither_read_nor_filtered(self) -> None:
        """The connection goes to an endpoint as it is, or is closed where there is none."""
        for backend, end in ((BACKEND, End.PASSED_THROUGH), (OTHER, End.CLOSED)):
            route = Route("a.test", "/", Match.PREFIX, OWNER, BACKEND, passthrough=backend)
            found = explained(Snapshot(RouteTable([route]), STATES), "https://a.test/%2f")
            self.assertIs(found.outcome.end, end)
            assert found.handshake is not None
            self.assertEqual(found.handshake.passthrough, str(backend))

    def test_a_host_of_another_handshake_is_421(self) -> None:
        """Where it asks for client certificates that the server name did not ask for."""
        asks = HandshakeSettings(client_authentication=ClientAuthentication("Secret web/ca", b"x"))
        table = HandshakeSettingsTable({"b.test": asks})
        found = explained(snapshot(handshake_settings=table), "https://a.test/x", "Host: b.test")
        self.assertEqual(found.outcome.status, 421)
        self.assertFalse(found.outcome.is_taken)
        asked = explained(snapshot(handshake_settings=table), "https://b.test/x").handshake
        assert asked is not None
        self.assertIn("Secret web/ca", asked.client_certificate)


class ClientTests(SynchronousTestCase):
    def test_a_trusted_proxy_says_who_the_client_is(self) -> None:
        """And no other peer does; schemes alike."""
        serving = ServingSettings(trusted_proxies=("10.0.0.0/8",))
        fields = ("X-Forwarded-For: 192.0.2.77", "X-Forwarded-Proto: https")
        for client, seen in (("10.0.0.9", "192.0.2.77"), ("11.0.0.9", "11.0.0.9")):
            found = explained(snapshot(serving=serving), "http://a.test/x", *fields, client=client)
            self.assertEqual(found.request.client_seen, seen)

    def test_a_trusted_proxy_says_the_host(self) -> None:
        """Where that is wanted, endpoints get it."""
        for takes_host, host in ((False, "a.test"), (True, "www.test:8443")):
            serving = ServingSettings(trusted_proxies=("10.0.0.0/8",), forwarded_host=takes_host)
            fields = ("X-Forwarded-Host: www.test:8443",)
            found = explained(snapshot(serving=serving), "http://a.test/x", *fields, client="10.0.0.9")
            assert found.upstream is not None
            self.assertEqual(found.upstream.authority, host)

    def test_filters_of_the_operator_stand_before_all(self) -> None:
        """Also where no route takes the request."""
        everything = (spec(lambda facts: Reply(451), "refuser"),)
        for url in ("http://a.test/x", "http://b.test/"):
            found = explain(read_asked(url, "GET", (), "::1"), Served(snapshot(), NOW, everything))
            self.assertEqual((found.outcome.status, found.outcome.by), (451, "refuser"))


def spec(
    on_request: Callable[[Facts], object], name: str = "asked", phase: Phase = Phase.ACCESS
) -> FilterSpec:
    """Return the spec of a filter with this hook."""

    class Asked(Filter):
        def __init__(self, services: Services) -> None: ...

        def on_request(self, facts: Facts) -> Reply | Awaitable[Reply | None] | None:
            return cast("Reply", on_request(facts))

    return Made(Asked, name, phase)


class FilterTests(SynchronousTestCase):
    def only(self, found: Explanation) -> tuple[Says, str]:
        """Return what the one filter says."""
        (one,) = found.filters
        return one.says, one.sentence

    def test_a_filter_that_raises_is_a_500_by_its_name(self) -> None:
        """In its hook, in what it returns, or while it is made."""

        def broken(facts: Facts) -> object:
            raise RuntimeError("broken")

        for on_request in (broken, lambda facts: 7, lambda facts: Reply(99)):
            found = explained(snapshot(spec(on_request)))
            self.assertEqual((found.outcome.status, found.outcome.by), (500, "asked"))
            self.assertIs(self.only(found)[0], Says.FAILS)

        def make(services: Services) -> Filter:
            raise RuntimeError("not made")

        found = explained(snapshot(Made(make)))
        self.assertEqual(found.outcome.status, 500)
        self.assertIn("not made", self.only(found)[1])

    def test_a_filter_is_asked_about_its_schemes_and_methods_alone(self) -> None:
        """As in the proxy: of others it is told that it is not asked."""

        class Clear(Filter):
            asked_methods, asked_schemes = frozenset({b"GET"}), frozenset({b"http"})

            def on_request(self, facts: Facts) -> Reply | None:
                return Reply(451)

        served = snapshot(Made(lambda services: Clear()))
        for url, method, status in (
            ("http://a.test/x", "GET", 451),
            ("http://a.test/x", "HEAD", None),
            ("https://a.test/x", "GET", None),
        ):
            found = explained(served, url, method=method)
            self.assertEqual(found.outcome.status, status, url)
            if status is None:
                sentence = f"is not asked about {method} by {url.partition(':')[0]}"
                self.assertEqual(self.only(found), (Says.NOT_ASKED, sentence))

    def test_params_of_fastcgi_are_shown_but_for_secrets(self) -> None:
        """What an endpoint of FastCGI is told is there, and what depends on a body that nobody sends."""
        own = (
            (b"DB_PASSWORD", read_template("geheim")),
            (b"SCRIPT", read_template("/app$uri", own=OWN_VARIABLES)),
        )
        served = snapshot(FastCgiParams("index.php", own))
        found = explained(served)
        (filter_,) = found.filters
        self.assertIs(filter_.says, Says.PASSES)
        self.assertIn("tells SCRIPT=/app/x", filter_.changes)
        self.assertIn("tells REQUEST_METHOD=GET", filter_.changes)
        self.assertIn("tells DB_PASSWORD=(not shown)", filter_.changes)
        chunked = explained(served, "http://a.test/x", "Transfer-Encoding: chunked", method="POST")
        self.assertIs(self.only(chunked)[0], Says.DEPENDS)
        self.assertIn("has at most 1048576 bytes", self.only(chunked)[1])

    def test_a_coroutine_is_run_up_to_what_it_waits_for(self) -> None:
        """One that waits for nothing has decided; of another its question is told, and it is closed."""

        async def at_once(facts: Facts) -> Reply | None:
            return Reply(410)

        self.assertEqual(explained(snapshot(spec(at_once))).outcome.status, 410)
        closed: list[str] = []

        class Waits(Filter):
            def __init__(self, services: Services) -> None:
                self._services = services

            async def on_request(self, facts: Facts) -> Reply | None:
                try:
                    await self._services.ask(SubRequest("http://judge.test/x"))
                finally:
                    closed.append("closed")
                return Reply(500)

        found = explained(snapshot(Made(Waits)))
        self.assertEqual((found.outcome.end, closed), (End.SENT, ["closed"]))
        self.assertEqual(
            found.outcome.conditions, ("made asks GET http://judge.test/x, and goes by the answer",)
        )

    def test_each_answer_of_another_service_is_tried_on_the_filter_itself(self) -> None:
        """What lets it pass comes last, so that the rest goes on as if it had been said."""

        class Asks(Filter):
            def __init__(self, services: Services) -> None:
                self._services = services

            def on_request(self, facts: Facts) -> Reply | Awaitable[Reply | None] | None:
                def then(heard: SubAnswer | SubRequestFailed) -> Reply | None:
                    if isinstance(heard, SubRequestFailed):
                        return Reply(502)
                    facts.notes[self] = heard.status
                    return None if heard.status == 200 else Reply(302, ((b"Location", b"/login"),))

                return self._services.ask_then(SubRequest("http://judge.test/"), then)

            def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
                edit.put(b"X-Said", str(facts.notes[self]).encode())
                edit.put(b"Authorization", b"a secret")

        found = explained(snapshot(Made(Asks)))
        (condition,) = found.outcome.conditions
        self.assertIn("if that says 200, it goes on; 401: answers 302 Found to /login", condition)
        self.assertIn("no answer: answers 502", condition)
        self.assertEqual(
            set(found.filters[0].changes), {"sends X-Said: 200", "sends Authorization: (not shown)"}
        )

    def test_a_question_that_may_not_be_asked_is_refused_as_the_proxy_refuses_it(self) -> None:
        """A URL that is none is an error of the filter."""

        class Asks(Filter):
            def __init__(self, services: Services) -> None:
                self._services = services

            def on_request(self, facts: Facts) -> Awaitable[Reply | None]:
                return self._services.ask_then(SubRequest("nonsense"), lambda heard: None)

        self.assertEqual(explained(snapshot(Made(Asks))).outcome.status, 500)

    def test_what_depends_on_other_requests_is_a_condition(self) -> None:
        """A filter that shares a count with all processes lets the first pass; nothing is kept of the question."""

        class Counts(Filter):
            def __init__(self, services: Services) -> None:
                self._seen: list[bytes] = services.state(Scope.PROCESS, "seen", list)

            def on_request(self, facts: Facts) -> Reply | None:
                self._seen.append(facts.client)
                return Reply(429) if len(self._seen) > 1 else None

        served = snapshot(Made(Counts))
        for _ in range(2):
            found = explained(served)
            self.assertIs(self.only(found)[0], Says.DEPENDS)
            self.assertEqual(found.outcome.end, End.SENT)

    def test_answers_of_our_own_pass_the_filters_that_look_at_answers(self) -> None:
        """They may change the status, replace the answer, or fail; each replaces once."""

        class Changes(Filter):
            def __init__(self, services: Services) -> None: ...

            def on_answer(self, facts: Facts, edit: AnswerEdit) -> Reply | None:
                edit.status = 410
                return None

        class Replaces(Filter):
            def __init__(self, services: Services) -> None: ...

            def on_answer(self, facts: Facts, edit: AnswerEdit) -> Reply | None:
                return Reply(302, ((b"Location", b"/sorry"),))

        class Fails(Filter):
            def __init__(self, services: Services) -> None: ...

            def on_answer(self, facts: Facts, edit: AnswerEdit) -> Reply | None:
                raise RuntimeError("broken")

        for kind, status, location in ((Changes, 410, ""), (Replaces, 302, "/sorry"), (Fails, 500, "")):
            found = explained(snapshot(host_filters=(Made(kind),)), "http://a.test/none")
            self.assertEqual((found.outcome.status, found.outcome.location), (status, location))

    def test_grpc_is_told_in_its_own_words(self) -> None:
        """The log has the status of HTTP, and so has the explanation."""
        found = explained(snapshot(), "http://a.test/none", "Content-Type: application/grpc")
        self.assertEqual(found.outcome.status, 404)

    def test_filters_behind_the_one_that_answers_are_not_asked(self) -> None:
        """They are told all the same, in their order."""
        first, second = (
            spec(lambda facts: Reply(403), "first"),
            spec(lambda facts: None, "second", Phase.ANSWER),
        )
        found = explained(snapshot(second, first))
        self.assertEqual(
            [(one.name, one.says) for one in found.filters],
            [("first", Says.ANSWERS), ("second", Says.NOT_ASKED)],
        )

    def test_a_stand_in_gets_what_its_backend_cannot(self) -> None:
        """Where that has no endpoint and the stand-in has; it brings filters of its own."""
        told = spec(lambda facts: None, "told")
        for backend, other, gets in (
            (OTHER, BACKEND, BACKEND),
            (BACKEND, OTHER, BACKEND),
            (OTHER, OTHER, None),
        ):
            stand_in = WeightedBackend(other, filters=(told,))
            route = Route("a.test", "/", Match.PREFIX, OWNER, backend, stand_in=stand_in)
            found = explained(Snapshot(RouteTable([route]), STATES))
            if gets is None:
                self.assertEqual(found.outcome.status, 503)
                continue
            (seen,) = found.backends
            self.assertEqual(seen.backend, str(gets))
            self.assertEqual(seen.stands_in_for, str(OTHER) if backend is OTHER else "")
            self.assertEqual([one.name for one in found.filters], ["told"] if backend is OTHER else [])

    def test_a_body_that_is_too_large_is_413(self) -> None:
        """By what its head says."""
        served = snapshot()
        route = evolve(served.table.routes[0], max_body_bytes=10)
        limited = Snapshot(RouteTable([route]), STATES)
        found = explained(limited, "http://a.test/x", "Content-Length: 11", method="POST")
        self.assertEqual(found.outcome.status, 413)
        self.assertEqual(
            explained(limited, "http://a.test/x", "Content-Length: 10", method="POST").outcome.end, End.SENT
        )

    def test_a_firewall_decides_by_its_rules(self) -> None:
        """Which nobody runs here, so it is a condition; and it speaks of rules, whether these refuse requests or only tell of them."""
        for blocks in (True, False):
            found = explained(snapshot(InspectRequests(RuleSet(("SecRuleEngine On",), blocks=blocks))))
            says, sentence = self.only(found)
            self.assertIs(says, Says.DEPENDS)
            self.assertIn("goes on or answers by what comes of it", sentence)
            self.assertIn("rules of ModSecurity", sentence)

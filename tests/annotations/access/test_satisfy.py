"""Tests for ``ingress.annotations.access.satisfy``."""

from collections.abc import Awaitable
from inspect import iscoroutine
from typing import Any, ClassVar

from attrs import frozen
from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.address_ranges import AddressRanges, parse_ranges
from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.access.satisfy import AnyOf
from ingress.annotations.external_auth.check import ExternalAuth
from ingress.annotations.passwords.basic_check import PasswordCheck
from ingress.filter_parts.judging import status_reply
from ingress.filters import AnswerEdit, Facts, Filter, FilterSpec, Phase, Reply, RequestEdit, Services
from ingress.model.cluster.objects import ClusterObject
from ingress.translate.options import TranslateOptions
from ingress.translate.translate import translate
from tests.annotations.passwords.test_family import basic, users
from tests.annotations.passwords.test_htpasswd import PLAIN
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices
from tests.proxy.playing import OK, ONE, ProxyCase
from tests.translate.following import NOW
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress

SIGN_IN = Reply(302, ((b"Location", b"https://login.test/"),))


@frozen
class Says:
    """Says one thing, at once or when the test wants it."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "says"

    verdict: Reply | None = None
    waits: Deferred[Reply | None] | None = None

    def describe(self) -> str:
        """Say so."""
        return "says one thing"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return Speaker(self)


class Speaker(Filter):
    """Says it, and counts; tells both sides, too."""

    def __init__(self, spec: Says) -> None:
        self.spec = spec
        self.asked = 0

    def on_request(self, facts: Facts) -> Reply | Awaitable[Reply | None] | None:
        """Say it."""
        self.asked += 1
        return self.spec.verdict if self.spec.waits is None else self.spec.waits

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        """Tell the endpoint."""
        edit.add(b"X-Told", b"%d" % self.asked)

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        """Tell the client."""
        edit.add(b"X-Said", b"%d" % self.asked)


class VerdictTests(SynchronousTestCase):
    """What comes of several verdicts."""

    def ask(self, *members: Says) -> Any:
        """Ask these; what waits is a Deferred."""
        self.live: Any = AnyOf(members).make(FakeServices())
        verdict = self.live.on_request(FakeFacts())
        return Deferred.fromCoroutine(verdict) if iscoroutine(verdict) else verdict

    def status(self, *replies: Reply | None) -> int:
        """Return the status of what comes of these, 0 for who gets in."""
        found = self.ask(*(Says(one) for one in replies))
        return 0 if found is None else int(found.status)

    def test_table(self) -> None:
        """The first who lets pass decides; where all refuse it is the way to sign in if there is one, else 401 if anybody asks for that, else 403."""
        no, asks = status_reply(403), status_reply(401)
        for replies, status in (
            ((None, no), 0),
            ((no, None), 0),
            ((no, asks, None), 0),
            ((no, no), 403),
            ((no, asks), 401),
            ((asks, no), 401),
            ((no, SIGN_IN), 302),
            ((asks, SIGN_IN), 302),
            ((SIGN_IN, asks), 302),
            ((SIGN_IN, no), 302),
            ((SIGN_IN, None), 0),
        ):
            self.assertEqual(self.status(*replies), status, replies)

    def test_failures_end_it(self) -> None:
        """A member that fails, or is too busy, is no refusal: nobody else is asked, and nobody gets in by that."""
        for status in (500, 503, 429):
            self.assertEqual(self.status(status_reply(403), status_reply(status), None), status)

    def test_who_is_asked(self) -> None:
        """Nobody is asked after the one who lets pass."""
        self.ask(Says(status_reply(403)), Says(), Says())
        self.assertEqual([one.asked for one in self.live._members], [1, 1, 0])

    def test_who_is_not_asked(self) -> None:
        """Who is not asked about requests of this scheme, or method, lets nobody in and keeps nobody out."""
        for setting in ("asked_schemes", "asked_methods"):
            self.live = AnyOf((Says(), Says(status_reply(401)))).make(FakeServices())
            setattr(self.live._members[0], setting, frozenset({b"another"}))
            self.assertEqual(self.live.on_request(FakeFacts()).status, 401)
            self.assertEqual([one.asked for one in self.live._members], [0, 1])

    def test_waiting(self) -> None:
        """A member who takes time is waited for, and the others after it."""
        for first, second, status in (
            (None, None, 0),
            (status_reply(401), None, 0),
            (status_reply(401), status_reply(403), 401),
            (status_reply(403), status_reply(403), 403),
            (status_reply(500), None, 500),
        ):
            coming: Deferred[Reply | None] = Deferred()
            later: Deferred[Reply | None] = Deferred()
            found = self.ask(Says(waits=coming), Says(waits=later))
            self.assertNoResult(found)
            coming.callback(first)
            later.callback(second)
            verdict = self.successResultOf(found)
            self.assertEqual(0 if verdict is None else verdict.status, status)

    def test_told(self) -> None:
        """What members tell endpoints and clients they tell whoever decided, so that nothing that a client says stands in for it."""
        self.ask(Says(), Says())
        told, said = FakeEdit(), FakeEdit()
        self.live.on_upstream(FakeFacts(), told)
        self.live.on_answer(FakeFacts(), said)
        self.assertEqual(told.fields, [(b"X-Told", b"1"), (b"X-Told", b"0")])
        self.assertEqual(said.fields, [(b"X-Said", b"1"), (b"X-Said", b"0")])


class FamilyTests(SynchronousTestCase):
    """From annotations to filters."""

    def filters(self, *objects: ClusterObject, **annotations: str) -> tuple[FilterSpec, ...]:
        """The filters of the route of an Ingress with these annotations, those of the phase ACCESS."""
        snapshot = translate(
            state_of([ingress("a", "/", **annotations), users(), *objects]), TranslateOptions(), NOW
        )
        (route,) = snapshot.table.routes
        return tuple(one for one in route.filters if one.phase is Phase.ACCESS)

    def test_any(self) -> None:
        """Ranges, passwords and another service are one decision, in the order in which they cost more; with ``all`` they are several."""
        asked = {
            "whitelist_source_range": "10.0.0.0/8",
            "auth_type": "basic",
            "auth_secret": "users",
            "auth_url": "http://auth.example.com/",
        }
        (one,) = self.filters(**asked, satisfy="any")
        assert isinstance(one, AnyOf)
        kinds = [type(member) for member in one.members]
        self.assertEqual(kinds, [AddressRanges, PasswordCheck, ExternalAuth])
        for more in ({"satisfy": "all"}, {}, {"satisfy": "some"}):
            self.assertEqual([type(member) for member in self.filters(**asked, **more)], kinds)

    def test_snippets(self) -> None:
        """``allow`` and ``deny`` of a snippet are joined, too."""
        (one,) = self.filters(
            auth_type="basic",
            auth_secret="users",
            configuration_snippet="allow 10.0.0.0/8; deny all;",
            satisfy="any",
        )
        self.assertIsInstance(one, AnyOf)

    def test_denied_addresses_alone(self) -> None:
        """Who is only not denied is asked for a password all the same, whoever wrote the list; who is allowed is not."""
        asked = {"auth_type": "basic", "auth_secret": "users", "satisfy": "any"}
        denied, check = AddressRanges(denied=parse_ranges("192.0.2.1")), PasswordCheck
        found = self.filters(**asked, denylist_source_range="192.0.2.1")
        self.assertEqual((found[0], type(found[1])), (denied, check))
        (one,) = self.filters(
            **asked, denylist_source_range="192.0.2.1", whitelist_source_range="192.0.2.0/24"
        )
        assert isinstance(one, AnyOf)
        self.assertEqual([type(member) for member in one.members], [AddressRanges, check])

    def test_missing_guards_are_not_joined(self) -> None:
        """Where one of them cannot be honored nobody gets in by another."""
        found = self.filters(
            whitelist_source_range="10.0.0.0/8", auth_type="basic", auth_secret="gone", satisfy="any"
        )
        self.assertIn(GuardMissing(), found)

    def test_one_alone(self) -> None:
        """Where only one is asked nothing is joined."""
        self.assertEqual(
            self.filters(whitelist_source_range="10.0.0.0/8", satisfy="any"),
            (AddressRanges(parse_ranges("10.0.0.0/8")),),
        )


class ServedTests(ProxyCase):
    """In the proxy."""

    def answer(self, allowed: str, authorization: bytes = b"") -> bytes:
        """Return the answer to a request from a client who is in *allowed* or not."""
        members = (AddressRanges(parse_ranges(allowed)), PasswordCheck(b"bob:" + PLAIN, "staff"))
        self.stage.publish((ONE,), filters=(AnyOf(members),))
        client = self.stage.open()
        field = b"Authorization: %b\r\n" % authorization if authorization else b""
        client.say(b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n%b\r\n" % field)
        if self.connector.peers:
            self.upstream().say(OK)
        return client.take()

    def test_any(self) -> None:
        """Who is in the range needs no password, who has one need not be in the range, and who is neither is asked."""
        refused = self.answer("10.0.0.0/8")
        self.assert_status(refused, 401)
        self.assertIn(b"WWW-Authenticate", refused)
        self.assert_status(self.answer("10.0.0.0/8", basic(b"bob", b"wrong")), 401)
        self.assert_upstreams(0)
        self.assert_status(self.answer("10.0.0.0/8", basic()), 200)
        self.assert_status(self.answer("0.0.0.0/0"), 200)

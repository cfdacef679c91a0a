"""Tests for ``ingress.annotations.passwords.signing_in``."""

from collections.abc import Awaitable
from typing import ClassVar

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.satisfy import AnyOf
from ingress.annotations.external_auth.check import ExternalAuth
from ingress.annotations.passwords.basic_check import TOO_MANY, PasswordCheck
from ingress.annotations.passwords.digest_check import DigestCheck
from ingress.annotations.passwords.signing_in import OrSignIn
from ingress.filters import ComputingRefused, FilterSpec, Phase, Reply, SubAnswer, SubRequest
from ingress.model.cluster.objects import Secret
from ingress.model.requests.templates import read_template
from ingress.translate.options import TranslateOptions
from ingress.translate.translate import translate
from tests.annotations.passwords.test_family import USERS, basic, users
from tests.annotations.passwords.test_htpasswd import PLAIN
from tests.fakes.filter_parts import FakeFacts, FakeServices
from tests.translate.following import NOW
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress

PAGE = read_template("https://login.test/?rd=$escaped_request_uri")
LOCATION = (b"Location", b"https://login.test/?rd=%2F")
CHALLENGE = (b"WWW-Authenticate", b'Basic realm="staff"')
HTDIGEST = b"bob:staff:" + b"0" * 32 + b"\n"
SIGNS_IN = {
    "auth_url": "http://auth.example.com/",
    "auth_signin": "https://login.test/?rd=$escaped_request_uri",
}
BASIC = {"auth_type": "basic", "auth_secret": "users", "auth_realm": "staff"}
DIGEST = {**BASIC, "auth_type": "digest"}


def access(secret: Secret, **annotations: str) -> tuple[FilterSpec, ...]:
    """Return the filters of the phase ACCESS of an Ingress with these annotations."""
    snapshot = translate(state_of([ingress("a", "/", **annotations), secret]), TranslateOptions(), NOW)
    (route,) = snapshot.table.routes
    return tuple(one for one in route.filters if one.phase is Phase.ACCESS)


class Asked:
    """A service that answers each request alike."""

    cookie: ClassVar = (b"Set-Cookie", b"csrf=1")

    def __init__(self, status: int) -> None:
        self.status = status

    async def __call__(self, request: SubRequest) -> SubAnswer:
        """Answer."""
        return SubAnswer(self.status, (self.cookie,), b"")


class SignInTests(SynchronousTestCase):
    """Who has no password, and a sign-in page beside it."""

    def reply(self, spec: FilterSpec, *, status: int = 401, **fields: bytes) -> Reply | None:
        """Return what *spec* answers a request with *fields*, where the service of ``auth-url`` answers *status*."""
        named = {name.replace("_", "-").encode(): value for name, value in fields.items()}
        services = FakeServices(answer=Asked(status))
        verdict = spec.make(services).on_request(FakeFacts(target=b"/", fields=named))
        return self.done(verdict)

    def done(self, verdict: Reply | Awaitable[Reply | None] | None) -> Reply | None:
        """Return a verdict that has come."""
        if verdict is None or isinstance(verdict, Reply):
            return verdict
        coming: Deferred[Reply | None] = Deferred.fromCoroutine(verdict)  # type: ignore[arg-type]
        return self.successResultOf(coming)

    def test_basic(self) -> None:
        """Who shows no password, or a wrong one, is sent to sign in, and told who asked; who has it gets in."""
        spec = OrSignIn(PasswordCheck(b"bob:" + PLAIN, "staff"), PAGE)
        for shown in (b"", basic(b"bob", b"wrong")):
            reply = self.reply(spec, authorization=shown)
            assert reply is not None
            self.assertEqual((reply.status, reply.fields[1:]), (302, (LOCATION, CHALLENGE)))
            self.assertIn("password", reply.reason)
        self.assertIsNone(self.reply(spec, authorization=basic()))

    def test_digest(self) -> None:
        """So is who proves none."""
        reply = self.reply(OrSignIn(DigestCheck(HTDIGEST, "staff"), PAGE))
        assert reply is not None
        self.assertEqual((reply.status, reply.fields[1]), (302, LOCATION))
        self.assertTrue(reply.fields[2][1].startswith(b"Digest "))

    def test_grpc(self) -> None:
        """A client of gRPC would not know what to do there: it is told 401."""
        spec = OrSignIn(PasswordCheck(b"bob:" + PLAIN), PAGE)
        reply = self.reply(spec, content_type=b"application/grpc")
        assert reply is not None
        self.assertEqual(reply.status, 401)

    def test_busy(self) -> None:
        """What is no verdict on a password is told as it is."""
        services = FakeServices()
        services.computing.refuses = ComputingRefused(is_own=True)
        live = OrSignIn(PasswordCheck(b"bob:" + PLAIN), PAGE).make(services)
        self.assertIs(self.done(live.on_request(FakeFacts(fields={b"authorization": basic()}))), TOO_MANY)

    def test_any(self) -> None:
        """One of two lets in; where both refuse it is the way to sign in, with a cookie of the service, whatever that said."""
        (joined,) = access(users(content={"auth": b"bob:" + PLAIN}), **BASIC, **SIGNS_IN, satisfy="any")
        assert isinstance(joined, AnyOf)
        for status, cookies in ((401, (Asked.cookie,)), (403, ())):
            reply = self.reply(joined, status=status)
            assert reply is not None
            self.assertEqual((reply.status, reply.fields[1]), (302, LOCATION))
            self.assertEqual(tuple(one for one in reply.fields if one[0] == b"Set-Cookie"), cookies)
        self.assertIsNone(self.reply(joined, status=200))
        self.assertIsNone(self.reply(joined, authorization=basic()))


class FamilyTests(SynchronousTestCase):
    """From annotations to filters."""

    def test_both(self) -> None:
        """Where an Ingress has a password and a sign-in page, who has no password is sent to the page."""
        check, page = PasswordCheck(b"bob:" + PLAIN, "staff"), PAGE
        found = access(users(content={"auth": b"bob:" + PLAIN}), **BASIC, **SIGNS_IN)
        self.assertEqual((found[0], type(found[1])), (OrSignIn(check, page), ExternalAuth))
        found = access(users(USERS, {"auth": HTDIGEST}), **DIGEST, **SIGNS_IN)
        self.assertEqual(found[0], OrSignIn(DigestCheck(HTDIGEST, "staff"), page))

    def test_one_alone(self) -> None:
        """Without a page, or without a service that is asked, a password is asked for as ever."""
        for more in ({}, {"auth_url": SIGNS_IN["auth_url"]}, {"auth_signin": SIGNS_IN["auth_signin"]}):
            self.assertIsInstance(access(users(), **BASIC, **more)[0], PasswordCheck, more)

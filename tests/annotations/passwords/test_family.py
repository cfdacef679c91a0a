"""Tests for ``ingress.annotations.passwords.family`` and its check: from annotations and Secret to verdict."""

from base64 import b64encode
from collections import Counter
from collections.abc import Mapping
from gc import collect
from inspect import iscoroutine
from queue import SimpleQueue
from sys import getrefcount
from threading import Event
from typing import Any
from weakref import ref

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.lists.routes import ROUTES
from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.passwords import basic_check as password_check
from ingress.annotations.passwords.basic_check import (
    GOOD_SECONDS,
    MOST_FIELD_BYTES,
    MOST_READ,
    MOST_REMEMBERED,
    CredentialsKept,
    PasswordCheck,
    credentials,
    quoted_realm,
)
from ingress.annotations.passwords.htpasswd import admits
from ingress.filters import ComputingRefused, FilterSpec, Reply
from ingress.model.cluster.objects import Kind, ObjectKey, Secret
from ingress.model.cluster.problems import Problem, Reason
from ingress.process.computing import MOST_AT_ONCE, ComputingThreads
from ingress.translate.options import TranslateOptions
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from tests.admin.listed import text_of
from tests.annotations.passwords.test_htpasswd import APR1, SHA
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import OK, ONE, ProxyCase
from tests.translate.following import Follower, batch
from tests.translate.tls.test_client_authentication import ingress
from tests.workers.sent import sent

FILE = b"bob:" + APR1 + b"\nann:" + SHA + b"\n"
USERS = ObjectKey("demo", "users")


def basic(user: bytes = b"bob", password: bytes = b"secret") -> bytes:
    """The value of ``Authorization``."""
    return b"Basic " + b64encode(user + b":" + password)


def users(key: ObjectKey = USERS, content: Mapping[str, bytes] | None = None) -> Secret:
    """The Secret of the accounts."""
    return Secret(key, "Opaque", {"auth": FILE} if content is None else content)


class FieldTests(SynchronousTestCase):
    """The value of ``Authorization``."""

    def test_read(self) -> None:
        """User and password are what stands before and behind the first colon, whatever bytes these are."""
        for user, password in ((b"bob", b"a:b:c"), (b"b\xff", b"\xfe\0"), (b"bob", b""), (b"bob ", b" x ")):
            self.assertEqual(credentials(basic(user, password)), (user, password))
        self.assertEqual(credentials(b"bAsIc   " + b64encode(b"bob:x")), (b"bob", b"x"))
        self.assertEqual(credentials(b"Basic " + b64encode(b"bob:xy").rstrip(b"=")), (b"bob", b"xy"))

    def test_refused(self) -> None:
        """What is no user with a password is none, and what is long is not even decoded."""
        for value in (
            b"",
            b"Basic",
            b"Basic ",
            b"Basic !!!!",
            b"Basic Ym9iOnNlY3JldA==x",
            b"Basic Ym9i OnNlY3JldA==",
            b"Basic " + b64encode(b"bob"),
            b"Basic " + b64encode(b":secret"),
            b"Bearer " + b64encode(b"bob:secret"),
            b"Basic\t" + b64encode(b"bob:secret"),
            basic(b"bob", b"x" * 1025),
            b"Basic " + b"A" * MOST_FIELD_BYTES,
            b"Basic " + b"A" * 1_000_000,
            b"Basic A",
        ):
            self.assertIsNone(credentials(value), value[:40])

    def test_realm(self) -> None:
        """A realm is quoted, so that it ends nothing and begins nothing."""
        self.assertEqual(quoted_realm('a "b" \\ c'), b'"a \\"b\\" \\\\ c"')
        self.assertEqual(quoted_realm("ü"), b'"\xc3\xbc"')


class CheckTests(SynchronousTestCase):
    """The filter."""

    def setUp(self) -> None:
        """Have a filter with two accounts."""
        self.services = FakeServices()
        self.check = PasswordCheck(FILE, "staff").make(self.services)

    def ask(self, value: bytes = b"", client: bytes = b"192.0.2.1") -> Any:
        """Ask the filter; a coroutine is begun, and is a Deferred then."""
        fields = {b"authorization": value} if value else {}
        verdict: Any = self.check.on_request(FakeFacts(fields=fields, client=client))
        return Deferred.fromCoroutine(verdict) if iscoroutine(verdict) else verdict

    def verdict(self, value: bytes = b"", client: bytes = b"192.0.2.1") -> int:
        """Return the status, 0 for who gets in."""
        found = self.ask(value, client)
        if isinstance(found, Deferred):
            found = self.successResultOf(found)
        return found.status if isinstance(found, Reply) else 0

    def computed(self) -> int:
        """How often anything was hashed."""
        return len(self.services.computing.asked)

    def test_verdicts(self) -> None:
        """Who has an account and its password gets in, and nobody else."""
        for value, status in (
            (basic(), 0),
            (basic(b"ann"), 0),
            (basic(b"bob", b"wrong"), 401),
            (basic(b"eve"), 401),
            (basic(b"BOB"), 401),
            (b"", 401),
            (b"Bearer x", 401),
        ):
            self.assertEqual(self.verdict(value), status, value)

    def test_challenge(self) -> None:
        """Who is refused is asked, in the realm, by a field that is one field."""
        reply = self.ask()
        self.assertIn((b"WWW-Authenticate", b'Basic realm="staff"'), reply.fields)

    def test_remembered(self) -> None:
        """A good password is hashed once a minute; a wrong one each time."""
        for _ in range(5):
            self.assertEqual(self.verdict(basic()), 0)
        self.assertEqual(self.computed(), 1)
        self.services.clock.clock.advance(GOOD_SECONDS)
        self.assertEqual(self.verdict(basic()), 0)
        self.assertEqual(self.computed(), 2)
        for _ in range(3):
            self.assertEqual(self.verdict(basic(b"bob", b"wrong")), 401)
        self.assertEqual(self.computed(), 5)

    def test_what_is_remembered(self) -> None:
        """It is a keyed hash of user and password, of which neither can be read; and no more than some thousand."""
        self.patch(password_check, "admits", lambda *_: True)
        for number in range(MOST_REMEMBERED + 5):
            self.verdict(basic(b"u%d" % number))
        kept: dict[bytes, float] = vars(self.check)["_good"]
        self.assertEqual(len(kept), MOST_REMEMBERED)
        self.assertFalse([one for one in kept if b"secret" in one or len(one) != 32])
        self.assertEqual(self.verdict(basic(b"u%d" % (MOST_REMEMBERED + 4))), 0)
        count = self.computed()
        self.assertEqual(self.verdict(basic(b"u0")), 0)
        self.assertEqual(self.computed(), count + 1)

    def test_colons_are_no_way_around(self) -> None:
        """User and password that look the same when written together are not the same."""
        self.verdict(basic(b"bob", b"secret"))
        self.assertEqual(self.verdict(basic(b"bob:s", b"ecret")), 401)

    def test_too_many(self) -> None:
        """Beyond what is hashed at a time nobody's password is: 429 for one with others under way, 503 where all are busy."""
        for is_own, status in ((True, 429), (False, 503)):
            self.services.computing.refuses = ComputingRefused(is_own=is_own)
            self.assertEqual(self.verdict(basic()), status)
            self.assertIn((b"Retry-After", b"2"), self.ask(basic()).fields)
        self.assertEqual(self.services.counted, ["busy"] * 4)
        self.assertEqual(self.computed(), 0)

    def test_whose(self) -> None:
        """Who asks is an address, of IPv6 its network of 64 bits."""
        for client in (b"2001:db8::1", b"2001:db8::2", b"2001:db8:0:1::1", b"192.0.2.7"):
            self.verdict(basic(b"eve"), client)
        whose = [one for one, _ in self.services.computing.asked]
        self.assertEqual(whose[0], whose[1])
        self.assertEqual(len(set(whose)), 3)

    def test_at_once(self) -> None:
        """Requests with the same password that come at once, as those of a page do, are one computation; others are others."""
        self.services.computing.holds = True
        for value in (basic(), basic(), basic(b"ann")):
            self.ask(value)
        names = [once for _, once in self.services.computing.asked]
        self.assertEqual(names[0], names[1])
        self.assertNotEqual(names[0], names[2])
        other = PasswordCheck(FILE + b"#", "staff").make(self.services)
        Deferred.fromCoroutine(other.on_request(FakeFacts(fields={b"authorization": basic()})))  # type: ignore[arg-type]
        self.assertNotEqual(self.services.computing.asked[-1][1], names[0])

    def test_unknown_users(self) -> None:
        """An unknown user is always measured by the same hash, and one whom nobody can foretell from outside."""
        marks = []

        def marked(accounts: Any, user: bytes, password: bytes, mark: int) -> bool:
            marks.append(mark)
            return admits(accounts, user, password, mark)

        self.patch(password_check, "admits", marked)
        for user in (b"eve", b"eve", b"mallory"):
            self.verdict(basic(user))
        self.check = PasswordCheck(FILE, "").make(FakeServices(secret=b"another"))
        self.verdict(basic(b"eve"))
        self.assertEqual(marks[0], marks[1])
        self.assertEqual(len(set(marks)), 3)

    def test_gone(self) -> None:
        """What was read of the accounts goes with the filter, as do these, and so with the Secret."""
        self.verdict(basic())
        file = vars(self.check)["_file"]
        accounts, file = ref(file.accounts), ref(file)
        self.assertIsNotNone(accounts())
        del self.check
        self.services.computing.asked.clear()
        collect()
        self.assertEqual((file(), accounts()), (None, None))

    def test_read_again(self) -> None:
        """What was read is kept of the last few files alone; others are read again when they are asked for."""
        services = self.services
        checks = [PasswordCheck(FILE + b"#%d" % one).make(services) for one in range(MOST_READ + 1)]
        for _ in range(2):
            for self.check in checks:
                self.assertEqual((self.verdict(basic(b"eve")), self.verdict(basic())), (401, 0))
                services.clock.clock.advance(GOOD_SECONDS)
            kept = [vars(one)["_file"].accounts is not None for one in checks]
            self.assertEqual(kept, [False, *[True] * MOST_READ])

    def test_shown(self) -> None:
        """Nothing of the accounts is in what is shown of the filter."""
        spec = PasswordCheck(FILE, "staff")
        for shown in (repr(spec), spec.describe()):
            self.assertNotIn("bob", shown)
            self.assertNotIn("apr1", shown)

    def test_kept(self) -> None:
        """Endpoints do not get the password."""
        edit = FakeEdit(fields=[(b"Authorization", b"x"), (b"A", b"b")])
        CredentialsKept().make(self.services).on_upstream(FakeFacts(), edit)
        self.assertEqual(edit.fields, [(b"A", b"b")])


class FamilyTests(SynchronousTestCase):
    """From Ingress and Secret to the filters of its routes."""

    def follow(self, *objects: Any, **annotations: str) -> Snapshot:
        """Translate an Ingress with these annotations beside *objects*."""
        self.follower = Follower(TranslateOptions(), [ingress("a", "/", **annotations), *objects])
        return self.settled()

    def settled(self) -> Snapshot:
        """Settle, and compare with a full translation."""
        found = self.follower.settle()
        self.assertEqual(differences(found, self.follower.expected()), ())
        return found

    def filters(self, snapshot: Snapshot) -> tuple[FilterSpec, ...]:
        """The filters of the one route."""
        (route,) = snapshot.table.routes
        return route.filters

    def told(self, snapshot: Snapshot) -> list[Problem]:
        """The problems of annotations about passwords."""
        return [one for one in snapshot.problems if "annotations[" in one.field]

    def test_file(self) -> None:
        """The key ``auth`` is the file; the Secret is named with or without its namespace."""
        for named in ("users", "demo/users"):
            found = self.follow(users(), auth_type="basic", auth_secret=named, auth_realm="Staff")
            self.assertEqual(self.filters(found), (PasswordCheck(FILE, "Staff"), CredentialsKept()))
            self.assertEqual(self.told(found), [])

    def test_map(self) -> None:
        """With ``auth-map`` each key is a user; a value with a line end is no hash, and makes no line."""
        content = {"bob": APR1 + b"\n", "ann": SHA, "eve": b"x\nroot:{PLAIN}x"}
        found = self.follow(
            users(content=content), auth_type="basic", auth_secret="users", auth_secret_type="auth-map"
        )
        check = self.filters(found)[0]
        assert isinstance(check, PasswordCheck)
        self.assertEqual(check.accounts, b"ann:" + SHA + b"\nbob:" + APR1)

    def test_q12_missing_secret_answers_503(self) -> None:
        """Quirk Q12: where the Secret is missing the paths answer 503, until it comes, and again when it goes."""
        found = self.follow(auth_type="basic", auth_secret="users")
        self.assertEqual(self.filters(found), (GuardMissing(),))
        (problem,) = self.told(found)
        self.assertEqual(problem.reason, Reason.SECRET_NOT_FOUND)
        self.assertIn("its paths answer 503", problem.message)
        self.follower.change(batch(users()))
        self.assertEqual(self.filters(self.settled())[0], PasswordCheck(FILE))
        self.follower.change(batch(users(content={"auth": b"x"})))
        self.assertEqual(self.filters(self.settled())[0], PasswordCheck(b"x"))
        self.follower.change({(Kind.SECRET, USERS): None})
        self.assertEqual(self.filters(self.settled()), (GuardMissing(),))

    def test_hashes_go_with_the_secret(self) -> None:
        """Once the Secret is gone, or its Ingress, nothing of the translation has its content any more."""
        # Made here, lest it be a constant of this module.
        file = bytes(bytearray(FILE + b"joe:$5$not verified\n"))
        count = getrefcount(file)
        for gone in ((Kind.SECRET, USERS), (Kind.INGRESS, ObjectKey("demo", "a"))):
            self.follow(users(content={"auth": file}), auth_type="basic", auth_secret="users")
            self.follower.change({gone: None})
            if gone[0] is Kind.INGRESS:
                self.follower.change({(Kind.SECRET, USERS): None})
            self.settled()
            collect()
            self.assertEqual(getrefcount(file), count)

    def test_key_missing(self) -> None:
        """Where the Secret lacks the key the paths answer 503, and it is told; also where it is renamed later."""
        found = self.follow(users(), auth_type="basic", auth_secret="users")
        self.follower.change(batch(users(content={"passwords": FILE})))
        found = self.settled()
        self.assertEqual(self.filters(found), (GuardMissing(),))
        (problem,) = self.told(found)
        self.assertEqual(
            (problem.reason, problem.message),
            (
                Reason.INVALID_PASSWORDS,
                "auth-secret: Secret demo/users has no key auth; its paths answer 503",
            ),
        )

    def test_closed(self) -> None:
        """What cannot be honored closes the paths: another scheme, another namespace, no Secret, a name that is none."""
        elsewhere = users(ObjectKey("other", "users"))
        for annotations in (
            {"auth_type": "basic"},
            {"auth_type": "ntlm", "auth_secret": "users"},
            {"auth_type": "Basic", "auth_secret": "users"},
            {"auth_type": "basic\n", "auth_secret": "users"},
            {"auth_type": "basic", "auth_secret": "other/users"},
            {"auth_type": "basic", "auth_secret": "../users"},
            {"auth_type": "basic", "auth_secret": "a/b/c"},
            {"auth_type": "basic", "auth_secret": "x" * 300},
            {"auth_type": "basic", "auth_secret": "users", "auth_secret_type": "file"},
            {"auth_secret": "missing"},
        ):
            found = self.follow(users(), elsewhere, **annotations)
            self.assertEqual(self.filters(found), (GuardMissing(),), annotations)
            self.assertTrue(self.told(found), annotations)

    def test_nothing_asked(self) -> None:
        """An empty type asks for nothing, nor does a realm."""
        for annotations in ({"auth_type": ""}, {"auth_realm": "x"}, {"auth_secret_type": "auth-map"}):
            self.assertEqual(self.filters(self.follow(**annotations)), ())

    def test_secret_alone(self) -> None:
        """A Secret without a type asks for passwords, though ingress-nginx would ask nobody; a note says so."""
        found = self.follow(users(), auth_secret="users")
        self.assertIsInstance(self.filters(found)[0], PasswordCheck)
        (problem,) = self.told(found)
        self.assertTrue(problem.is_note)

    def test_realms(self) -> None:
        """A realm that could spoil a field is refused, and passwords are asked for without it; ``off`` turns nothing off."""
        for realm, kept in (
            ("a\r\nSet-Cookie: x", ""),
            ("a\0", ""),
            ("x" * 300, ""),
            ("off", "off"),
            ('a"b', 'a"b'),
        ):
            found = self.follow(users(), auth_type="basic", auth_secret="users", auth_realm=realm)
            self.assertEqual(self.filters(found)[0], PasswordCheck(FILE, kept))

    def test_faulty_lines(self) -> None:
        """Lines that let nobody in are told by line and user, and nothing of a hash; the others count."""
        content = {"auth": b"bob:rqXexS6ZhobKA\nann:" + SHA + b"\n$apr1$leaked$hash:x\n"}
        found = self.follow(users(content=content), auth_type="basic", auth_secret="users")
        self.assertIsInstance(self.filters(found)[0], PasswordCheck)
        messages = [one.message for one in self.told(found)]
        self.assertEqual(len(messages), 2)
        self.assertIn('line 1 (user "bob") has a hash of a sort that is not verified', messages[0])
        self.assertIn("line 3 has", messages[1])
        self.assertNotIn("rqXexS", "".join(messages))
        self.assertNotIn("leaked", "".join(messages))

    def test_steps(self) -> None:
        """A Secret of a megabyte is looked at in many steps of a round, between which requests are served."""
        self.follow(users(content={"auth": b""}), auth_type="basic", auth_secret="users")
        self.follower.change(batch(users(content={"auth": b"u:{SHA}x\n" * 110_000})))
        translation = self.follower.translation
        steps = sum(1 for _ in translation.round(self.follower.store.state(), self.follower.now))
        self.assertGreater(steps, 200)
        self.settled()

    def test_in_pages_and_bytes(self) -> None:
        """The page of routes shows nothing of the accounts; to another process they travel."""
        found = self.follow(users(), auth_type="basic", auth_secret="users")
        page = text_of(ROUTES, found)
        self.assertIn("passwords", page)
        self.assertNotIn("apr1", page)
        self.assertNotIn("bob", page)
        there = sent(found)
        self.assertEqual(there.table.routes, found.table.routes)

    def test_too_many_in_a_map(self) -> None:
        """A Secret with a key for each of too many users lets nobody in, and says so."""
        content = {f"u{number}": SHA for number in range(5_001)}
        found = self.follow(
            users(content=content), auth_type="basic", auth_secret="users", auth_secret_type="auth-map"
        )
        self.assertEqual(self.filters(found), (GuardMissing(),))
        self.assertIn("has more than 5000 keys", self.told(found)[0].message)

    def test_passthrough(self) -> None:
        """TLS is not passed on where somebody, of this Ingress or of another one, would get in without his password."""
        options = TranslateOptions(ssl_passthrough=True)
        secured = {"auth_type": "basic", "auth_secret": "users"}
        for more, others in (
            (secured, ()),
            ({}, (ingress("bb", "/admin", auth_type="basic", auth_secret="users"),)),
        ):
            first = ingress("a", "/", ssl_passthrough="true", **more)
            self.follower = Follower(options, [users(), first, *others])
            found = self.settled()
            self.assertTrue(all(route.passthrough is None for route in found.table.routes))
            (problem,) = [one for one in found.problems if one.reason is Reason.PASSTHROUGH_CONFLICT]
            self.assertIn("who may come in", problem.message)


class ServedTests(ProxyCase):
    """The check in the proxy."""

    def setUp(self) -> None:
        """Serve a route behind passwords."""
        super().setUp()
        self.stage.publish((ONE,), filters=(PasswordCheck(FILE, "staff"), CredentialsKept()))
        self.client = self.stage.open()

    def say(self, authorization: bytes = b"") -> None:
        """Send a request."""
        field = b"Authorization: %b\r\n" % authorization if authorization else b""
        self.client.say(b"GET / HTTP/1.1\r\nHost: shop.test\r\n%b\r\n" % field)

    def test_refused(self) -> None:
        """Nobody reaches the endpoint without a password, and the reply asks for one."""
        self.say()
        answer = self.client.take()
        self.assert_status(answer, 401)
        self.assertIn(b'\r\nWWW-Authenticate: Basic realm="staff"\r\n', answer)
        self.assert_upstreams(0)

    def test_passes(self) -> None:
        """Who has one does, and the endpoint does not see it."""
        self.say(basic())
        self.assertNotIn(b"uthorization", self.upstream().take())
        self.upstream().say(OK)
        self.assert_status(self.client.take(), 200)

    def test_the_secret_changes_meanwhile(self) -> None:
        """A request keeps the accounts that it began with; the next one has those of now, whatever was remembered."""
        self.stage.computing.holds = True
        self.say(basic())
        self.stage.publish((ONE,), filters=(PasswordCheck(b"ann:" + SHA, "staff"),))
        self.stage.computing.go()
        self.upstream().take()
        self.upstream().say(OK)
        self.assert_status(self.client.take(), 200)
        self.stage.computing.holds = False
        self.say(basic())
        self.assert_status(self.client.take(), 401)

    def test_client_leaves(self) -> None:
        """Who leaves before the verdict harms nothing, and is asked for no more."""
        self.stage.computing.holds = True
        self.say(basic())
        self.client.reset()
        self.stage.computing.go()
        self.assert_upstreams(0)


class AskingTests(FilterCase):
    """The check over HTTP/1.1."""

    def setUp(self) -> None:
        """Serve a route behind passwords."""
        super().setUp()
        self.stage.publish((ONE,), filters=(PasswordCheck(FILE, "staff"), CredentialsKept()))

    def test_verdicts(self) -> None:
        """Who has no password is asked for one, who has gets through, and the endpoint does not learn it."""
        heard = self.get().heard()
        self.assertEqual((heard.status, heard.all(b"www-authenticate")), (401, [b'Basic realm="staff"']))
        wrong = self.get(fields=((b"authorization", basic(b"bob", b"wrong")),)).heard()
        self.assertEqual(wrong.status, 401)
        self.assert_upstreams(0)
        client = self.get(fields=((b"authorization", basic()),))
        self.assertNotIn(b"uthorization", self.upstream().take())
        self.upstream().say(OK)
        self.assertEqual(client.heard().status, 200)

    def test_grpc(self) -> None:
        """Clients of gRPC are told in their own words that nobody knows them, and that there is too much to do."""
        for refuses, code in ((None, b"16"), (ComputingRefused(is_own=False), b"14")):
            self.stage.computing.refuses = refuses
            client = self.client()
            fields = ((b"content-type", b"application/grpc"), (b"authorization", basic(b"bob", b"wrong")))
            client.ask(b"POST", b"/shop.Shop/Buy", fields, length=-1)
            heard = client.heard()
            self.assertEqual((heard.status, heard.all(b"grpc-status")), (200, [code]))

    def test_who_leaves(self) -> None:
        """Who leaves before the verdict reaches no endpoint."""
        self.stage.computing.holds = True
        client = self.get(fields=((b"authorization", basic()),))
        client.leave()
        self.stage.computing.go()
        self.assert_upstreams(0)


class AskingOverHttp2Tests(AskingTests):
    """The same over HTTP/2."""

    is_http2 = True


class FloodTests(SynchronousTestCase):
    """Very many wrong passwords at once, with the threads that compute."""

    def test_flood(self) -> None:
        """Of ten thousand from a thousand clients a few are computed, and all others are refused without any hash."""
        hashed: list[bytes] = []
        gate = Event()

        def admitted(accounts: Any, user: bytes, password: bytes, mark: int) -> bool:
            gate.wait(60)
            hashed.append(user)
            return False

        self.patch(password_check, "admits", admitted)
        said: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        threads = ComputingThreads(lambda call, *arguments: said.put((call, *arguments)))
        self.addCleanup(threads.stop)
        self.addCleanup(gate.set)
        services = FakeServices(computing=threads)  # type: ignore[arg-type]
        check = PasswordCheck(FILE).make(services)
        statuses: Counter[int] = Counter()
        waiting: list[Deferred[Any]] = []
        for number in range(10_000):
            fields = {b"authorization": basic(b"bob", b"%d" % number)}
            client = b"192.0.%d.%d" % (number % 4, number % 250)
            verdict: Any = check.on_request(FakeFacts(fields=fields, client=client))
            if isinstance(verdict, Reply):
                statuses[verdict.status] += 1
            else:
                waiting.append(Deferred.fromCoroutine(verdict))
        self.assertEqual(len(waiting), MOST_AT_ONCE)
        self.assertEqual(sum(statuses.values()), 10_000 - MOST_AT_ONCE)
        gate.set()
        for _ in range(MOST_AT_ONCE):
            call, *arguments = said.get(timeout=60)
            call(*arguments)
        self.assertEqual([self.successResultOf(one).status for one in waiting], [401] * MOST_AT_ONCE)
        self.assertEqual(len(hashed), MOST_AT_ONCE)

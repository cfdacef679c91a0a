"""Tests for ``ingress.annotations.passwords.digest_check``; the client is Python's own."""

from hashlib import md5, sha256
from inspect import iscoroutine
from typing import Any
from urllib.request import (
    AbstractDigestAuthHandler,
    HTTPPasswordMgrWithDefaultRealm,
    Request,
    parse_http_list,
    parse_keqv_list,
)

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.host_facts import HostFacts
from ingress.annotations.contract.references import Found
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.passwords import digest_check
from ingress.annotations.passwords.basic_check import CredentialsKept
from ingress.annotations.passwords.digest_check import (
    NONCE_SECONDS,
    DigestCheck,
    digest_accounts_of,
    parameters,
    read_digest_accounts,
)
from ingress.annotations.passwords.family import PASSWORDS, PasswordSettings, Scheme
from ingress.filters import ComputingRefused, Reply
from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from tests.fakes.filter_parts import FakeFacts, FakeServices

REALM = "staff only"


def account(user: str, password: str = "secret", realm: str = REALM, by: Any = md5) -> bytes:
    """A line as ``htdigest`` makes it."""
    return f"{user}:{realm}:{by(f'{user}:{realm}:{password}'.encode()).hexdigest()}\n".encode()


def signed(user: str, secret: bytes, nonce: bytes, by: Any, algorithm: str) -> bytes:
    """Prove to know *secret*, the hash of user, realm and password."""

    def hashed(*parts: bytes) -> bytes:
        return str(by(b":".join(parts)).hexdigest()).encode()

    proof = hashed(secret, nonce, b"00000001", b"c", b"auth", hashed(b"GET", b"/x?y=1"))
    return (
        f'Digest username="{user}", realm="{REALM}", nonce="{nonce.decode()}", uri="/x?y=1", qop=auth, nc=00000001, '
        f'cnonce="c", algorithm={algorithm}, response="{proof.decode()}"'
    ).encode()


FILE = account("bob") + account("ann", "other")
HA1 = account("bob").rstrip().rpartition(b":")[2]


class Client(AbstractDigestAuthHandler):
    """Answers challenges as ``urllib`` does; its count begins anew with each nonce."""

    def __init__(self, user: str, password: str) -> None:
        """Know a password."""
        passwords = HTTPPasswordMgrWithDefaultRealm()
        passwords.add_password(None, "http://a.test/", user, password)
        super().__init__(passwords)

    def proof(self, challenge: bytes, target: str = "/x?y=1", method: str = "GET") -> bytes:
        """Answer *challenge*."""
        scheme, _, rest = challenge.decode().partition(" ")
        assert scheme == "Digest"
        request = Request(f"http://a.test{target}", method=method)
        fields = parse_keqv_list(parse_http_list(rest))
        return b"Digest " + str(self.get_authorization(request, fields)).encode()


class DigestTests(SynchronousTestCase):
    """The filter."""

    def setUp(self) -> None:
        """Have a filter with two accounts, and a client."""
        self.services = FakeServices()
        self.check = DigestCheck(FILE, REALM).make(self.services)
        self.client = Client("bob", "secret")

    def ask(
        self, value: bytes = b"", target: bytes = b"/x?y=1", method: bytes = b"GET", check: Any = None
    ) -> Reply | None:
        """Ask the filter."""
        facts = FakeFacts(fields={b"authorization": value} if value else {}, target=target, method=method)
        verdict: Any = (check or self.check).on_request(facts)
        found: Reply | None = (
            self.successResultOf(Deferred.fromCoroutine(verdict)) if iscoroutine(verdict) else verdict
        )
        return found

    def challenge(self, value: bytes = b"", **more: Any) -> bytes:
        """Be refused; return the challenge."""
        reply = self.ask(value, **more)
        assert reply is not None and reply.status == 401
        return next(value for name, value in reply.fields if name == b"WWW-Authenticate")

    def test_proof(self) -> None:
        """Who proves the password gets in, request by request with one nonce; the file is read once, in a thread."""
        challenge = self.challenge()
        for _ in range(3):
            self.assertIsNone(self.ask(self.client.proof(challenge)))
        self.assertEqual(len(self.services.computing.asked), 1)

    def test_wrong(self) -> None:
        """Another password, another user, another path or method than was proven: nobody gets in, and nothing is stale."""
        challenge = self.challenge()
        for user, password in (("bob", "wrong"), ("eve", "secret"), ("ann", "secret")):
            self.assertNotIn(b"stale", self.challenge(Client(user, password).proof(challenge)))
        proof = self.client.proof(challenge)
        self.challenge(proof, target=b"/admin")
        self.challenge(proof, method=b"POST")
        self.assertIsNone(self.ask(proof))

    def test_stand_in(self) -> None:
        """Nobody gets in by the hash that stands in for one that is missing, were it known, nor by zeros or none at all."""
        nonce = self.challenge().partition(b'nonce="')[2].partition(b'"')[0]
        stand_in = vars(self.check)["_stand_in"]
        for by, algorithm, user in (
            (md5, "MD5", "eve"),
            (sha256, "SHA-256", "eve"),
            (sha256, "SHA-256", "bob"),
        ):
            length = 2 * by().digest_size
            for secret in (stand_in[:length], b"0" * length, b""):
                proof = signed(user, secret, nonce, by, algorithm)
                self.assertNotIn(b"stale", self.challenge(proof), (algorithm, user, secret))
        self.assertEqual(vars(self.check)["_used"], {})
        self.assertIsNone(self.ask(signed("bob", HA1, nonce, md5, "MD5")))

    def test_stand_in_is_secret(self) -> None:
        """What stands in is another one in each process."""
        other = DigestCheck(FILE, REALM).make(FakeServices(secret=b"another"))
        self.assertNotEqual(vars(self.check)["_stand_in"], vars(other)["_stand_in"])

    def test_other_length(self) -> None:
        """A hash of MD5 proves nothing by SHA-256, even to who has it."""
        nonce = self.challenge().partition(b'nonce="')[2].partition(b'"')[0]
        self.challenge(signed("bob", HA1, nonce, sha256, "SHA-256"))
        self.challenge(signed("bob", HA1 + b"0" * 32, nonce, sha256, "SHA-256"))

    def test_replay(self) -> None:
        """What came once does not come in again; the client is told to try with another nonce."""
        proof = self.client.proof(self.challenge())
        self.assertIsNone(self.ask(proof))
        self.assertIn(b"stale=true", self.challenge(proof))

    def test_order(self) -> None:
        """Counts may overtake each other on their way, and each is good once."""
        challenge = self.challenge()
        proofs = [self.client.proof(challenge) for _ in range(3)]
        for one in (proofs[2], proofs[0], proofs[1]):
            self.assertIsNone(self.ask(one))
        for one in proofs:
            self.challenge(one)

    def test_age(self) -> None:
        """A nonce is good for some minutes; then it is stale."""
        challenge = self.challenge()
        self.services.clock.clock.advance(NONCE_SECONDS)
        self.assertIsNone(self.ask(self.client.proof(challenge)))
        self.services.clock.clock.advance(1)
        self.assertIn(b"stale=true", self.challenge(self.client.proof(challenge)))

    def test_strange_nonces(self) -> None:
        """A nonce of another process, of other accounts, or changed in any sign, is stale; and costs no memory."""
        mine = self.challenge()
        for other in (
            DigestCheck(FILE, REALM).make(FakeServices(secret=b"another")),
            DigestCheck(FILE + b"#", REALM).make(self.services),
        ):
            strange = self.challenge(check=other)
            self.assertIn(b"stale=true", self.challenge(self.client.proof(strange)))
        nonce = mine.partition(b'nonce="')[2].partition(b'"')[0]
        for changed in (b"0" * 80, nonce[:-1], nonce + b"0", b"f" + nonce[1:], b"x" * 1000):
            self.challenge(self.client.proof(mine.replace(nonce, changed)))
        self.assertEqual(vars(self.check)["_used"], {})

    def test_bounded(self) -> None:
        """Nonces in use are remembered up to a number; what is forgotten is stale, and not good for a replay."""
        self.patch(digest_check, "MOST_NONCES", 3)
        proofs = []
        for _ in range(5):
            proofs.append(self.client.proof(self.challenge()))
            self.assertIsNone(self.ask(proofs[-1]))
        self.assertEqual(len(vars(self.check)["_used"]), 3)
        for proof in proofs:
            self.assertIn(b"stale=true", self.challenge(proof))

    def test_sha_256(self) -> None:
        """Where accounts have hashes of SHA-256 that is offered first; the one for the user's hash is what counts."""
        file = account("bob", by=sha256) + account("ann")
        self.check = DigestCheck(file, REALM).make(self.services)
        reply = self.ask()
        assert reply is not None
        strong, weak = [value for name, value in reply.fields if name == b"WWW-Authenticate"]
        self.assertIn(b"algorithm=SHA-256", strong)
        self.assertIn(b"algorithm=MD5", weak)
        self.challenge(self.client.proof(weak))
        self.assertIsNone(self.ask(Client("ann", "secret").proof(weak)))

        def hashed(text: str) -> str:
            return sha256(text.encode()).hexdigest()

        nonce = strong.partition(b'nonce="')[2].partition(b'"')[0].decode()
        proven = hashed(f"{hashed(f'bob:{REALM}:secret')}:{nonce}:00000002:c:auth:{hashed('GET:/x?y=1')}")
        self.assertIsNone(
            self.ask(
                f'Digest username="bob", realm="{REALM}", nonce="{nonce}", uri="/x?y=1", algorithm=SHA-256, '
                f'qop=auth, nc=00000002, cnonce="c", response="{proven}"'.encode()
            )
        )

    def test_busy(self) -> None:
        """Where the file cannot even be read now, nobody gets in, and comes again later."""
        self.services.computing.refuses = ComputingRefused(is_own=False)
        reply = self.ask()
        assert reply is not None
        self.assertEqual(reply.status, 503)
        self.assertEqual(self.services.counted, ["busy"])

    def test_family(self) -> None:
        """``auth-type: digest`` asks in this way, and endpoints do not see the proof."""
        users = ObjectKey("demo", "users")
        facts = RouteFacts(
            HostFacts(), Owner(Kind.INGRESS, ObjectKey("demo", "a")), found=Found({users: {"auth": FILE}})
        )
        assert PASSWORDS.filters is not None
        specs = PASSWORDS.filters(PasswordSettings(Scheme.DIGEST, users, realm=REALM), facts)
        self.assertEqual(specs, (DigestCheck(FILE, REALM), CredentialsKept()))


class ParameterTests(SynchronousTestCase):
    """The value of ``Authorization``."""

    GOOD = b'Digest username="b\\"ob", realm="r", nonce="n", uri="/", response="x", qop=auth, nc=00000001, cnonce="c"'

    def test_good(self) -> None:
        """Names are read in any case, and what is escaped is what it stands for."""
        found = parameters(self.GOOD)
        assert found is not None
        self.assertEqual((found[b"username"], found[b"nc"]), (b'b"ob', b"00000001"))

    def test_refused(self) -> None:
        """What is doubled, missing, cut off or too long is nothing; nor is a protection that was not offered."""
        for value in (
            b"",
            b"Digest",
            b"Digest ,,,",
            self.GOOD + b', uri="/other"',
            self.GOOD + b', x="',
            self.GOOD.replace(b"qop=auth", b"qop=auth-int"),
            self.GOOD.replace(b", qop=auth", b""),
            self.GOOD.replace(b"nc=00000001", b"nc=1"),
            self.GOOD.replace(b"username=", b"username*="),
            self.GOOD + b", userhash=true",
            self.GOOD + b', pad="' + b"x" * 5000 + b'"',
            b"Digest " + b'\\"' * 2000,
        ):
            self.assertIsNone(parameters(value), value[:60])


class FileTests(SynchronousTestCase):
    """Files of htdigest."""

    def test_lines(self) -> None:
        """Users of the realm count; other realms, other shapes and doubles are told without their hash."""
        file = FILE + account("eve", realm="other") + b"no\n" + account("bob", "x") + b"joe:staff only:zz\n"
        found = digest_accounts_of(file, REALM.encode())
        self.assertEqual(set(found.hashes), {b"bob", b"ann"})
        self.assertEqual(
            [(one.line, one.user) for one in found.faults], [(3, b"eve"), (4, b""), (5, b"bob"), (6, b"joe")]
        )

    def test_steps(self) -> None:
        """A megabyte is read in steps."""
        self.assertGreater(sum(1 for _ in read_digest_accounts(b"x\n" * 500_000, b"r")), 1000)

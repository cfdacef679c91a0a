"""The check of passwords by HTTP Digest (RFC 7616): the password itself never comes, and no request is good twice.

A nonce says when it was made and which in order it is, signed by a key that only this process and its workers have, so that
whoever asks for nonces costs no memory.  Only those that somebody used well are remembered, with the counts (``nc``) that came with them: a
count that was there is refused.  When there are too many, the oldest is forgotten, and no nonce that is as old is good any more.
Several workers remember them together (``ingress.annotations.passwords.shared_nonces``).
A nonce of another replica, of an earlier process or of other accounts is *stale*: the client asks again with the new one, and its user sees nothing.

Verified is ``qop=auth``, by MD5 or, where the accounts have it, SHA-256.  It takes some microseconds, so no thread is needed but for
reading the file.
"""

import re
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from hashlib import blake2b, md5, sha256
from hmac import compare_digest
from typing import ClassVar, Final

from attrs import define, field

from ingress.annotations.passwords.basic_check import MOST_FIELD_BYTES, TOO_BUSY, TOO_MANY, quoted_realm
from ingress.annotations.passwords.htpasswd import (
    MOST_BYTES,
    MOST_FAULTS,
    MOST_USERS,
    Accounts,
    LineFault,
    lines_of,
)
from ingress.annotations.passwords.shared_nonces import SharedNonces
from ingress.filter_parts.judging import status_reply
from ingress.filters import ComputingRefused, Facts, Filter, Phase, Reply, Scope, Services
from ingress.model.frozen import frozen

NONCE_SECONDS: Final = 300
MOST_COUNT: Final = 4096
"""How many requests come with one nonce."""
MOST_NONCES: Final = 4096
"""Nonces in use that one filter remembers."""

NONCES: Final = "nonces"
"""What the state is called that workers share."""

_STEP_LINES: Final = 150
_HA1: Final = re.compile(rb"(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{64})").fullmatch
_PARAMETER: Final = re.compile(
    rb'[ \t]*([A-Za-z]+\*?)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^\s",;=]+))[ \t]*(?:,|\Z)', re.DOTALL
)
_NONCE: Final = re.compile(rb"[0-9a-f]{80}").fullmatch
_COUNT: Final = re.compile(rb"[0-9a-fA-F]{8}").fullmatch
_WANTED: Final = frozenset({b"username", b"realm", b"nonce", b"uri", b"response", b"qop", b"nc", b"cnonce"})

Hash = Callable[[bytes], bytes]


def _md5(text: bytes) -> bytes:
    return md5(text, usedforsecurity=False).hexdigest().encode()


def _sha256(text: bytes) -> bytes:
    return sha256(text).hexdigest().encode()


_ALGORITHMS: Final[dict[bytes, tuple[Hash, int]]] = {b"SHA-256": (_sha256, 64), b"MD5": (_md5, 32)}
"""The best one first, each with how long its hashes are."""


def read_digest_accounts(text: bytes, realm: bytes) -> Iterator[Accounts | None]:
    """Read a file of ``htdigest`` step by step: yields None for each step, and at last the HA1 of the users of *realm*."""
    hashes: dict[bytes, bytes] = {}
    faults: list[LineFault] = []
    wrong = 0
    for number, line in enumerate(lines_of(text[:MOST_BYTES]), 1):
        if not number % _STEP_LINES:
            yield None
        line = line.rstrip(b"\r")
        if not line or line.startswith(b"#"):
            continue
        user, *rest = line.split(b":")
        why: str | None = None
        if not user or len(rest) != 2:
            user, why = b"", "is not a user, a realm and a hash with colons between them"
        elif not _HA1(rest[1].rstrip()):
            why = "has no hash of 32 or 64 hexadecimal digits, as htdigest makes it"
        elif rest[0] != realm:
            why = "is of another realm than auth-realm"
        elif user in hashes:
            why = "names a user again; the first line counts"
        elif len(hashes) >= MOST_USERS:
            why = f"is beyond the {MOST_USERS} users that are read"
        else:
            hashes[user] = rest[1].rstrip().lower()
        if why is not None:
            wrong += 1
            if len(faults) < MOST_FAULTS:
                faults.append(LineFault(number, user, why))
    lengths = frozenset(map(len, hashes.values())) or frozenset({32})
    yield Accounts(hashes, tuple(faults), wrong - len(faults), lengths=lengths)


def digest_accounts_of(text: bytes, realm: bytes) -> Accounts:
    """Read all of a file at once: for threads."""
    found = [one for one in read_digest_accounts(text, realm) if one is not None]
    return found[-1]


def parameters(value: bytes) -> dict[bytes, bytes] | None:
    """Read the value of ``Authorization``: what the scheme Digest needs, by name in lower case; None for anything else."""
    if value[:7].lower() != b"digest " or len(value) > MOST_FIELD_BYTES:
        return None
    found: dict[bytes, bytes] = {}
    at = 7
    while at < len(value):
        one = _PARAMETER.match(value, at)
        if one is None or one[1].lower() in found:
            return None
        found[one[1].lower()] = one[3] if one[2] is None else re.sub(rb"\\(.)", rb"\1", one[2])
        at = one.end()
    if not found.keys() >= _WANTED or found[b"qop"] != b"auth" or not _COUNT(found[b"nc"]):
        return None
    return None if found.get(b"userhash", b"false") != b"false" else found


@frozen(cache_hash=True)
class DigestCheck:
    """Answers 401 unless the user knows the password of an account, which he proves without saying it."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "digest-passwords"

    accounts: bytes = field(repr=False)
    """The file, as ``htdigest`` makes it."""
    realm: str = ""

    def describe(self) -> str:
        """Say what is asked."""
        return "asks for a user and a proof of his password"

    def make(self, services: Services) -> Filter:
        """Make the filter that asks."""
        return _Check(self, services)


@define
class _Use:
    """What is remembered of a nonce: the counts that came with it, a bit for each."""

    counts: int = 0


class _Check(Filter):
    def __init__(self, spec: DigestCheck, services: Services) -> None:
        self._file = spec.accounts
        self._realm = spec.realm.encode("utf-8")
        self._quoted_realm = quoted_realm(spec.realm)
        self._services = services
        self._key = blake2b(self._realm + b"\0" + self._file, key=services.secret, digest_size=32).digest()
        # Stands in for the hash of who is unknown; nobody else can know it.
        self._stand_in = blake2b(b"nobody", key=self._key, digest_size=32).hexdigest().encode()
        self._accounts: Accounts | None = None
        self._made = 0
        # By number, in the order in which they were made; and the last number that was forgotten.
        self._used: dict[int, _Use] = {}
        self._forgotten = 0
        shared: SharedNonces | None = services.state(Scope.PROCESS, NONCES, lambda: None)
        self._shared = shared
        if shared is not None:
            # No two workers make the same one, and none has to be after another.
            self._made = int(services.random() * (1 << 62))

    def on_request(self, facts: Facts) -> Reply | Awaitable[Reply | None] | None:
        if self._accounts is not None:
            return self._judge(facts, self._accounts)
        try:
            reading = partial(digest_accounts_of, self._file, self._realm)
            return self._read(facts, self._services.compute(reading, once=self))
        except ComputingRefused as refused:
            self._services.count("busy")
            return TOO_MANY if refused.is_own else TOO_BUSY

    async def _read(self, facts: Facts, coming: Awaitable[Accounts]) -> Reply | None:
        self._accounts = accounts = await coming
        return self._judge(facts, accounts)

    def _judge(self, facts: Facts, accounts: Accounts) -> Reply | None:
        given = parameters(facts.field(b"authorization"))
        if given is None or given[b"realm"] != self._realm or given[b"uri"] != facts.target:
            return self._challenge(accounts)
        algorithm = _ALGORITHMS.get(given.get(b"algorithm", b"MD5").upper())
        if algorithm is None:
            return self._challenge(accounts)
        hashed, length = algorithm
        known = accounts.hashes.get(given[b"username"], b"")
        # Whoever is unknown takes as long.
        secret = known if len(known) == length else self._stand_in[:length]
        proof = b":".join(
            (
                secret,
                given[b"nonce"],
                given[b"nc"],
                given[b"cnonce"],
                b"auth",
                hashed(facts.method + b":" + given[b"uri"]),
            )
        )
        if not compare_digest(hashed(proof), given[b"response"].lower()) or secret is not known:
            self._services.count("refused")
            return self._challenge(accounts)
        if not self._is_fresh(given[b"nonce"], int(given[b"nc"], 16)):
            return self._challenge(accounts, is_stale=True)
        return None

    def _challenge(self, accounts: Accounts, *, is_stale: bool = False) -> Reply:
        nonce = self._nonce()
        stale = b", stale=true" if is_stale else b""
        fields = [
            (
                b"WWW-Authenticate",
                b'Digest realm=%b, qop="auth", algorithm=%b, nonce="%b"%b'
                % (self._quoted_realm, name, nonce, stale),
            )
            for name, (_, length) in _ALGORITHMS.items()
            if length in accounts.lengths
        ]
        why = (
            "what the client signed has gone stale, and it may sign again"
            if is_stale
            else "no user and password, or wrong ones"
        )
        return status_reply(401, *fields, reason=why)

    def _nonce(self) -> bytes:
        self._made += 1
        text = b"%016x%016x" % (self._made, int(self._services.clock.seconds() * 1000))
        return text + self._signed(text)

    def _signed(self, text: bytes) -> bytes:
        return blake2b(text, key=self._key, digest_size=24).hexdigest().encode()

    def _is_fresh(self, nonce: bytes, count: int) -> bool:
        """Whether *nonce* is ours, not too old, and did not come with this count before; notes that it did now."""
        if not _NONCE(nonce) or not compare_digest(self._signed(nonce[:32]), nonce[32:]):
            return False
        number, made = int(nonce[:16], 16), int(nonce[16:32], 16) / 1000
        age = self._services.clock.seconds() - made
        if not 0 <= age <= NONCE_SECONDS or not 0 < count <= MOST_COUNT:
            return False
        if self._shared is not None:
            return self._shared.is_new(self._key + nonce[:32], int(nonce[16:32], 16), count)
        use = self._used.get(number)
        if use is None:
            if number <= self._forgotten:
                return False
            if len(self._used) >= MOST_NONCES:
                oldest = min(self._used)
                del self._used[oldest]
                self._forgotten = max(self._forgotten, oldest)
                if number <= self._forgotten:
                    return False
            use = self._used[number] = _Use()
        if use.counts >> count & 1:
            return False
        use.counts |= 1 << count
        return True

"""The check of passwords by HTTP Basic (RFC 7617): who shows one of the accounts of a Secret gets in.

Hashes take a thousandth to a quarter of a second each, and are computed in threads, some at a time.  Whoever is beyond
that is refused without any: 429 where it is the same client who has others under way, 503 where all are busy.  A password that was
good is remembered for a minute, by a keyed hash and in this filter alone: another content of the Secret is another filter, which
remembers nothing.  A user who does not exist takes as long as one who does.
"""

from binascii import Error, a2b_base64
from collections.abc import Awaitable
from functools import partial
from hashlib import blake2b
from typing import ClassVar, Final
from weakref import WeakKeyDictionary

from attrs import field

from ingress.annotations.passwords.htpasswd import MOST_PASSWORD_BYTES, Accounts, accounts_of, admits
from ingress.annotations.rate_limits.family import Clients
from ingress.filter_parts.judging import status_reply
from ingress.filters import ComputingRefused, Facts, Filter, Phase, Reply, RequestEdit, Scope, Services
from ingress.model.frozen import frozen

GOOD_SECONDS: Final = 60.0
"""For how long a verdict is remembered."""
MOST_REMEMBERED: Final = 4096
"""Verdicts of one filter."""
MOST_READ: Final = 8
"""Files of which what was read is kept."""
MOST_FIELD_BYTES: Final = 4096
"""Of ``Authorization``; what is longer is no password."""
RETRY_SECONDS: Final = 2

TOO_MANY: Final = status_reply(
    429,
    (b"Retry-After", b"%d" % RETRY_SECONDS),
    reason="other passwords of this client are being checked still",
)
TOO_BUSY: Final = status_reply(
    503, (b"Retry-After", b"%d" % RETRY_SECONDS), reason="more passwords are to be checked than can be"
)

Credentials = tuple[bytes, bytes]
"""User and password."""


def credentials(value: bytes) -> Credentials | None:
    """Read the value of ``Authorization``: user and password, None for what has not both, or is none of the scheme Basic.

    The user has no colon and is not empty; the password has whatever follows the first colon.
    """
    if value[:6].lower() != b"basic " or len(value) > MOST_FIELD_BYTES:
        return None
    encoded = value[6:].strip(b" ")
    try:
        # Without the signs that fill it up it means the same, and nginx takes it.
        decoded = a2b_base64(encoded.rstrip(b"=") + b"=" * (-len(encoded.rstrip(b"=")) % 4), strict_mode=True)
    except Error:
        return None
    user, colon, password = decoded.partition(b":")
    if not user or not colon or len(password) > MOST_PASSWORD_BYTES:
        return None
    return user, password


def quoted_realm(realm: str) -> bytes:
    """Return *realm* as a quoted string (RFC 9110 section 5.6.4)."""
    escaped = realm.replace("\\", "\\\\").replace('"', '\\"')
    return b'"' + escaped.encode("utf-8") + b'"'


@frozen(cache_hash=True)
class PasswordCheck:
    """Answers 401 unless user and password are those of an account."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "passwords"

    accounts: bytes = field(repr=False)
    """The file (``ingress.annotations.passwords.htpasswd``)."""
    realm: str = ""
    """What browsers show whoever they ask."""

    def describe(self) -> str:
        """Say what is asked."""
        return "asks for a user and a password"

    def make(self, services: Services) -> Filter:
        """Make the filter that asks."""
        return _Check(self, services)


class _File:
    """The file of one filter, and what was read of it, as long as that is kept; both go with the filter, and so with the Secret."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.accounts: Accounts | None = None


class _LastRead:
    """Keeps what was read of the files that were asked for last: of a megabyte it takes ten."""

    def __init__(self) -> None:
        # A file that is in use no more is not kept for this.
        self._files: WeakKeyDictionary[_File, None] = WeakKeyDictionary()

    def note(self, file: _File) -> None:
        """Note that *file* was asked for."""
        self._files.pop(file, None)
        self._files[file] = None
        if len(self._files) > MOST_READ:
            oldest = next(iter(self._files))
            del self._files[oldest]
            oldest.accounts = None


class _Check(Filter):
    def __init__(self, spec: PasswordCheck, services: Services) -> None:
        self._file = _File(spec.accounts)
        self._services = services
        self._last_read: _LastRead = services.state(Scope.WORKER, "files", _LastRead)
        challenge = b"Basic realm=" + quoted_realm(spec.realm)
        self._unauthorized = status_reply(
            401, (b"WWW-Authenticate", challenge), reason="no user and password, or wrong ones"
        )
        self._good: dict[bytes, float] = {}
        self._name = Clients().naming()

    def on_request(self, facts: Facts) -> Reply | Awaitable[Reply | None] | None:
        shown = credentials(facts.field(b"authorization"))
        if shown is None:
            return self._unauthorized
        user, password = shown
        mark = blake2b(
            b"%d:%b:%b" % (len(user), user, password), key=self._services.secret, digest_size=32
        ).digest()
        until = self._good.get(mark)
        if until is not None and self._services.clock.seconds() < until:
            return None
        verdict = partial(_verdict, self._file, user, password, self._services.secret)
        try:
            coming = self._services.compute(verdict, whose=self._name(facts.client), once=(self, mark))
        except ComputingRefused as refused:
            self._services.count("busy")
            return TOO_MANY if refused.is_own else TOO_BUSY
        return self._decide(coming, mark)

    async def _decide(self, coming: Awaitable[bool], mark: bytes) -> Reply | None:
        is_good = await coming
        self._last_read.note(self._file)
        if not is_good:
            self._services.count("refused")
            return self._unauthorized
        self._remember(mark)
        return None

    def _remember(self, mark: bytes) -> None:
        # The first is the oldest: what is remembered anew goes to the end.
        self._good.pop(mark, None)
        if len(self._good) >= MOST_REMEMBERED:
            del self._good[next(iter(self._good))]
        self._good[mark] = self._services.clock.seconds() + GOOD_SECONDS


def _verdict(file: _File, user: bytes, password: bytes, secret: bytes) -> bool:
    """Thread: verify."""
    mark = int.from_bytes(blake2b(user, key=secret, digest_size=8).digest(), "big")
    accounts = file.accounts
    if accounts is None:
        accounts = file.accounts = accounts_of(file.text)
    return admits(accounts, user, password, mark)


@frozen
class CredentialsKept:
    """Keeps ``Authorization`` from endpoints, which learn nobody's password: ingress-nginx does not pass it, either."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "credentials-kept"

    def describe(self) -> str:
        """Say what endpoints are not told."""
        return "does not pass Authorization to endpoints"

    def make(self, services: Services) -> Filter:
        """Make the filter that drops it."""
        return _Keeps()


class _Keeps(Filter):
    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        edit.drop(b"Authorization")

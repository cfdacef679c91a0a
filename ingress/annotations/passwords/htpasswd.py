"""The lines of ``htpasswd`` files: users, and hashes of their passwords, as far as these can be verified here.

A line is a user, a colon and a hash; what follows another colon is a comment, as is a line that begins with ``#``.  Of
several lines with one user the first counts.  Verified are the hashes that nginx verifies and ``htpasswd`` makes: bcrypt, apr1 and ``$1$``
(both of MD5, a thousand times), ``{SHA}``, ``{SSHA}`` and ``{PLAIN}``.  Others are told, and let nobody in: DES cuts passwords off after eight
characters, a SHA crypt may ask for a thousand million rounds, and bcrypt of a cost above 12 keeps a processor for a second.

Reading is in steps, since a Secret may have a megabyte.  Verifying takes long, and is for threads.
"""

import binascii
import re
from collections.abc import Iterator
from hashlib import md5, sha1
from hmac import compare_digest
from itertools import islice
from typing import Final

from ingress.model.frozen import frozen

MOST_USERS: Final = 50_000
MOST_BYTES: Final = 1024 * 1024
"""Of a file; the API allows no more for a Secret."""
MOST_FAULTS: Final = 10
"""Of a file, that are told one by one."""
MAX_COST: Final = 12
"""Of bcrypt: each step doubles the time, and this takes a quarter of a second."""
MOST_PASSWORD_BYTES: Final = 1024
"""A longer one is refused unseen."""

_STEP_LINES: Final = 150
_SAMPLES: Final = 64
_BCRYPT_BYTES: Final = 72
_ITOA64: Final = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_BCRYPT: Final = re.compile(rb"\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}").fullmatch
_MD5_CRYPT: Final = re.compile(rb"(\$apr1\$|\$1\$)([^$]{0,8})\$([./0-9A-Za-z]{22})").fullmatch
_BASE64: Final = re.compile(rb"\{(SHA|SSHA)\}([A-Za-z0-9+/]+={0,2})").fullmatch
_PLAIN: Final = b"{PLAIN}"
_VERIFIED: Final = "bcrypt (htpasswd -B), apr1, {SHA}, {SSHA} and {PLAIN} are verified"


@frozen
class LineFault:
    """A line that lets nobody in."""

    line: int
    """From one."""
    user: bytes
    """Empty where it is not even known."""
    why: str
    """The rest of a sentence; never anything of the hash."""


@frozen(eq=False)
class Accounts:
    """What a file says: hashes by user, those that can be verified, and the first lines of the rest."""

    hashes: dict[bytes, bytes]
    faults: tuple[LineFault, ...] = ()
    more: int = 0
    """How many lines besides *faults* let nobody in."""
    samples: tuple[bytes, ...] = ()
    """Some of the hashes: an unknown user takes the time of one of these."""
    lengths: frozenset[int] = frozenset()
    """How long the hashes are, where that tells how they were made."""


def read_accounts(text: bytes) -> Iterator[Accounts | None]:
    """Read a file step by step: yields None for each step, and what it says at last."""
    hashes: dict[bytes, bytes] = {}
    known: set[bytes] = set()
    faults: list[LineFault] = []
    wrong = 0
    for number, line in enumerate(lines_of(text[:MOST_BYTES]), 1):
        if not number % _STEP_LINES:
            yield None
        line = line.rstrip(b"\r")
        if not line or line.startswith(b"#"):
            continue
        user, colon, rest = line.partition(b":")
        why: str | None = None
        if not colon or not user:
            user, why = b"", "has no user and no hash with a colon between them"
        elif user in known:
            why = "names a user again; the first line counts"
        elif len(known) >= MOST_USERS:
            why = f"is beyond the {MOST_USERS} users that are read"
        else:
            known.add(user)
            hashed = rest.partition(b":")[0]
            if not hashed.startswith(_PLAIN):
                hashed = hashed.rstrip(b" \t")
            why = fault_of(hashed)
            if why is None:
                hashes[user] = hashed
        if why is not None:
            wrong += 1
            if len(faults) < MOST_FAULTS:
                faults.append(LineFault(number, user, why))
    yield Accounts(hashes, tuple(faults), wrong - len(faults), tuple(islice(hashes.values(), _SAMPLES)))


def lines_of(text: bytes) -> Iterator[bytes]:
    """Yield the lines, one at a time: to split a megabyte at once takes as long as many steps."""
    start = 0
    while (end := text.find(b"\n", start)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def fault_of(hashed: bytes) -> str | None:
    """Say why nobody can be verified by *hashed*; None where that is not so.  Shows nothing of it."""
    if hashed.startswith(b"$2"):
        found = _BCRYPT(hashed)
        if found is None:
            return "has a bcrypt hash that is not whole"
        cost = int(found[1])
        if cost < 4 or cost > MAX_COST:
            return f"has a bcrypt hash of cost {cost}; 4 to {MAX_COST} are verified"
        return None
    if hashed.startswith((b"$apr1$", b"$1$")):
        return None if _MD5_CRYPT(hashed) else "has an MD5 hash that is not whole"
    if hashed.startswith((b"$5$", b"$6$")):
        return f"has a hash of SHA crypt, which is not verified here; {_VERIFIED}"
    if hashed.startswith(_PLAIN):
        return None
    if hashed.startswith((b"{SHA}", b"{SSHA}")):
        digest = _digest_of(hashed)
        salted = hashed.startswith(b"{SSHA}")
        good = digest is not None and (len(digest) >= 20 if salted else len(digest) == 20)
        return None if good else "has a SHA hash that is not whole"
    if not hashed:
        return "has no hash"
    return f"has a hash of a sort that is not verified here; {_VERIFIED}"


def _digest_of(hashed: bytes) -> bytes | None:
    found = _BASE64(hashed)
    if found is None or len(found[2]) > 256:
        return None
    try:
        return binascii.a2b_base64(found[2], strict_mode=True)
    except binascii.Error:
        return None


def admits(accounts: Accounts, user: bytes, password: bytes, mark: int) -> bool:
    """Say whether *password* is that of *user*; an unknown user takes as long as a known one.

    *mark* is a number for each user that nobody can foretell: by it is chosen which hash an unknown user is verified by.
    """
    hashed = accounts.hashes.get(user)
    if hashed is not None:
        return verify(password, hashed)
    if accounts.samples:
        verify(password, accounts.samples[mark % len(accounts.samples)])
    return False


def verify(password: bytes, hashed: bytes) -> bool:
    """Say whether *password* is the one of *hashed*, of which ``fault_of`` says nothing; takes up to a quarter of a second."""
    if hashed.startswith(b"$2"):
        # As crypt(3) does, which nginx asks: a C text ends at its first NUL, and bcrypt looks at 72 bytes.
        return _bcrypt_verify(password[:_BCRYPT_BYTES], hashed)
    if hashed.startswith(b"$"):
        return compare_digest(_md5_crypt(password, hashed), hashed)
    if hashed.startswith(_PLAIN):
        return compare_digest(password, hashed[len(_PLAIN) :])
    digest = _digest_of(hashed)
    assert digest is not None
    return compare_digest(sha1(password + digest[20:], usedforsecurity=False).digest(), digest[:20])


def _bcrypt_verify(password: bytes, hashed: bytes) -> bool:
    # Who only reads options needs no bcrypt.
    import bcrypt

    return bcrypt.checkpw(password, hashed)


def _md5_crypt(password: bytes, hashed: bytes) -> bytes:
    """Hash *password* as *hashed* was: the MD5 crypt of FreeBSD, and Apache's with another magic."""
    found = _MD5_CRYPT(hashed)
    assert found is not None
    magic, salt = found[1], found[2]
    inner = md5(password + salt + password, usedforsecurity=False).digest()
    length = len(password)
    start = password + magic + salt + (inner * (length // 16 + 1))[:length]
    bits = length
    while bits:
        start += b"\0" if bits & 1 else password[:1]
        bits >>= 1
    digest = md5(start, usedforsecurity=False).digest()
    for turn in range(1000):
        text = password if turn & 1 else digest
        if turn % 3:
            text += salt
        if turn % 7:
            text += password
        digest = md5(text + (digest if turn & 1 else password), usedforsecurity=False).digest()
    shown = bytearray()
    for one, two, three in ((0, 6, 12), (1, 7, 13), (2, 8, 14), (3, 9, 15), (4, 10, 5)):
        _show(shown, digest[one] << 16 | digest[two] << 8 | digest[three], 4)
    _show(shown, digest[11], 2)
    return magic + salt + b"$" + bytes(shown)


def _show(into: bytearray, value: int, signs: int) -> None:
    for _ in range(signs):
        into.append(_ITOA64[value & 0x3F])
        value >>= 6


def accounts_of(text: bytes) -> Accounts:
    """Read all of a file at once: for threads."""
    found = [one for one in read_accounts(text) if one is not None]
    return found[-1]

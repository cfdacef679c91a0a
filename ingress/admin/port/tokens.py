"""The tokens of ``--admin-token-file``: one a line, read again when the file is another.

A file that is gone, or has no token in it, lets nobody in.
"""

import os
import stat
from collections.abc import Collection
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ingress.errors import StartError

OPTION: Final = "--admin-token-file"
LEAST_CHARACTERS: Final = 16
MOST_BYTES: Final = 65536
LOOK_SECONDS: Final = 1.0
"""How often it is looked at whether the file is another, while somebody asks."""

_Signature = tuple[int, int, int, int]


class TokensRefusedError(ValueError):
    """A file that has no tokens; the message says why, as the end of a sentence."""


def read_tokens(octets: bytes) -> tuple[bytes, ...]:
    """Return the digests of the tokens in *octets*; raises ``TokensRefusedError``.  Empty lines count for nothing, nor do those that begin with ``#``."""
    lines = [line.strip() for line in octets.splitlines()]
    tokens = [(number, line) for number, line in enumerate(lines, 1) if line and not line.startswith(b"#")]
    if not tokens:
        raise TokensRefusedError("has no token in it")
    for number, line in tokens:
        if len(line) < LEAST_CHARACTERS or not all(0x21 <= one <= 0x7E for one in line):
            raise TokensRefusedError(
                f"has something else in line {number} than a token: {LEAST_CHARACTERS} or more printable characters of ASCII, without spaces"
            )
    return tuple(digest_of(line) for _, line in tokens)


def digest_of(token: bytes) -> bytes:
    """Return what is compared, which has the same length for all."""
    return sha256(token).digest()


def is_among(token: bytes, digests: Collection[bytes]) -> bool:
    """Say whether *token* is one of those with *digests*; takes as long whichever it is."""
    found, ours = False, digest_of(token)
    for digest in digests:
        found |= compare_digest(digest, ours)
    return found


class TokenFile:
    """The file at *path*, by the seconds of *clock*."""

    log = Logger()

    def __init__(self, path: str, clock: IReactorTime) -> None:
        self._path = path
        self._clock = clock
        self._digests: tuple[bytes, ...] = ()
        self._signature: _Signature | None = None
        self._looks_at = 0.0
        self._trouble = ""

    def __repr__(self) -> str:
        return f"<TokenFile {self._path} with {len(self._digests)}>"

    def begin(self) -> None:
        """Read it for the first time; raises ``StartError``."""
        try:
            self._read()
        except TokensRefusedError as refused:
            raise StartError(f"{OPTION} {self._path} {refused}") from None

    def allows(self, token: bytes) -> bool:
        """Say whether *token* is in it."""
        if self._clock.seconds() >= self._looks_at:
            self._look()
        return is_among(token, self._digests)

    def _look(self) -> None:
        try:
            self._read()
        except TokensRefusedError as refused:
            self._digests, self._signature = (), None
            if str(refused) != self._trouble:
                self._trouble = str(refused)
                self.log.error(
                    "{option} {path} {refused}: nobody gets in by a token until it has some",
                    option=OPTION,
                    path=self._path,
                    refused=self._trouble,
                )

    def _read(self) -> None:
        self._looks_at = self._clock.seconds() + LOOK_SECONDS
        try:
            found = os.stat(self._path)
            if not stat.S_ISREG(found.st_mode):
                raise TokensRefusedError("is no file")
            # The last is what nobody sets: tokens have one length, and whoever copies a file may give it the time of another.
            signature = found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns
            if signature == self._signature:
                return
            with open(self._path, "rb") as file:
                octets = file.read(MOST_BYTES + 1)
        except OSError as error:
            raise TokensRefusedError(f"cannot be read: {error.strerror}") from None
        if len(octets) > MOST_BYTES:
            raise TokensRefusedError(f"has more than {MOST_BYTES} bytes")
        self._digests = read_tokens(octets)
        if self._trouble:
            self._trouble = ""
            self.log.info("{option} {path} has tokens again", option=OPTION, path=self._path)
        self._signature = signature

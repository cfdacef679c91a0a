"""The TLS suites of a host: ``ssl-ciphers`` and ``ssl-prefer-server-ciphers``.

The value is never handed to OpenSSL as it is.  It is read here, as far as it chooses among the suites that
the profile allows: a tenant can narrow what a host offers, and put it in order, but not bring back what is weak.
As with OpenSSL, what is not known or not spoken is left out as long as anything is left; a note tells of it.

Source of the words: ``openssl-ciphers(1)``, "CIPHER STRINGS".
"""

import re
from collections.abc import Iterator
from typing import Final

from ingress.annotations.contract.values import (
    Annotation,
    Family,
    Remark,
    ValueRefused,
    parse_boolean,
    quoted,
)
from ingress.model.frozen import frozen

ALLOWED_SUITES: Final = (
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
)
"""Suites of TLS 1.2 with forward secrecy and authenticated encryption: Mozilla's "intermediate"
list, without finite-field Diffie-Hellman, for which there are no parameters here."""

_MAX_CHARACTERS = 4096


# What a word, or a part of one between signs of addition, says of the name of a suite.
_WORDS: Final = {
    **dict.fromkeys(("ALL", "DEFAULT", "HIGH", "ECDHE", "EECDH", "kECDHE", "kEECDH", "TLSv1.2"), ""),
    **dict.fromkeys(("aRSA", "RSA"), "-RSA-"),
    **dict.fromkeys(("aECDSA", "ECDSA"), "-ECDSA-"),
    "AES": "-AES",
    "AES128": "-AES128-",
    "AES256": "-AES256-",
    "AESGCM": "-GCM-",
    "CHACHA20": "-CHACHA20-",
    "SHA256": "-SHA256",
    "SHA384": "-SHA384",
}
_REMOVING: Final = ("!", "-")
_MOST_TOLD: Final = 5


@frozen
class Suites:
    """What a list of suites comes to."""

    kept: tuple[str, ...] = ()
    """Those that are offered, in order; empty: nothing was said."""
    left_out: tuple[str, ...] = ()
    """Words that add nothing, since what they stand for is not spoken here."""


def parse_suites(text: str) -> Suites:
    """Read a list of suites and words, separated by colons, commas or blanks."""
    if len(text) > _MAX_CHARACTERS:
        raise ValueRefused(f"is longer than {_MAX_CHARACTERS} characters")
    kept: dict[str, None] = {}
    removed: set[str] = set()
    left_out: dict[str, None] = {}
    for word in re.split(r"[:,\s]+", text.strip()):
        if word.startswith(_REMOVING):
            gone = set(_matching(word[1:]))
            for suite in gone:
                kept.pop(suite, None)
            if word.startswith("!"):
                removed |= gone
        elif word.startswith(("@", "+")):
            # Their order by strength is the one that they have; what is put at the end is there anyway.
            continue
        elif word:
            found = [suite for suite in _matching(word) if suite not in removed]
            kept.update(dict.fromkeys(found))
            if not found:
                left_out[word] = None
    if not kept:
        raise ValueRefused(f"leaves no suite that is spoken here; write some of {', '.join(ALLOWED_SUITES)}")
    return Suites(tuple(kept), tuple(left_out))


def _matching(word: str) -> Iterator[str]:
    """Yield the suites that *word* stands for, in the order of the profile."""
    if word in ALLOWED_SUITES:
        yield word
        return
    marks = [_WORDS.get(part) for part in word.split("+")]
    if None not in marks:
        yield from (suite for suite in ALLOWED_SUITES if all(mark in suite for mark in marks if mark))


@frozen
class CipherSettings:
    """What the annotations of one Ingress say about suites; they hold for its hosts as a whole."""

    chosen: Suites = Suites()
    prefers_server: bool = True
    """Whether our order is asked for, which decides in any case."""


def _remarks(settings: CipherSettings, names: frozenset[str]) -> Iterator[Remark]:
    left_out = settings.chosen.left_out
    if left_out:
        more = ", …" if len(left_out) > _MOST_TOLD else ""
        words = ", ".join(map(quoted, left_out[:_MOST_TOLD]))
        yield Remark(
            "ssl-ciphers",
            f"{words}{more}: left out, as unknown, or without forward secrecy or authenticated encryption,"
            " or of TLS 1.3, whose suites are all offered",
        )
    if not settings.prefers_server:
        yield Remark(
            "ssl-prefer-server-ciphers",
            "the order of the host decides all the same, but for clients that prefer ChaCha20-Poly1305, who get it",
        )


CIPHERS: Final = Family(
    name="ciphers",
    settings=CipherSettings(),
    acts="the handshakes of the host",
    remarks=_remarks,
    annotations={
        "ssl-ciphers": Annotation(
            "chosen",
            parse_suites,
            values="suites of TLS 1.2 by name, or words such as `HIGH` and `!aNULL`, with colons between them",
            meaning="which suites the host offers, in order",
            differs="suites that are unknown, or lack forward secrecy or authenticated encryption, are left out, which a note tells",
        ),
        "ssl-prefer-server-ciphers": Annotation(
            "prefers_server",
            parse_boolean,
            values="`true` or `false`; true",
            meaning="has the order of the host decide, and not that of clients",
            differs="with `false` the order of the host decides, too, which a note tells; clients that prefer ChaCha20-Poly1305 get it in any case",
        ),
    },
)

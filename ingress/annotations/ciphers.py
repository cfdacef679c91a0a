"""The TLS suites of a host: ``ssl-ciphers`` and ``ssl-prefer-server-ciphers``.

The value is never handed to OpenSSL as it is.  It is a list of suites by name, and each has
to be one of those that the profile allows: a tenant can narrow what a host offers, and put
it in order, but not bring back what is weak.  OpenSSL's keywords and operators
(``HIGH:!aNULL``, ``@SECLEVEL=0``) mean another set in each of its versions and are refused.
"""

from typing import Final

from attrs import frozen

from ingress.annotations.values import Annotation, Family, ValueRefused, parse_boolean, quoted

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


def parse_suites(text: str) -> tuple[str, ...]:
    """Read a list of suites, separated by colons, each once."""
    if len(text) > _MAX_CHARACTERS:
        raise ValueRefused(f"is longer than {_MAX_CHARACTERS} characters")
    names = [name.strip() for name in text.strip().split(":")]
    for name in names:
        if name.startswith("TLS_"):
            raise ValueRefused(
                f"names {quoted(name)}; suites of TLS 1.3 are not chosen here, and all of them are sound"
            )
        if name not in ALLOWED_SUITES:
            raise ValueRefused(f"names {quoted(name)}; write suites out of {', '.join(ALLOWED_SUITES)}")
    return tuple(dict.fromkeys(names))


@frozen
class CipherSettings:
    """What the annotations of one Ingress say about suites; they hold for its hosts as a whole."""

    suites: tuple[str, ...] = ()
    """Empty: it says nothing."""
    prefers_server: bool | None = None
    """None: it says nothing."""


CIPHERS: Final = Family(
    name="ciphers",
    settings=CipherSettings(),
    acts="the handshakes of the host",
    annotations={
        "ssl-ciphers": Annotation("suites", parse_suites),
        "ssl-prefer-server-ciphers": Annotation("prefers_server", parse_boolean),
    },
)

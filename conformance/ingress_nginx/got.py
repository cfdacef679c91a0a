"""The answer to one request, by whichever version of HTTP it came."""

from dataclasses import dataclass

TIMEOUT_SECONDS = 8.0
LONGEST = 4 * 1024 * 1024
PATIENCE_SECONDS = 1.0
"""For how long an interim answer is waited for (RFC 9110, section 10.1.1: not indefinitely)."""


@dataclass(frozen=True)
class Got:
    """An answer: ``status`` is 0 where there was none, and ``ended`` says how it came to that, or whether its end was missing.

    ``interim`` are the statuses of what came before it, ``protocol`` is what TLS agreed on besides HTTP/1.1, ``trailers`` came behind the body.
    """

    status: int = 0
    fields: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    ended: str = ""
    certificate: str = ""
    interim: tuple[int, ...] = ()
    protocol: str = ""
    trailers: tuple[tuple[str, str], ...] = ()

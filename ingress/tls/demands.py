"""What all hosts of a table ask of clients, as 32 bytes that are others once any of it is.

Sessions are bound to these bytes.  They depend on what is asked, and not on the way to it: each process that serves the same has the
same, also one that was begun later.  A change costs as much as what is different.
"""

from collections.abc import Iterable
from hashlib import sha256, shake_256
from typing import Final

from ingress.identity.certificates import Certificate
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.model.stepwise import Stepwise

_SUM_BYTES: Final = 256
"""Of a sum of digests, one for each host, in any order.  Who could choose the parts finds two equal sums of that length no faster
than by 2 to the power of 80 attempts (Bellare and Micciancio 1997, Wagner 2002)."""
AT_ONCE: Final = 40
"""Hosts that ask for something else which are taken in one step: each is some digests, with the certificates of its authorities."""
_MODULUS: Final = 1 << (8 * _SUM_BYTES)


class Demands:
    """What is asked, by host; *table* names whose hosts they are."""

    def __init__(self, table: str = "") -> None:
        self._table = table.encode()
        self._sum = 0

    def changing(
        self,
        portions: Iterable[Iterable[tuple[str, ClientAuthentication | None, ClientAuthentication | None]]],
        *,
        is_beside: bool = False,
    ) -> Stepwise[None]:
        """Have each host of *portions* ask no more for the first and now for the second; in between ``digest`` stands for nothing.

        A portion is a step, or some where many ask for something else.

        *is_beside* tells hosts of Gateways beside from others.
        """
        place = _digest_of(b"beside" if is_beside else b"")
        # Many hosts ask for the same, and certificates of authorities are long.
        known: dict[ClientAuthentication, bytes] = {}
        done = 0
        for number, portion in enumerate(portions):
            if number:
                yield
            for host, before, after in portion:
                if before == after:
                    continue
                done += 1
                if not done % AT_ONCE:
                    yield
                name = _digest_of(host.encode())
                for asked, sign in ((before, -1), (after, 1)):
                    if asked is not None:
                        parts = known.get(asked)
                        if parts is None:
                            parts = known[asked] = b"".join(map(_digest_of, _parts(asked)))
                        self._sum = (self._sum + sign * _number(place, name, parts)) % _MODULUS

    def digest(self, default: Certificate | None) -> bytes:
        """Return 32 bytes for what is asked now, with *default* as the certificate of those without name."""
        fingerprint = b"" if default is None else default.fingerprint.encode()
        return _digest(self._table, fingerprint, self._sum.to_bytes(_SUM_BYTES, "big"))

    def __repr__(self) -> str:
        return f"<Demands of {self._table.decode() or 'the main table'}>"


def _parts(asked: ClientAuthentication) -> tuple[bytes, ...]:
    return (
        asked.source.encode(),
        asked.ca_pem,
        asked.crl_pem,
        asked.mode.value.encode(),
        b"%d" % asked.depth,
    )


def _digest(*parts: bytes) -> bytes:
    """Return a digest that no other parts have, whatever they would be joined to."""
    return _digest_of(b"".join(map(_digest_of, parts)))


def _digest_of(part: bytes) -> bytes:
    return sha256(part).digest()


def _number(*digests: bytes) -> int:
    return int.from_bytes(shake_256(_digest_of(b"".join(digests))).digest(_SUM_BYTES), "big")

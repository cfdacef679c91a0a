"""Who may see the pages: with ``--admin-token-file``, whoever asks from this machine, and whoever has a token.

    no token ──▶ 401 at once, by which browsers ask for one
    a wrong one ──▶ 401 after a second; of one address few wait so, and beyond that no token is looked at (429)

However quickly somebody asks, he tries as many tokens as there are places to wait in, each second, and whether he stays for the answer
makes no difference.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress, IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from ingress.admin.contract.answers import Answer
from ingress.admin.contract.page_row import Made
from ingress.admin.port.tokens import TokenFile
from ingress.metrics.series.admin import AdminMetrics, AdminRefusal

WAIT_SECONDS: Final = 1.0
MOST_OF_ONE: Final = 4
"""Wrong tokens of one address that wait for their answer; an IPv6 network of 64 bits counts as one."""
MOST_WAITING: Final = 256
TELL_SECONDS: Final = 60.0
"""The log tells of wrong tokens at most so often."""

_REALM: Final = 'realm="txingress", charset="UTF-8"'
UNAUTHORIZED: Final = Answer(
    b"this page needs a token of --admin-token-file: as Authorization: Bearer TOKEN, or as a password with any name\n",
    status=401,
    fields=(("WWW-Authenticate", f"Basic {_REALM}"), ("WWW-Authenticate", f"Bearer {_REALM}")),
)
TOO_MANY: Final = Answer(
    b"too many wrong tokens came from here\n", status=429, fields=(("Retry-After", "1"),)
)


def token_in(field: bytes) -> bytes | None:
    """Return the token that a value of ``Authorization`` has; None where it has none (RFC 6750 section 2.1, RFC 7617)."""
    scheme, _, rest = field.strip().partition(b" ")
    if scheme.lower() == b"bearer":
        return rest.strip() or None
    if scheme.lower() == b"basic":
        try:
            _, colon, password = b64decode(rest.strip(), validate=True).partition(b":")
        except Base64Error:
            return None
        return password if colon and password else None
    return None


def _address_of(host: str) -> IPv4Address | IPv6Address | None:
    """Return the address *host*, as IPv4 has it where IPv6 only carries it; None if it is none."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_of_this_machine(peer: IAddress | None) -> bool:
    """Say whether *peer* is a loopback address, or at a UNIX socket, whose permissions say who may ask."""
    host = getattr(peer, "host", None)
    if host is None:
        return hasattr(peer, "name")
    address = _address_of(host)
    return address is not None and address.is_loopback


def _whose(peer: IAddress | None) -> str:
    """Return whom *peer* counts as."""
    host = str(getattr(peer, "host", ""))
    address = _address_of(host)
    return (
        str(IPv6Network((address, 64), strict=False))
        if isinstance(address, IPv6Address)
        else str(address or host)
    )


class Access:
    """Lets whoever has one of *tokens* in, and everybody where these are None.

    *knows_peers* says that who asks is where the connection comes from, and not where a header says.
    """

    log = Logger()

    def __init__(
        self,
        tokens: TokenFile | None,
        clock: IReactorTime,
        metrics: AdminMetrics,
        knows_peers: bool = True,
    ) -> None:
        self._tokens = tokens
        self._clock = clock
        self._metrics = metrics
        self._knows_peers = knows_peers
        self._waiting: Counter[str] = Counter()
        self._untold = 0
        self._tells_at = clock.seconds()

    def refusal(self, peer: IAddress | None, fields: Sequence[bytes]) -> "Made | Deferred[Made] | None":
        """Return what *peer* is answered who may not see the pages; *fields* are the values of ``Authorization``."""
        if self._tokens is None or (self._knows_peers and is_of_this_machine(peer)):
            return None
        token = token_in(fields[0]) if len(fields) == 1 else None
        if token is None:
            self._metrics.refused(AdminRefusal.NO_TOKEN)
            return UNAUTHORIZED
        who = _whose(peer)
        if self._waiting[who] >= MOST_OF_ONE or self._waiting.total() >= MOST_WAITING:
            self._metrics.refused(AdminRefusal.TOO_MANY)
            return TOO_MANY
        if self._tokens.allows(token):
            return None
        self._metrics.refused(AdminRefusal.WRONG_TOKEN)
        self._tell(who)
        self._waiting[who] += 1
        # Whoever leaves keeps his place until then, or he need not wait.
        self._clock.callLater(WAIT_SECONDS, self._let_go, who)
        waiting: Deferred[Made] = deferLater(self._clock, WAIT_SECONDS, lambda: UNAUTHORIZED)
        return waiting

    def _let_go(self, who: str) -> None:
        self._waiting[who] -= 1
        if not self._waiting[who]:
            del self._waiting[who]

    def _tell(self, who: str) -> None:
        self._untold += 1
        now = self._clock.seconds()
        if now >= self._tells_at:
            self._tells_at = now + TELL_SECONDS
            self.log.warn(
                "Wrong tokens for the admin port: {count} since this was last said, the last one from {who}",
                count=self._untold,
                who=who,
            )
            self._untold = 0

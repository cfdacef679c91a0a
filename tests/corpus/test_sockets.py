"""The corpus over real sockets, on both networks, and a part of it over TLS."""

from tests.corpus.topics import EVERY
from tests.corpus.wires import CorpusCase

OVER_TLS = tuple((name, case) for name, case in EVERY if not case.finishes)[::3]
"""TLS has no half-close.  Each network has every other one of these."""


class TwistedTests(CorpusCase):
    """On Twisted's transports."""

    async def test_plain(self) -> None:
        """Every case goes as it must."""
        await self.play_all(EVERY)

    async def test_over_tls(self) -> None:
        """So do those over TLS."""
        await self.play_all(OVER_TLS[self.use_epoll :: 2], secure=True)


class EpollSetTests(TwistedTests):
    """On the epoll set."""

    use_epoll = True

"""What is made of the settings of TLS to endpoints, kept while anybody has these settings, and for a while after that.

Settings come with what is published, and with them private keys.  Who has them (what is published, a rotation, a connection in use)
is seen by weak references: what is kept here has a copy of its own, by which equal settings find it.  So a key is gone soon
after the last route that named its Secret, and the last connection that was made with it.  It is looked twice, for
settings are also put together anew, and whoever had them may be gone before a connection is made on the new ones.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import ClassVar, Final, Generic, NamedTuple, TypeVar
from weakref import ref

from attrs import define, evolve, field
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.model.stepwise import Stepwise
from ingress.model.upstream.upstream_tls import UpstreamTls
from ingress.process.in_slices import in_slices

LOOK_SECONDS: Final = 30.0
"""What nobody has at two looks in a row is let go: after half a minute to a minute."""
LOOKED_AT_ONCE: Final = 20
"""Settings in one step: to free an OpenSSL context takes some hundredths of a millisecond."""

V = TypeVar("V")


class Offer(NamedTuple):
    """The settings that a context is made of."""

    tls: UpstreamTls
    is_http2: bool


@define
class _Kept(Generic[V]):
    value: V
    holders: dict[int, ref[UpstreamTls]] = field(factory=dict)
    """Equal settings as others have them, by identity: there may be several such objects."""
    was_left: bool = False
    """Whether nobody had them at the last look, nor since then."""


class HeldSettings(Generic[V]):
    """The values of settings that somebody has, at most *most*, those that were used last.

    *clock* delays looks at who has them; without any, only others push them out.  *after_look* are steps behind each look.
    """

    log: ClassVar[Logger] = Logger()

    def __init__(
        self,
        most: int,
        clock: IReactorTime | None,
        after_look: Callable[[], Iterable[None]] = lambda: (),
    ) -> None:
        self._most = most
        self._clock = clock
        self._after_look = after_look
        self._kept: OrderedDict[Offer, _Kept[V]] = OrderedDict()
        self._next_look: IDelayedCall | None = None
        self._looking: Deferred[None] | None = None

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, offer: Offer) -> V | None:
        """Return the value of *offer*, whose settings somebody has in this form from now on; None if there is none."""
        kept = self._kept.get(offer)
        if kept is None:
            return None
        self._kept.move_to_end(offer)
        _hold(kept, offer.tls)
        return kept.value

    def put(self, offer: Offer, value: V) -> None:
        """Keep *value* for *offer*, for which there is none."""
        kept = _Kept(value)
        _hold(kept, offer.tls)
        self._kept[offer._replace(tls=evolve(offer.tls))] = kept
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        self._look_later()

    def values(self) -> list[V]:
        """Return all that is kept."""
        return [kept.value for kept in self._kept.values()]

    def stop(self) -> None:
        """Look no more, whatever is kept from now on."""
        self._clock = None
        if self._next_look is not None:
            self._next_look.cancel()
            self._next_look = None
        if self._looking is not None:
            self._looking.cancel()

    def _look_later(self) -> None:
        if self._clock is not None and self._next_look is None and self._looking is None:
            self._next_look = self._clock.callLater(LOOK_SECONDS, self._look, self._clock)

    def _look(self, clock: IReactorTime) -> None:
        self._next_look = None
        self._looking = in_slices(clock, self._look_at_all())
        self._looking.addBoth(self._looked)

    def _look_at_all(self) -> Stepwise[None]:
        for number, offer in enumerate(tuple(self._kept), 1):
            kept = self._kept.get(offer)
            if kept is not None:
                self._look_at(offer, kept)
            # Else it lasts until the next step.
            kept = None
            if not number % LOOKED_AT_ONCE:
                yield
        yield from self._after_look()

    def _look_at(self, offer: Offer, kept: _Kept[V]) -> None:
        kept.holders = {identity: held for identity, held in kept.holders.items() if held() is not None}
        if kept.holders:
            kept.was_left = False
        elif kept.was_left:
            del self._kept[offer]
        else:
            kept.was_left = True

    def _looked(self, result: Failure | None) -> None:
        self._looking = None
        if result is not None:
            if result.check(CancelledError):
                return
            self.log.failure(
                "It could not be looked at who has settings of TLS, which is a bug", failure=result
            )
        if self._kept:
            self._look_later()


def _hold(kept: _Kept[V], tls: UpstreamTls) -> None:
    """Note that somebody has the settings of *kept* as *tls*."""
    kept.was_left = False
    held = kept.holders.get(id(tls))
    if held is None or held() is not tls:
        kept.holders[id(tls)] = ref(tls)

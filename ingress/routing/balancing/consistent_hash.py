"""Consistent hashing: requests of one key go to one endpoint, whoever else comes and goes.

Every endpoint has ``PLACES`` places on a ring, and every key ``PLACES`` as well.  A key belongs
to the endpoint whose place follows one of its own most closely.  An endpoint that leaves gives its
keys to the others and moves no key among them; one that comes takes its share from all.  So of
*n* endpoints a change of one moves about one key in *n* (Karger and others, "Consistent Hashing
and Random Trees", 1997).

That keys have several places (Appleton and O'Reilly, "Multi-probe consistent hashing", 2015) makes
shares even with a twentieth of the places that endpoints need elsewhere: Services have
thousands of endpoints, and the ring is made and changed between requests.

That takes milliseconds for some hundreds of endpoints, so it is done in steps, by whoever has time to
take them before it asks; who has not takes all of them at once.  For the same reason the ring is in
segments, none of which is long: what is put on it is put in order again segment by segment.

Places are made of address and port alone.  So all replicas of the controller agree, and
an endpoint that comes back gets the keys that it had.

A key may have several endpoints, its *subset*: the closest ones.  Which of them gets
a request is left to chance.
"""

from bisect import bisect
from collections.abc import Container, Generator, Iterable
from hashlib import blake2b
from heapq import heapify, heapreplace
from itertools import chain
from struct import Struct
from typing import Final

from ingress.model.upstream.backends import Endpoint
from ingress.routing.balancing.balancer import Balancer, Chance

PLACES: Final = 8
"""Those of an endpoint, and of a key: what one digest gives.  Shares differ by some 10 %, as with 160 and one."""

SMALL: Final = 200
"""Endpoints that are put on the ring within a millisecond: nobody needs to take steps for that."""

_AROUND: Final = 1 << 64
"""The length of the ring."""
_BITS: Final = 64
_PLACES: Final = Struct(f">{PLACES}Q")
_IN_SEGMENT: Final = 64
"""Places in a segment, or half as many, when the ring is made; while endpoints come and go up to a multiple of that."""
_PLACED_AT_ONCE: Final = 100
_COMPARED_AT_ONCE: Final = 1000
_SORTED_AT_ONCE: Final = 50


def _never_asked() -> float:
    """The chance where nothing is left to it."""
    return 0.0


def differences(
    known: Container[Endpoint], listed: Iterable[Endpoint], wanted: tuple[Endpoint, ...]
) -> Generator[None, None, tuple[list[Endpoint], list[Endpoint]]]:
    """Find, in steps, which of those *listed*, which are the *known* ones, are not *wanted*, and which of these are not known."""
    came: list[Endpoint] = []
    left: set[Endpoint] = set()
    for first in range(0, len(wanted), _COMPARED_AT_ONCE):
        some = wanted[first : first + _COMPARED_AT_ONCE]
        left.update(some)
        came += [endpoint for endpoint in some if endpoint not in known]
        yield
    gone: list[Endpoint] = []
    for number, endpoint in enumerate(listed, 1):
        if endpoint not in left:
            gone.append(endpoint)
        if not number % _COMPARED_AT_ONCE:
            yield
    return gone, came


def _first_left(endpoints: tuple[Endpoint, ...], exclude: Container[Endpoint], start: int) -> Endpoint | None:
    """Return the first of *endpoints* that is not in *exclude*, from index *start* on and around; None where there is none."""
    for index in chain(range(start, len(endpoints)), range(start)):
        if endpoints[index] not in exclude:
            return endpoints[index]
    return None


class ConsistentHash(Balancer):
    """The ring of the endpoints of now."""

    __slots__ = ("_chance", "_known", "_on_ring", "_owners", "_places", "_shift", "_steps", "_subset_size")

    def __init__(
        self, endpoints: tuple[Endpoint, ...], chance: Chance = _never_asked, subset_size: int = 1
    ) -> None:
        """*chance* decides within subsets of more than one."""
        super().__init__(endpoints)
        self._chance = chance
        self._subset_size = subset_size
        self._steps: Generator[None, None, None] | None = None
        """Those that are under way."""
        self._clear(0)

    def _clear(self, endpoints: int) -> None:
        """Make an empty ring for so many *endpoints*."""
        bits = (PLACES * endpoints // _IN_SEGMENT).bit_length()
        self._shift = _BITS - bits
        self._on_ring: tuple[Endpoint, ...] | None = None
        """Whose places those below are; None amid a change.  The ring is changed when it is next asked: pods come and go many at a time."""
        self._known: set[Endpoint] = set()
        """The same ones, or those whose places are there meanwhile."""
        self._owners: list[dict[int, Endpoint]] = [{} for _ in range(1 << bits)]
        """By segment, and by place in it."""
        self._places: list[list[int]] = [[] for _ in range(1 << bits)]
        """By segment, sorted."""

    @property
    def is_prepared(self) -> bool:
        """Whether a pick need not put many endpoints on the ring, nor take many off."""
        if self._on_ring is self._endpoints:
            return True
        return self._steps is None and len(self._endpoints) <= SMALL and len(self._known) <= SMALL

    def prepare_some(self) -> bool:
        """Take a step of putting the endpoints of now on the ring; return whether they are there."""
        if self._steps is None:
            if self._on_ring is self._endpoints:
                return True
            self._steps = self._renewing(self._endpoints)
        try:
            next(self._steps)
        except StopIteration:
            self._steps = None
        except BaseException:
            # Nobody knows how far it came.
            self._steps = None
            self._clear(0)
            raise
        return self._steps is None and self._on_ring is self._endpoints

    def _renewing(self, wanted: tuple[Endpoint, ...]) -> Generator[None, None, None]:
        """Put those *wanted* on the ring and take all others off, some a step."""
        self._on_ring = None
        usual = PLACES * len(wanted) // _IN_SEGMENT
        segments = len(self._owners)
        if not self._known or not segments // 8 <= usual <= segments * 4:
            self._clear(len(wanted))
        yield
        known, owners, shift = self._known, self._owners, self._shift
        gone, came = yield from differences(known, tuple(known), wanted)
        touched: set[int] = set()
        for number, endpoint in enumerate(gone, 1):
            known.discard(endpoint)
            for place in _places(_text(endpoint)):
                owners[place >> shift].pop(place, None)
                touched.add(place >> shift)
            if not number % _PLACED_AT_ONCE:
                yield
        for number, endpoint in enumerate(came, 1):
            known.add(endpoint)
            for place in _places(_text(endpoint)):
                owners[place >> shift][place] = endpoint
                touched.add(place >> shift)
            if not number % _PLACED_AT_ONCE:
                yield
        for number, segment in enumerate(touched, 1):
            self._places[segment] = sorted(owners[segment])
            if not number % _SORTED_AT_ONCE:
                yield
        self._on_ring = wanted

    def pick(self, exclude: Container[Endpoint] = (), key: bytes = b"") -> Endpoint | None:
        """Choose the endpoint of *key*; if it is in *exclude*, the closest one that is not, or any by *key* as long as a large ring is not made."""
        endpoints = self._endpoints
        if not endpoints:
            return None
        if self._on_ring is not endpoints:
            if exclude and not self.is_prepared:
                # Of a key whose own one failed any other will do, and there is no time.
                return _first_left(endpoints, exclude, _places(key)[0] % len(endpoints))
            while not self.prepare_some():
                pass
        if self._subset_size > 1:
            subset = self._subset(exclude, key, self._subset_size)
            return subset[int(self._chance() * len(subset))] if subset else None
        owner = self._closest(key)
        if not exclude or owner not in exclude:
            return owner
        others = self._subset(exclude, key, 1)
        return others[0] if others else None

    def _closest(self, key: bytes) -> Endpoint:
        """Return the endpoint of which a place follows one of *key* most closely."""
        segments, shift = self._places, self._shift
        closest = found = 0
        distance = _AROUND
        for own in _places(key):
            places = segments[own >> shift]
            index = bisect(places, own)
            if index < len(places):
                found = places[index]
                way = found - own
            else:
                segment = self._behind(own >> shift)
                found = segments[segment][0]
                way = (found - own) % _AROUND
            if way < distance:
                distance = way
                closest = found
        return self._owners[closest >> shift][closest]

    def _behind(self, segment: int) -> int:
        """Return the next segment with a place behind this one, around the ring; the ring has one."""
        segments = self._places
        while True:
            segment = (segment + 1) % len(segments)
            if segments[segment]:
                return segment

    def _subset(self, exclude: Container[Endpoint], key: bytes, size: int) -> list[Endpoint]:
        """Return the *size* endpoints closest to *key* that are not in *exclude*, each once."""
        endpoints, segments, shift = self._endpoints, self._places, self._shift
        if size >= len(endpoints):
            return [endpoint for endpoint in endpoints if endpoint not in exclude]
        # From each place of the key a walk around, of which the one takes a step that has come least far.
        walks: list[tuple[int, int, int, int]] = []
        for own in _places(key):
            segment = own >> shift
            index = bisect(segments[segment], own)
            if index == len(segments[segment]):
                segment, index = self._behind(segment), 0
            walks.append(((segments[segment][index] - own) % _AROUND, own, segment, index))
        heapify(walks)
        seen: set[Endpoint] = set()
        found: list[Endpoint] = []
        for _ in range(PLACES * PLACES * len(endpoints)):
            if len(found) == size or len(seen) == len(endpoints):
                break
            _, own, segment, index = walks[0]
            owner = self._owners[segment][segments[segment][index]]
            if owner not in seen:
                seen.add(owner)
                if owner not in exclude:
                    found.append(owner)
            index += 1
            if index == len(segments[segment]):
                segment, index = self._behind(segment), 0
            heapreplace(walks, ((segments[segment][index] - own) % _AROUND, own, segment, index))
        return found


def _text(endpoint: Endpoint) -> bytes:
    return f"{endpoint.address} {endpoint.port}".encode()


def _places(text: bytes) -> tuple[int, ...]:
    return _PLACES.unpack(blake2b(text).digest())

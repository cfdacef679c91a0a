"""Consistent hashing: requests of one key go to one endpoint, whoever else comes and goes.

Every endpoint has ``PLACES`` places on a ring, and every key ``PLACES`` as well.  A key belongs
to the endpoint whose place follows one of its own most closely.  An endpoint that leaves gives its
keys to the others and moves no key among them; one that comes takes its share from all.  So of
*n* endpoints a change of one moves about one key in *n* (Karger and others, "Consistent Hashing
and Random Trees", 1997).

That keys have several places (Appleton and O'Reilly, "Multi-probe consistent hashing", 2015) makes
shares even with a twentieth of the places that endpoints need elsewhere: Services have
thousands of endpoints, and the ring is made and changed between requests.

Places are made of address and port alone.  So all replicas of the controller agree, and
an endpoint that comes back gets the keys that it had.

A key may have several endpoints, its *subset*: the closest ones.  Which of them gets
a request is left to chance.
"""

from bisect import bisect, bisect_left, insort
from collections.abc import Container
from hashlib import blake2b
from heapq import heapify, heapreplace
from struct import Struct
from typing import Final

from ingress.model.backends import Endpoint
from ingress.routing.balancing import Balancer, Chance

PLACES: Final = 8
"""Those of an endpoint, and of a key: what one digest gives.  Shares differ by some 10 %, as with 160 and one."""

FEW: Final = 16
"""Endpoints that come and go one by one: for more of them it is quicker to go around the ring once."""

_AROUND: Final = 1 << 64
"""The length of the ring."""
_PLACES: Final = Struct(f">{PLACES}Q")


def _never_asked() -> float:
    """The chance where nothing is left to it."""
    return 0.0


class ConsistentHash(Balancer):
    """The ring of the endpoints of now."""

    __slots__ = ("_chance", "_on_ring", "_owners", "_places", "_subset_size")

    def __init__(
        self, endpoints: tuple[Endpoint, ...], chance: Chance = _never_asked, subset_size: int = 1
    ) -> None:
        """*chance* decides within subsets of more than one."""
        super().__init__(endpoints)
        self._chance = chance
        self._subset_size = subset_size
        self._on_ring: tuple[Endpoint, ...] = ()
        """Whose places those below are.  The ring is changed when it is next asked: pods come and go many at a time."""
        self._places: list[int] = []
        """Sorted."""
        self._owners: dict[int, Endpoint] = {}

    def _renew(self) -> None:
        """Put the endpoints of now on the ring."""
        known, wanted = set(self._on_ring), set(self._endpoints)
        gone, came = known - wanted, wanted - known
        if len(gone) + len(came) <= FEW:
            self._change_few(gone, came)
        else:
            self._change_many(gone, came)
        self._on_ring = self._endpoints

    def _change_few(self, gone: set[Endpoint], came: set[Endpoint]) -> None:
        owners, places = self._owners, self._places
        for endpoint in gone:
            for place in _places(_text(endpoint)):
                if owners.pop(place, None) is not None:
                    first = bisect_left(places, place)
                    del places[first : bisect(places, place)]
        for endpoint in came:
            for place in _places(_text(endpoint)):
                owners[place] = endpoint
                insort(places, place)

    def _change_many(self, gone: set[Endpoint], came: set[Endpoint]) -> None:
        owners, places = self._owners, self._places
        if gone:
            for endpoint in gone:
                for place in _places(_text(endpoint)):
                    owners.pop(place, None)
            places = [place for place in places if place in owners]
        for endpoint in came:
            its_places = _places(_text(endpoint))
            places += its_places
            owners |= dict.fromkeys(its_places, endpoint)
        # Most of it is in order already, which sorting makes use of.
        places.sort()
        self._places = places

    def pick(self, exclude: Container[Endpoint] = (), key: bytes = b"") -> Endpoint | None:
        """Choose the endpoint of *key*; if it is in *exclude*, the closest one that is not."""
        if self._on_ring is not self._endpoints:
            self._renew()
        if not self._places:
            return None
        if self._subset_size > 1:
            subset = self._subset(exclude, key, self._subset_size)
            return subset[int(self._chance() * len(subset))] if subset else None
        owner = self._owners[self._closest(key)]
        if not exclude or owner not in exclude:
            return owner
        others = self._subset(exclude, key, 1)
        return others[0] if others else None

    def _closest(self, key: bytes) -> int:
        """Return the place of an endpoint that follows one of *key* most closely."""
        places = self._places
        count = len(places)
        closest = found = 0
        distance = _AROUND
        for own in _places(key):
            index = bisect(places, own)
            found = places[index] if index < count else places[0] + _AROUND
            if found - own < distance:
                distance = found - own
                closest = found
        return closest if closest < _AROUND else closest - _AROUND

    def _subset(self, exclude: Container[Endpoint], key: bytes, size: int) -> list[Endpoint]:
        """Return the *size* endpoints closest to *key* that are not in *exclude*, each once."""
        endpoints, places, owners = self._endpoints, self._places, self._owners
        if size >= len(endpoints):
            return [endpoint for endpoint in endpoints if endpoint not in exclude]
        # From each place of the key a walk around, of which the one takes a step that has come least far.
        walks: list[tuple[int, int, int]] = []
        for own in _places(key):
            index = bisect(places, own) % len(places)
            walks.append(((places[index] - own) % _AROUND, own, index))
        heapify(walks)
        seen: set[Endpoint] = set()
        found: list[Endpoint] = []
        for _ in range(PLACES * len(places)):
            if len(found) == size or len(seen) == len(endpoints):
                break
            _, own, index = walks[0]
            owner = owners[places[index]]
            if owner not in seen:
                seen.add(owner)
                if owner not in exclude:
                    found.append(owner)
            index = (index + 1) % len(places)
            heapreplace(walks, ((places[index] - own) % _AROUND, own, index))
        return found


def _text(endpoint: Endpoint) -> bytes:
    return f"{endpoint.address} {endpoint.port}".encode()


def _places(text: bytes) -> tuple[int, ...]:
    return _PLACES.unpack(blake2b(text).digest())

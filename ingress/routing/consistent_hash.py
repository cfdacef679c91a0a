"""Consistent hashing: requests of one key go to one endpoint, whoever else comes and goes.

Every endpoint has ``POINTS`` places on a ring, and a key belongs to the endpoint whose
place follows its own.  An endpoint that leaves gives its keys to the others and moves no
key among them; one that comes takes its share from all.  So of *n* endpoints a change
of one moves about one key in *n* (Karger and others, "Consistent Hashing and Random
Trees", 1997; ``ketama``).

Places are made of address and port alone.  So all replicas of the controller agree, and
an endpoint that comes back gets the keys that it had.

A key may have several endpoints, its *subset*: those whose places follow.  Which of them gets
a request is left to chance.
"""

from bisect import bisect
from collections.abc import Container
from hashlib import blake2b
from struct import unpack
from typing import Final

from ingress.model.backends import Endpoint
from ingress.routing.balancing import Balancer, Chance

POINTS: Final = 160
"""Places of each endpoint, as of nginx' ``hash ... consistent``: shares differ by some 8 %."""

_DIGEST_BYTES: Final = 64
_PLACES_OF_DIGEST: Final = _DIGEST_BYTES // 8


def _never_asked() -> float:
    """The chance where nothing is left to it."""
    return 0.0


class ConsistentHash(Balancer):
    """The ring of the endpoints of now."""

    __slots__ = ("_chance", "_owners", "_places", "_subset_size")

    def __init__(
        self, endpoints: tuple[Endpoint, ...], chance: Chance = _never_asked, subset_size: int = 1
    ) -> None:
        """*chance* decides within subsets of more than one."""
        super().__init__()
        self._chance = chance
        self._subset_size = subset_size
        self._places: list[int] = []
        """Sorted, with the owner of each in the list beside it."""
        self._owners: list[Endpoint] = []
        self._change(endpoints)

    def _change(self, endpoints: tuple[Endpoint, ...]) -> None:
        known, wanted = set(self._endpoints), set(endpoints)
        gone = {place for endpoint in known - wanted for place in _places(endpoint)}
        came = {place: endpoint for endpoint in wanted - known for place in _places(endpoint)}
        # Most of it is in order already, which sorting makes use of.
        ring = [place for place in self._places if place not in gone and place not in came]
        places = sorted(ring + sorted(came))
        owners = dict(zip(self._places, self._owners, strict=True)) | came
        self._places = places
        self._owners = [owners[place] for place in places]
        self._endpoints = endpoints

    def pick(self, exclude: Container[Endpoint] = (), key: bytes = b"") -> Endpoint | None:
        """Choose the endpoint of *key*; if it is in *exclude*, the next one on the ring that is not."""
        owners = self._owners
        count = len(owners)
        if not count:
            return None
        place = bisect(self._places, _place(key))
        if place == count:
            place = 0
        if self._subset_size > 1:
            subset = self._subset(place, exclude)
            return subset[int(self._chance() * len(subset))] if subset else None
        owner = owners[place]
        if not exclude or owner not in exclude:
            return owner
        for step in range(1, count):
            owner = owners[(place + step) % count]
            if owner not in exclude:
                return owner
        return None

    def _subset(self, place: int, exclude: Container[Endpoint]) -> list[Endpoint]:
        """Return the first endpoints from *place* on that are not in *exclude*, each once."""
        owners = self._owners
        count = len(self._endpoints)
        if self._subset_size >= count:
            return [endpoint for endpoint in self._endpoints if endpoint not in exclude]
        seen: set[Endpoint] = set()
        found: list[Endpoint] = []
        for step in range(len(owners)):
            owner = owners[(place + step) % len(owners)]
            if owner in seen:
                continue
            seen.add(owner)
            if owner not in exclude:
                found.append(owner)
            if len(found) == self._subset_size or len(seen) == count:
                break
        return found


def _place(key: bytes) -> int:
    place: int = unpack(">Q", blake2b(key, digest_size=8).digest())[0]
    return place


def _places(endpoint: Endpoint) -> list[int]:
    places: list[int] = []
    for number in range(POINTS // _PLACES_OF_DIGEST):
        text = f"{endpoint.address} {endpoint.port} {number}".encode()
        places += unpack(f">{_PLACES_OF_DIGEST}Q", blake2b(text, digest_size=_DIGEST_BYTES).digest())
    return places

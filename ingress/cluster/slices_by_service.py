"""The EndpointSlices of each Service, in little memory.  Reactor thread only.

Nearly every Service has one, which is kept without a tuple around it.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Final, TypeVar, overload

from ingress.model.cluster.objects import EndpointSlice, ObjectKey

D = TypeVar("D")

_KEY: Final[Callable[[EndpointSlice], ObjectKey]] = attrgetter("key")


class SlicesByService(Mapping[ObjectKey, tuple[EndpointSlice, ...]]):
    """The slices of each Service that has any, sorted by name; changes by ``put``."""

    def __init__(self) -> None:
        self._kept: dict[ObjectKey, EndpointSlice | tuple[EndpointSlice, ...]] = {}

    def put(self, service: ObjectKey, key: ObjectKey, value: EndpointSlice | None) -> None:
        """Put *value* among the slices of *service* in place of the one of that *key*; None takes that away."""
        known = self._kept.get(service, ())
        known = (known,) if isinstance(known, EndpointSlice) else known
        if value is not None and (not known or (len(known) == 1 and known[0].key == key)):
            self._kept[service] = value
            return
        # A Service may have thousands, and all of them may come one by one.
        place = bisect_left(known, key, key=_KEY)
        behind = place + (place < len(known) and known[place].key == key)
        siblings = (*known[:place], *(() if value is None else (value,)), *known[behind:])
        if len(siblings) > 1:
            self._kept[service] = siblings
        elif siblings:
            (self._kept[service],) = siblings
        else:
            self._kept.pop(service, None)

    def __getitem__(self, service: ObjectKey) -> tuple[EndpointSlice, ...]:
        kept = self._kept[service]
        return (kept,) if isinstance(kept, EndpointSlice) else kept

    @overload
    def get(self, service: ObjectKey, /) -> tuple[EndpointSlice, ...] | None: ...
    @overload
    def get(
        self, service: ObjectKey, /, default: tuple[EndpointSlice, ...] | D
    ) -> tuple[EndpointSlice, ...] | D: ...
    def get(self, service: ObjectKey, /, default: object = None) -> object:
        """Return the slices of *service*, else *default*; the inherited one raises on the way."""
        kept = self._kept.get(service, default)
        return (kept,) if isinstance(kept, EndpointSlice) else kept

    def __contains__(self, service: object) -> bool:
        return service in self._kept

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

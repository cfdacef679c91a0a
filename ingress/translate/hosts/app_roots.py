"""Which ``app-root`` of a host redirects ``/``, where several Ingresses have one.

A server of ingress-nginx runs what its locations say of ``app-root`` one after the other, before it looks for the location of a request:
the one that stands first redirects ``/``, whoever is older.  Without quirks each Ingress is alone, and age decides between them.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ingress.model.cluster.objects import Owner
from ingress.translate.claims import ROOT


class Place(NamedTuple):
    """Where a path stands among the locations of a server of ingress-nginx; the greatest is first."""

    length: int
    path: str
    is_prefix_root: bool
    """What a server has before any Ingress is looked at."""


def place_of(path: str, *, is_exact: bool) -> Place:
    """Return where *path* stands."""
    return Place(len(path.encode()), path, path == ROOT and not is_exact)


class AppRoots:
    """The first ``app-root`` of each realm of a host."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[Place, Owner]] = {}

    def note(self, owner: Owner, realm: str, places: Iterable[Place]) -> None:
        """Note one that is younger than those before, with the places of the paths of its Ingress, at least one."""
        place = max(places)
        before = self._first.get(realm)
        # Of the same path, with two types, that of the older one stands first.
        if before is None or place > before[0]:
            self._first[realm] = place, owner

    def is_first(self, owner: Owner, realm: str) -> bool:
        """Whether *owner* has the first one of *realm*."""
        first = self._first.get(realm)
        return first is not None and first[1] == owner

    def before(self, owner: Owner, realm: str) -> tuple[Place, Owner] | None:
        """Return the first one of *realm*, if that is not the one of *owner*, with the path that it is first by."""
        first = self._first.get(realm)
        return None if first is None or first[1] == owner else first

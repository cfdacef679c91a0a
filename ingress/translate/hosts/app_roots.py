"""Which ``app-root`` of a host redirects ``/``, where several Ingresses have one.

A server of ingress-nginx runs what its locations say of ``app-root`` one after the other, before it looks for the location of a request:
the one that stands first redirects ``/``, whoever is older.  So it is here where one realm has all of the host; between realms age decides.
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
    return Place(len(path.encode("utf-8", "surrogatepass")), path, path == ROOT and not is_exact)


class AppRoots:
    """Those of a host, of which the first redirects."""

    def __init__(self) -> None:
        self._first: tuple[Place, Owner] | None = None

    def note(self, owner: Owner, places: Iterable[Place]) -> None:
        """Note one that is younger than those before, with the places of the paths of its Ingress, at least one."""
        place = max(places)
        # Of the same path, with two types, that of the older one stands first.
        if self._first is None or place > self._first[0]:
            self._first = place, owner

    def before(self, owner: Owner) -> tuple[Place, Owner] | None:
        """Return the first one, if that is not the one of *owner*, with the path that it is first by."""
        return None if self._first is None or self._first[1] == owner else self._first

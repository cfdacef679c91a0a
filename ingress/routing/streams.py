"""Streams: connections whose bytes go to an endpoint as they come, and of which no request is read.

All sorts of them (``StreamSort``) have the same routes.  Requests may come by the same listener, and the more specific host
decides (``StreamTable``).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from ingress.model.cluster.objects import Owner
from ingress.model.frozen import frozen
from ingress.model.network.streams import StreamSort
from ingress.model.serving.limits import AskedTimeouts
from ingress.model.shared_map import SharedMap
from ingress.model.upstream.backends import BackendReference
from ingress.routing.table import host_keys
from ingress.routing.variants import WeightedBackend, backends_of, drawn

_NAMED: Final = frozenset((StreamSort.PASSTHROUGH, StreamSort.TERMINATED))


@frozen(weakref_slot=False)
class StreamRoute:
    """Where the streams for one host lead.

    *host* is as in ``Route.host``; that of TCP is empty.  Without *weighted* backends they lead nowhere, and are closed.
    """

    host: str
    sort: StreamSort
    owner: Owner | None
    """The object that asked for it; None where nobody did, and a listener has the host all the same."""
    weighted: tuple[WeightedBackend, ...] = ()
    path: str = ""
    """That of the route by which it passes through, of an Ingress; others have none."""
    timeouts: AskedTimeouts | None = None
    is_logged: bool = True
    sends_header: bool = False
    """Whether the endpoint gets a PROXY header before anything else."""
    may_rest: bool = False
    """Whether it may go on for ever while nothing is said."""

    @property
    def key(self) -> tuple[str, StreamSort]:
        """What no two routes of a table have the same of."""
        return self.host, self.sort

    @property
    def backend(self) -> BackendReference:
        """The first of those that it leads to."""
        return self.weighted[0].backend

    @property
    def backends(self) -> tuple[BackendReference, ...]:
        """All that it may lead to."""
        return backends_of(self.weighted)

    def draw(self, random: Callable[[], float]) -> BackendReference:
        """Choose where one stream leads; *random* gives numbers from 0 to below 1."""
        weighted = self.weighted
        return (weighted[0] if len(weighted) == 1 else drawn(weighted, random())).backend


NOWHERE: Final = StreamRoute("", StreamSort.TCP, None)
"""For a name that no listener has."""


class StreamTable:
    """The streams of the listeners of one table, by host.  It never changes; its successor costs what is different.

    Of a name the most specific host decides, and it alone: exact, then a wildcard of any number of labels, the longer first,
    then all names.  A host of the sort REQUESTS is no stream, and keeps its names from less specific ones.  TCP has no name.
    """

    __slots__ = ("_by_host", "_named", "_requests")

    def __init__(self, routes: Iterable[StreamRoute] = ()) -> None:
        self._by_host: SharedMap[bytes, StreamRoute] = SharedMap()
        self._named = 0
        self._requests = 0
        table = self.patched({route.host: route for route in routes})
        self._by_host, self._named, self._requests = table._by_host, table._named, table._requests

    def patched(self, changes: Mapping[str, StreamRoute | None]) -> "StreamTable":
        """Return the table in which the hosts of *changes* have these routes, or none, in place of their own."""
        if not changes:
            return self
        keyed = {host.encode("utf-8"): route for host, route in changes.items()}
        table = StreamTable.__new__(StreamTable)
        table._named, table._requests = self._named, self._requests
        for key, route in keyed.items():
            for one, step in ((route, 1), (self._by_host.get(key), -1)):
                if one is not None:
                    table._named += step * (one.sort in _NAMED)
                    table._requests += step * (one.sort is StreamSort.REQUESTS)
        table._by_host = self._by_host.patched(keyed)
        return table

    def __len__(self) -> int:
        return len(self._by_host)

    def __iter__(self) -> Iterator[StreamRoute]:
        """Yield all, in no order."""
        return iter(self._by_host.values())

    def __repr__(self) -> str:
        return f"<StreamTable of {len(self)} hosts>"

    @property
    def has_names(self) -> bool:
        """Whether the name in a ClientHello decides anything here."""
        return self._named > 0

    @property
    def by_host(self) -> SharedMap[bytes, StreamRoute]:
        """The routes, by host."""
        return self._by_host

    def get(self, host: str) -> StreamRoute | None:
        """Return what *host*, written as in ``StreamRoute.host``, has of its own."""
        return self._by_host.get(host.encode("utf-8"))

    def host_of(self, name: bytes) -> bytes | None:
        """Return the host that decides about *name* (in lower case, empty where the client gave none); None where none does."""
        by_host = self._by_host
        for key in host_keys(name, covers_labels=True):
            if key in by_host:
                return key
        return None

    def find(self, name: bytes) -> StreamRoute | None:
        """Return where a connection for *name* leads; None where requests of it are served.

        A name that no listener has leads nowhere, unless requests are served by one of them: that can say so better.
        """
        host = self.host_of(name)
        route = (NOWHERE if not self._requests else None) if host is None else self._by_host[host]
        return None if route is None or route.sort is StreamSort.REQUESTS else route


NO_STREAMS: Final = StreamTable()

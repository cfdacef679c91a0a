"""The snapshot: everything the proxy reads, immutable, made current by one assignment."""

from collections.abc import Iterator, Mapping
from itertools import chain
from types import MappingProxyType

from attrs import Factory

from ingress.identity.certificates import Certificate, CertificateTable
from ingress.identity.server_names import HandshakeSettingsTable
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import ORDER, Problem
from ingress.model.frozen import frozen
from ingress.model.network.listeners import MAIN, Listener
from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.upstream.backends import BackendReference, BackendState
from ingress.routing.route import Route
from ingress.routing.streams import NO_STREAMS, StreamTable
from ingress.routing.table import RouteTable


class ProblemList:
    """The problems of a snapshot by what brought them up; sorted when somebody looks at them.

    Few look, and sorting all of them for each change would cost more than the change.
    *by_source* does not change any more.
    """

    __slots__ = ("_sorted", "by_source")

    def __init__(self, by_source: Mapping[object, tuple[Problem, ...]]) -> None:
        self.by_source = by_source
        self._sorted: tuple[Problem, ...] | None = None

    def sorted(self) -> tuple[Problem, ...]:
        """All of them, sorted, without duplicates."""
        if self._sorted is None:
            found = {one for some in self.by_source.values() for one in some}
            self._sorted = tuple(sorted(found, key=ORDER))
        return self._sorted


@frozen(eq=False)
class ListenerTable:
    """What the listeners of one table serve."""

    routes: RouteTable = Factory(RouteTable)
    certificates: CertificateTable = Factory(CertificateTable)
    handshake_settings: HandshakeSettingsTable = Factory(HandshakeSettingsTable)
    streams: StreamTable = NO_STREAMS

    def shares_all(self, other: "ListenerTable") -> bool:
        """Whether this is made of the same objects as *other*, so that nothing can be different."""
        return (
            self.routes is other.routes
            and self.certificates is other.certificates
            and self.handshake_settings is other.handshake_settings
            and self.streams is other.streams
        )


NO_TABLES: Mapping[str, ListenerTable] = MappingProxyType({})
NOTHING_ATTACHED: Mapping[tuple[Owner, str], int] = MappingProxyType({})


@frozen(eq=False)
class Snapshot:
    """One translation of the cluster state.

    *table*, *certificates* and *handshake_settings* are those of the listeners of the command line.
    """

    table: RouteTable = Factory(RouteTable)
    backends: Mapping[BackendReference, BackendState] = Factory(dict)
    """A state for every backend that a route names."""
    certificates: CertificateTable = Factory(CertificateTable)
    handshake_settings: HandshakeSettingsTable = Factory(HandshakeSettingsTable)
    """What handshakes go by besides, for every host that an Ingress names."""
    _problems: tuple[Problem, ...] | ProblemList = ()
    serving: ServingSettings = Factory(ServingSettings)
    """What the proxy goes by besides: options that may change while the process runs."""

    listeners: tuple[Listener, ...] = ()
    """Where requests are to be accepted; those of the command line first."""
    others: Mapping[str, ListenerTable] = NO_TABLES
    """By name: the tables of other listeners.  Hardly ever are there any."""
    replicas: int = 1
    """How many replicas of this controller share what limits allow."""
    attached: Mapping[tuple[Owner, str], int] = NOTHING_ATTACHED
    """How many routes each listener of Gateways has, by the object that has it and its name; none of those without any."""
    replica_addresses: tuple[str, ...] = ()
    """Where the replicas of this controller are, as far as that is known; sorted."""

    @property
    def main(self) -> ListenerTable:
        """The table of the command line's listeners."""
        return ListenerTable(self.table, self.certificates, self.handshake_settings)

    def tables(self) -> Iterator[tuple[str, ListenerTable]]:
        """Yield all tables by name, that of the command line first."""
        yield MAIN, self.main
        yield from self.others.items()

    def shown(self) -> Iterator[tuple[str, Certificate]]:
        """Yield each host of all tables with each of its certificates, once; as ``CertificateTable.shown``."""
        yield from self.certificates.shown()
        # Whoever asks takes some at a time: nothing here looks at all hosts before it yields the first.
        others: set[tuple[str, Certificate]] = set()
        for table in self.others.values():
            for one in table.certificates.shown():
                if one not in others and not self.certificates.shows(*one):
                    others.add(one)
                    yield one

    def routes(self) -> Iterator[Route]:
        """Yield the routes of all tables, in no order."""
        yield from self.table.unordered()
        for other in self.others.values():
            yield from other.routes.unordered()

    @property
    def route_count(self) -> int:
        """How many routes there are, in all tables."""
        return self.table.count + sum(other.routes.count for other in self.others.values())

    @property
    def host_count(self) -> int:
        """How many hosts have routes, in all tables; a wildcard counts as one, and so do the routes of all hosts."""
        return self.table.hosts + sum(other.routes.hosts for other in self.others.values())

    @property
    def problems(self) -> tuple[Problem, ...]:
        """Sorted, without duplicates; those of the cluster state included."""
        return self._problems if isinstance(self._problems, tuple) else self._problems.sorted()

    def unordered_problems(self) -> Iterator[Problem]:
        """Yield the same, unsorted and perhaps some of them again, at no cost before the first."""
        if isinstance(self._problems, tuple):
            return iter(self._problems)
        return chain.from_iterable(self._problems.by_source.values())

    @property
    def problems_by_source(self) -> Mapping[object, tuple[Problem, ...]]:
        """The same by what brought them up, where that is known."""
        return {} if isinstance(self._problems, tuple) else self._problems.by_source

    def shares_all(self, other: "Snapshot") -> bool:
        """Whether this is made of the same objects as *other*, so that nothing can be different."""
        return (
            self.table is other.table
            and self.backends is other.backends
            and self.certificates is other.certificates
            and self.handshake_settings is other.handshake_settings
            and self._problems is other._problems
            and self.serving is other.serving
            and self.listeners is other.listeners
            and self.others is other.others
            and self.replicas == other.replicas
            and self.replica_addresses == other.replica_addresses
            and self.attached is other.attached
        )

"""Puts snapshots together from pieces: of the one that is there, by what is different."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from attrs import define, evolve, field
from twisted.logger import Logger

from ingress.annotations.operator_filters import InstalledFilter
from ingress.identity.certificates import Certificate, CertificateTable
from ingress.identity.server_names import HandshakeSettings, HandshakeSettingsTable
from ingress.model.cluster.problems import Problem
from ingress.model.network.listeners import MAIN
from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.shared_map import SharedMap
from ingress.model.upstream.backends import BackendReference, BackendState, Endpoint
from ingress.routing.route import Route
from ingress.routing.streams import NO_STREAMS, StreamRoute
from ingress.routing.table import AT_ONCE, NO_ROUTES, HostRoutes, RouteTable
from ingress.translate.snapshot import ListenerTable, Snapshot
from ingress.workers.feed.operations import FORMAT, Operation, Word, counts, shared
from ingress.workers.feed.snapshot_bytes import SnapshotError, ValueReader

log = Logger()

_NO_STATE: Final = BackendState()


class Follower:
    """Puts snapshots together from pieces; *allowed* are the filters of the operator's that Ingresses may ask for."""

    def __init__(self, allowed: Iterable[InstalledFilter] = ()) -> None:
        self.snapshot = Snapshot()
        """The last one that all pieces have come of."""
        self._reader = ValueReader(allowed)
        self._making: _Making | None = None

    @property
    def remembered(self) -> int:
        """How many values are remembered, so that equal ones that come are the same objects."""
        return len(self._reader.shared)

    def take(self, piece: bytes) -> bool:
        """Take the next *piece*; return whether a snapshot is complete with it.

        Raises ``SnapshotError`` for one that cannot be read, or that does not belong here.  Then the snapshot stays the one that it is, and
        what comes next has to begin anew: of this snapshot, or of nothing.
        """
        if not piece:
            return False
        making, self._making = self._making, None
        word = Word.BEGIN
        for operation in self._reader.read(piece):
            try:
                word = Word(operation[0])
                if word is Word.BEGIN:
                    making = self._begin(*operation[1:])
                elif making is None:
                    raise SnapshotError("a piece of something that has not begun")
                elif word is Word.END:
                    done = making.finished(*operation[1:])
                else:
                    making.take(word, operation)
            except SnapshotError:
                raise
            except Exception as error:
                # What was read is of any form.
                raise SnapshotError(f"cannot be taken: {type(error).__name__}: {error}") from error
        self._reader.shared.tidy()
        for refused in self._reader.refused:
            log.error(
                "A filter is refused here that was not before, and its paths answer 503: {refused}",
                refused=refused,
            )
        self._reader.refused.clear()
        self.let_go_some()
        if word is Word.END and making is not None:
            self.snapshot = done
            self._reader.shared.leave(making.replaced)
            return True
        if word is not Word.MORE or making is None:
            raise SnapshotError("a piece that breaks off")
        making.settle()
        self._making = making
        return False

    def let_go_some(self) -> bool:
        """Let go of some of what is in no snapshot any more; return whether there is more of that.

        To be called while nothing comes: pieces alone may not come for days.
        """
        shared_values = self._reader.shared
        shared_values.let_go_some()
        return shared_values.is_letting_go

    def look_again(self) -> bool:
        """Have ``let_go_some`` look at what was still in use, such as for requests under way; return whether there was any."""
        shared_values = self._reader.shared
        shared_values.look_again()
        return shared_values.is_letting_go

    def _begin(self, form: object, is_whole: object) -> "_Making":
        if form != FORMAT:
            raise SnapshotError("not of this version of txingress")
        return _Making(Snapshot() if is_whole else self.snapshot, bool(is_whole), self._reader)


def _checked(value: Any, *kinds: type) -> Any:
    """Return *value* if it is of one of these classes, or raise ``SnapshotError``."""
    if type(value) not in kinds:
        raise SnapshotError(f"{type(value).__name__} where {kinds[0].__name__} was expected")
    return value


def _checked_all(values: Any, kind: type) -> Any:
    """Return the tuple *values* if all in it are of *kind*."""
    for value in _checked(values, tuple):
        _checked(value, kind)
    return values


_NOTHING: Final = type(None)


@define
class _Table:
    """A table that is being put together: as it is, and what of it is different and not yet in there."""

    table: ListenerTable
    hosts: dict[str, HostRoutes | None] = field(factory=dict)
    exact: dict[str, tuple[Certificate, ...] | None] = field(factory=dict)
    wildcard: dict[str, tuple[Certificate, ...] | None] = field(factory=dict)
    handshakes: dict[str, HandshakeSettings | None] = field(factory=dict)
    streams: dict[str, StreamRoute | None] = field(factory=dict)

    def settle(self) -> ListenerTable:
        """Put in what is different; what is not stays the same object."""
        table = self.table
        if self.hosts:
            table = evolve(table, routes=table.routes.patched(self.hosts))
            self.hosts = {}
        if self.exact or self.wildcard:
            certificates = evolve(
                table.certificates,
                exact=shared(table.certificates.exact).patched(self.exact),
                wildcard=shared(table.certificates.wildcard).patched(self.wildcard),
            )
            table = evolve(table, certificates=certificates)
            self.exact, self.wildcard = {}, {}
        if self.handshakes:
            by_host = shared(table.handshake_settings.by_host).patched(self.handshakes)
            table = evolve(table, handshake_settings=evolve(table.handshake_settings, by_host=by_host))
            self.handshakes = {}
        if self.streams:
            table = evolve(table, streams=table.streams.patched(self.streams))
            self.streams = {}
        self.table = table
        return table


class _Making:
    """A snapshot that is being made of *before*."""

    def __init__(self, before: Snapshot, is_whole: bool, reader: ValueReader) -> None:
        self._before = before
        self._reader = reader
        self._tables: dict[str, ListenerTable] = {} if is_whole else dict(before.tables())
        self._are_others = is_whole
        """Whether any table came, went, or is another one."""
        self._backends = shared(before.backends)
        self._states: dict[BackendReference, BackendState | None] = {}
        self._serving = before.serving
        self._listeners = before.listeners
        self._replicas = before.replicas
        self._replica_addresses = before.replica_addresses
        self._name = ""
        self._table: _Table | None = None
        self._routes: tuple[Route, ...] = ()
        self._endpoints: tuple[Endpoint, ...] = ()
        self._orders: list[Iterator[None]] = []
        self.replaced: list[object] = []
        """What is another now, or gone, as it was."""

    def take(self, word: Word, operation: Operation) -> None:
        """Do what *operation* says, which begins with *word*."""
        if word is not Word.MORE:
            _TAKERS[word](self, *operation[1:])

    def settle(self) -> None:
        """Put in what came, so that not all is left to the last piece."""
        if self._table is not None:
            self._table.settle()
        if self._states:
            self._backends = self._backends.patched(self._states)
            self._states = {}

    def finished(self, backends: int, tables: int) -> Snapshot:
        """Return the snapshot, if it has so many backends and tables."""
        self.settle()
        if self._table is not None or (len(self._backends), len(self._tables)) != (backends, tables):
            raise SnapshotError("what is here is not what this was made for")
        before, main = self._before, self._tables[MAIN]
        others = before.others
        if self._are_others:
            others = {name: table for name, table in self._tables.items() if name != MAIN}
        return Snapshot(
            main.routes,
            self._backends,
            main.certificates,
            main.handshake_settings,
            serving=self._serving,
            listeners=self._listeners,
            others=others,
            replicas=self._replicas,
            replica_addresses=self._replica_addresses,
        )

    # Tables

    def _begin_table(self, name: str, *labels: bool) -> None:
        of_routes, of_certificates, of_handshakes = labels
        known = self._tables.get(_checked(name, str))
        if known is None:
            routes = RouteTable(covers_labels=of_routes)
            # Who is forked from here is not to look at each host for that.
            routes.keep_uses()
            known = ListenerTable(
                routes,
                CertificateTable(SharedMap(), SharedMap(), covers_labels=of_certificates),
                HandshakeSettingsTable(SharedMap(), of_handshakes),
                NO_STREAMS,
            )
        self._name, self._table = name, _Table(known)

    def _some_routes(self, routes: tuple[Route, ...]) -> None:
        self._routes += _checked_all(routes, Route)

    def _host(
        self, host: str, start: int, stop: int, routes: tuple[Route, ...], filters: Any, is_kept: bool
    ) -> None:
        table = self._current
        known = table.table.routes.get(_checked(host, str)) or NO_ROUTES
        replaced = self._routes + _checked_all(routes, Route)
        self._routes = ()
        together = known.routes[:start] + replaced + known.routes[stop:]
        self.replaced.append(known)
        made = HostRoutes(together, self._reader.together(_checked(filters, tuple)), is_kept)
        table.hosts[host] = made
        order = made.put_in_order()
        if len(together) >= AT_ONCE:
            self._orders.append(order)
        else:
            # Now, and not by the first request: whoever is forked from here shares it.
            deque(order, maxlen=0)

    def _no_host(self, host: str) -> None:
        table = self._current
        self.replaced.append(table.table.routes.get(_checked(host, str)))
        table.hosts[host] = None

    def _order(self) -> None:
        if self._orders and next(self._orders[0], self) is self:
            del self._orders[0]

    def _exact(self, host: str, certificates: Any) -> None:
        table = self._current
        self.replaced.append(table.table.certificates.exact.get(_checked(host, str)))
        table.exact[self._text(host)] = self._certificates(certificates)

    def _wildcard(self, suffix: str, certificates: Any) -> None:
        table = self._current
        self.replaced.append(table.table.certificates.wildcard.get(_checked(suffix, str)))
        table.wildcard[self._text(suffix)] = self._certificates(certificates)

    def _certificates(self, certificates: Any) -> Any:
        if certificates is None:
            return None
        return self._reader.together(_checked_all(certificates, Certificate))

    def _default(self, certificate: Certificate | None) -> None:
        table = self._current
        default = _checked(certificate, Certificate, _NOTHING)
        self.replaced.append(table.table.certificates.default)
        table.table = evolve(table.table, certificates=evolve(table.table.certificates, default=default))

    def _handshake(self, host: str, handshake: HandshakeSettings | None) -> None:
        table = self._current
        self.replaced.append(table.table.handshake_settings.by_host.get(_checked(host, str)))
        table.handshakes[self._text(host)] = _checked(handshake, HandshakeSettings, _NOTHING)

    def _stream(self, host: str, route: StreamRoute | None) -> None:
        table = self._current
        self.replaced.append(table.table.streams.by_host.get(_checked(host, str).encode()))
        table.streams[host] = _checked(route, StreamRoute, _NOTHING)

    def _counted(self, *wanted: int) -> None:
        table = self._current.settle()
        if counts(table) != wanted:
            raise SnapshotError("the table that is here is not the one that this was made for")
        self._tables[self._name] = table
        self._are_others |= self._name != MAIN
        self._table = None

    def _no_table(self, name: str) -> None:
        self.replaced.append(self._tables.pop(name))
        self._are_others = True

    @property
    def _current(self) -> _Table:
        if self._table is None:
            raise SnapshotError("no table has begun")
        return self._table

    def _text(self, text: str) -> str:
        return self._reader.text(_checked(text, str))

    # Backends, and the rest

    def _some_endpoints(self, endpoints: tuple[Endpoint, ...]) -> None:
        self._endpoints += _checked_all(endpoints, Endpoint)

    def _backend(
        self,
        reference: BackendReference,
        start: int,
        stop: int,
        endpoints: tuple[Endpoint, ...],
        near: int,
        reason: str,
        problems: tuple[Problem, ...],
        is_broken: bool,
    ) -> None:
        known = self._backends.get(_checked(reference, BackendReference)) or _NO_STATE
        replaced = self._endpoints + _checked_all(endpoints, Endpoint)
        self._endpoints = ()
        before = known.endpoints + known.elsewhere
        together = before[:start] + replaced + before[stop:]
        self.replaced.append(known)
        self._states[reference] = BackendState(together[:near], reason, problems, is_broken, together[near:])

    def _no_backend(self, reference: BackendReference) -> None:
        self.replaced += [self._backends.get(_checked(reference, BackendReference)), reference]
        self._states[reference] = None

    def _serve(self, serving: ServingSettings) -> None:
        self.replaced.append(self._serving)
        self._serving = _checked(serving, ServingSettings)

    def _listen(self, listeners: Any) -> None:
        self._listeners = _checked(listeners, tuple)

    def _share(self, replicas: int) -> None:
        self._replicas = _checked(replicas, int)

    def _find(self, addresses: Any) -> None:
        self._replica_addresses = _checked(addresses, tuple)


_TAKERS: Final[Mapping[Word, Callable[..., None]]] = {
    Word.TABLE: _Making._begin_table,
    Word.ROUTES: _Making._some_routes,
    Word.HOST: _Making._host,
    Word.NO_HOST: _Making._no_host,
    Word.ORDER: _Making._order,
    Word.EXACT: _Making._exact,
    Word.WILDCARD: _Making._wildcard,
    Word.DEFAULT: _Making._default,
    Word.HANDSHAKE: _Making._handshake,
    Word.STREAM: _Making._stream,
    Word.COUNTED: _Making._counted,
    Word.NO_TABLE: _Making._no_table,
    Word.ENDPOINTS: _Making._some_endpoints,
    Word.BACKEND: _Making._backend,
    Word.NO_BACKEND: _Making._no_backend,
    Word.SERVING: _Making._serve,
    Word.LISTENERS: _Making._listen,
    Word.REPLICAS: _Making._share,
    Word.REPLICA_ADDRESSES: _Making._find,
}

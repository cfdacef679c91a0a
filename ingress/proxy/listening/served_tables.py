"""All tables that are served, by name: made and given up as snapshots have them, and which of them stand side by side."""

from collections.abc import Callable, Iterator
from typing import Final

from twisted.internet.defer import maybeDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.errors import StartError
from ingress.model.network.listeners import MAIN, Listener, port_of
from ingress.model.stepwise import Stepwise
from ingress.process.in_slices import first_at_once
from ingress.proxy.dispatch.resource import IngressProxyResource
from ingress.proxy.dispatch.site import ProxySite
from ingress.proxy.listening.served_table import ServedSite, ServedTable
from ingress.tls.contexts import ServerContexts
from ingress.translate.gateway.claims import is_of_gateways
from ingress.translate.readers.gateway.topology.ports import SHARED_ADDRESS, table_name
from ingress.translate.snapshot import ListenerTable, Snapshot

AT_ONCE: Final = 20
"""Tables that are given up in one step: there may be hundreds, one for each port of Gateways."""


class ServedTables:
    """Serves what snapshots have: that of the command line by *main*, each other one by a *new_resource*; *clock* delays."""

    log = Logger()

    def __init__(
        self,
        main: IngressProxyResource,
        new_resource: Callable[[], IngressProxyResource],
        clock: IReactorTime,
    ) -> None:
        self._new_resource = new_resource
        self._clock = clock
        self._tables = {MAIN: ServedTable(main)}
        """Those that are served.  One of Gateways comes with its first listener: there may be hundreds, each of which takes a while."""
        self._current = Snapshot()
        # Those of the command line's listeners, with their ports: Gateways may be served there besides.
        self._given: list[tuple[int, ServedSite]] = []

    def publish(self, snapshot: Snapshot) -> None:
        """Serve the tables of *snapshot*, and no others."""
        self._current = snapshot
        gone = [name for name in self._tables if name != MAIN and name not in snapshot.others]
        if gone:
            left = [self._tables.pop(name).resource.forget() for name in gone]
            maybeDeferred(first_at_once, self._clock, _each(left)).addErrback(self._failed)
        self._publish(self._tables[MAIN], snapshot.main)
        for name, served in self._tables.items():
            if name != MAIN:
                self._publish(served, snapshot.others[name])
        for port, site in self._given:
            site.stand_beside(self._beside(port))

    def need(self, listener: Listener) -> ServedTable:
        """Return the table of *listener*, which is served from now on.

        Raises ``StartError`` where a later snapshot has no such table any more: listeners open one after the other, and may be many.
        """
        table = self._find(listener.table)
        if table is None:
            raise StartError(f"cannot listen on {listener.description}: nothing is served there any more")
        return table

    def new_site(self, listener: Listener, of_all: ProxySite, contexts: ServerContexts | None) -> ServedSite:
        """Return the site of *listener*; it shares with *of_all* all but its connections.  *contexts* are those of its TLS.

        Raises as ``need`` does.
        """
        served = self.need(listener).new_site(of_all, contexts)
        if is_of_gateways(listener.table):
            served.speak_http2()
        port = port_of(listener.description)
        if listener.is_required and port is not None:
            self._given.append((port, served))
            served.stand_beside(self._beside(port))
        return served

    def __iter__(self) -> Iterator[ServedTable]:
        return iter(self._tables.values())

    def sites(self) -> Iterator[ServedSite]:
        """Yield the sites of all listeners."""
        return (site for table in self for site in table.sites)

    def _failed(self, failure: Failure) -> None:
        self.log.failure(
            "Tables could not be given up, which is a bug; filters of theirs are kept", failure=failure
        )

    def _beside(self, port: int) -> ServedTable | None:
        return self._find(table_name(SHARED_ADDRESS, port))

    def _find(self, name: str) -> ServedTable | None:
        """Return a table that is served now, if it was not yet; None if there is none of that name."""
        served = self._tables.get(name)
        if served is None:
            table = self._current.others.get(name)
            if table is not None:
                served = self._tables[name] = ServedTable(self._new_resource())
                self._publish(served, table)
        return served

    def _publish(self, served: ServedTable, table: ListenerTable) -> None:
        served.publish(
            table.routes,
            table.certificates,
            table.handshake_settings,
            self._current.backends,
            table.streams,
        )


def _each(left: list[Callable[[], None]]) -> Stepwise[None]:
    while left:
        left.pop()()
        if not len(left) % AT_ONCE:
            yield

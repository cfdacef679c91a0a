"""The tests' API server as a test holds it in its hands."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from OpenSSL import SSL
from twisted.internet.address import IPv4Address
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IListeningPort
from twisted.internet.ssl import PrivateCertificate
from twisted.protocols.tls import TLSMemoryBIOFactory
from twisted.web.http import Request
from twisted.web.server import Site

from tests.fakes.apiserver.access import Access
from tests.fakes.apiserver.answering import ApiResource
from tests.fakes.apiserver.calls import Call
from tests.fakes.apiserver.connections import Connection, ConnectionFactory
from tests.fakes.apiserver.faults import Faults
from tests.fakes.apiserver.history import DEFAULT_WINDOW, History
from tests.fakes.apiserver.kinds import GATEWAY_KINDS, Json, KindTable, ResourceType, definition_of
from tests.fakes.apiserver.kubeconfig import kubeconfig
from tests.fakes.apiserver.listing import ListOptions
from tests.fakes.apiserver.watching import Closing, Watch
from tests.fakes.apiserver.writing import Scope, Writer
from tests.fakes.certificates import Authority, issue, make_authority
from tests.fakes.processes import free_port

#: The token that is known unless the test says otherwise.
DEFAULT_TOKEN = "a-token-for-tests"

#: Seconds between two bookmarks of a watch; the API sends one about each minute.
DEFAULT_BOOKMARK_SECONDS = 60.0


class ApiServer:
    """
    A Kubernetes API server in memory; the package's docstring shows its use.

    Attributes that a test may set at any time: ``access``, ``streaming_list``
    (off: 422 for ``sendInitialEvents``), ``gone_as_status`` (an expired watch
    is an HTTP status 410 and not an ERROR event), ``bookmark_seconds`` (None:
    only those a test sends) and ``split_bytes`` for watches that open later.
    """

    def __init__(
        self,
        reactor: Any,
        *,
        tls: bool = False,
        token: str | None = DEFAULT_TOKEN,
        window: int = DEFAULT_WINDOW,
        authority: Authority | None = None,
        kinds: KindTable | None = None,
    ) -> None:
        self.reactor = reactor
        self.token = token
        self.authority = (authority or make_authority("Tests' API server")) if tls else None
        self.kinds = kinds or KindTable()
        self.history = History(window)
        self.writer = Writer(self.history, self.kinds, self._now, random.Random(0))
        self.access = Access({} if token is None else {token: None})
        self.faults = Faults()
        self.requests: list[Call] = []
        self.watches: list[Watch] = []
        self._delays: set[IDelayedCall] = set()
        self.streaming_list = True
        self.gone_as_status = False
        self.bookmark_seconds: float | None = DEFAULT_BOOKMARK_SECONDS
        self.split_bytes: int | None = None
        self._factory = ConnectionFactory(self._http_factory())
        self._port: IListeningPort | None = None
        self._waiting: list[tuple[Callable[[], bool], Deferred[None]]] = []
        self.history.subscribe(lambda change: self.look_around())

    # Life

    async def listen(self, port: int = 0) -> None:
        """Listen on 127.0.0.1, by default on a free port, which nobody else is given while this does not listen."""
        self._port = self.reactor.listenTCP(port or free_port(), self._factory, interface="127.0.0.1")

    async def stop(self) -> None:
        """Reset all connections, stop listening, leave nothing in the reactor."""
        await self.stop_listening()
        await self._factory.abort_all()
        for timer in tuple(self._delays):
            if timer.active():
                timer.cancel()
        self._delays.clear()
        waiting, self._waiting = self._waiting, []
        for _, waiter in waiting:
            waiter.cancel()

    async def stop_listening(self) -> None:
        """Refuse new connections; those that are open stay. ``listen`` starts again."""
        port, self._port = self._port, None
        if port is not None:
            stopped = port.stopListening()
            if stopped is not None:
                await stopped

    @property
    def port(self) -> int:
        """The TCP port while listening."""
        assert self._port is not None, "listen() comes first"
        address = self._port.getHost()
        assert isinstance(address, IPv4Address)
        return address.port

    @property
    def url(self) -> str:
        """The URL without a path."""
        return f"{'http' if self.authority is None else 'https'}://127.0.0.1:{self.port}"

    def write_kubeconfig(self, path: str | Path, *, token: str | None = None) -> None:
        """Write a kubeconfig that leads here, with the server's own token or another one."""
        authority = None if self.authority is None else self.authority.pem
        Path(path).write_text(kubeconfig(self.url, authority, token or self.token), encoding="utf-8")

    # Objects, without HTTP

    def create(self, obj: Json) -> Json:
        """Store a new object, with its status; raise StatusError."""
        kind = self.kinds.of(obj)
        return copy.deepcopy(self.writer.create(kind, self._namespace(kind, obj), obj, "whole"))

    def replace(self, obj: Json) -> Json:
        """Replace an object, and its status when *obj* has one; raise StatusError."""
        kind, metadata = self.kinds.of(obj), obj["metadata"]
        scope: Scope = "whole" if "status" in obj else "main"
        return copy.deepcopy(
            self.writer.replace(kind, self._namespace(kind, obj), metadata["name"], obj, scope)
        )

    def apply(self, obj: Json) -> Json:
        """Create an object, or replace the one of its name whatever its version."""
        kind, metadata = self.kinds.of(obj), obj["metadata"]
        if self.history.get(kind, (self._namespace(kind, obj), metadata["name"])) is None:
            return self.create(obj)
        fresh = {key: value for key, value in metadata.items() if key not in ("resourceVersion", "uid")}
        return self.replace({**obj, "metadata": fresh})

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        """Delete an object; *kind* is a kind or its plural; raise StatusError."""
        row = self.kinds.named(kind)
        self.writer.delete(row, self._default(row, namespace), name)

    def get(self, kind: str, name: str, namespace: str = "") -> Json:
        """Return a copy of an object; raise StatusError."""
        row = self.kinds.named(kind)
        return copy.deepcopy(self.writer.read(row, self._default(row, namespace), name))

    def list(self, kind: str) -> tuple[Json, ...]:
        """Return copies of all objects of a kind, in the order of namespace and name."""
        return tuple(copy.deepcopy(obj) for _, obj in self.history.content(self.kinds.named(kind)))

    def served(self) -> KindTable:
        """Return the kinds that are served now: those that every cluster has, and those that are defined."""
        defined = {key[1] for key, _ in self.history.content(self.kinds.named("CustomResourceDefinition"))}
        return KindTable(tuple(row for row in self.kinds if not row.is_custom or row.qualified in defined))

    def define(self, version: str = "v1.6.1", channel: str = "standard") -> None:
        """Install the kinds of the Gateway API."""
        for row in GATEWAY_KINDS:
            self.apply(definition_of(row, version, channel))

    def compact(self) -> None:
        """Expire every version but the current one, which is made newer than all seen so far."""
        self.history.advance()
        self.history.compact()

    # Connections and watches

    def freeze(self) -> None:
        """Let every connection, also new ones, stay open and silent."""
        self._factory.freeze()

    def thaw(self) -> None:
        """Go on where ``freeze`` stopped."""
        self._factory.thaw()

    def reset_connections(self) -> None:
        """Reset every open connection."""
        for connection in tuple(self._factory.protocols):
            connection.abortConnection()

    @property
    def connection_count(self) -> int:
        """How many connections are open."""
        return len(self._factory.protocols)

    def watches_of(self, resource: str) -> tuple[Watch, ...]:
        """Return the running watches of a plural."""
        return tuple(watch for watch in self.watches if watch.kind.plural == resource)

    def close_watches(self, how: Closing = "finish", resource: str | None = None) -> int:
        """Close the running watches, of one plural or all, and return how many there were."""
        watches = tuple(self.watches) if resource is None else self.watches_of(resource)
        for watch in watches:
            watch.close(how)
        return len(watches)

    def send_bookmarks(self) -> None:
        """Send a bookmark on every watch that allows bookmarks."""
        for watch in tuple(self.watches):
            watch.bookmark()

    # What happened

    def requests_of(self, verb: str, resource: str | None = None) -> tuple[Call, ...]:
        """Return the logged requests with an RBAC verb, of one plural or all."""
        return tuple(call for call in self.requests if call.verb == verb and resource in (None, call.plural))

    def when(self, condition: Callable[[], bool]) -> Deferred[None]:
        """
        Return a Deferred that fires as soon as *condition* holds.

        It is looked at now, after each request, change, and opened or ended watch.
        Give the Deferred a timeout; ``stop`` cancels it.
        """
        waiter: Deferred[None] = Deferred()
        if condition():
            waiter.callback(None)
        else:
            self._waiting.append((condition, waiter))
        return waiter

    # For the resource

    def look_around(self) -> None:
        """Fire the waiters whose condition holds now."""
        for entry in tuple(self._waiting):
            condition, waiter = entry
            if waiter.called:
                self._waiting.remove(entry)
            elif condition():
                self._waiting.remove(entry)
                waiter.callback(None)

    def open_watch(
        self, kind: ResourceType, namespace: str, options: ListOptions, request: Request, call: Call
    ) -> None:
        """Start a watch; raise StatusError before anything is written."""
        watch = Watch(
            self.reactor,
            self.history,
            kind,
            namespace,
            options,
            request,
            call,
            bookmark_seconds=self.bookmark_seconds,
            split_bytes=self.split_bytes,
            ended=self._watch_ended,
        )
        self.watches.append(watch)
        try:
            watch.start(gone_as_status=self.gone_as_status)
        except BaseException:
            self.watches.remove(watch)
            raise

    def reset_when_sent(self, connection: Connection) -> None:
        """Reset a connection when its bytes have left the process."""
        if connection.is_flushed:
            connection.abortConnection()
        else:
            self.call_later(0, lambda: self.reset_when_sent(connection))

    def call_later(self, seconds: float, action: Callable[[], None]) -> IDelayedCall:
        """Do something later, unless the server stops before that."""

        def act() -> None:
            self._delays.discard(timer)
            action()

        timer: IDelayedCall = self.reactor.callLater(seconds, act)
        self._delays.add(timer)
        return timer

    def _watch_ended(self, watch: Watch) -> None:
        self.watches.remove(watch)
        self.look_around()

    def _namespace(self, kind: ResourceType, obj: Json) -> str:
        return self._default(kind, obj["metadata"].get("namespace") or "")

    def _default(self, kind: ResourceType, namespace: str) -> str:
        return (namespace or "default") if kind.namespaced else ""

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self.reactor.seconds(), UTC)

    def _http_factory(self) -> Any:
        # No idle timeout: the API server keeps connections for minutes, tests for less.
        site = Site(ApiResource(self), reactor=self.reactor, timeout=None)
        site.noisy = False
        site.displayTracebacks = False
        if self.authority is None:
            return site
        chain, key = issue(self.authority, ["127.0.0.1", "localhost"])
        options = PrivateCertificate.loadPEM(chain + key).options()
        # Whoever shows a certificate has its name as a token; others are not turned away here.
        options.getContext().set_verify(SSL.VERIFY_PEER, lambda *_: True)
        return TLSMemoryBIOFactory(options, False, site)


def load_all(server: ApiServer, documents: Iterable[Json | None]) -> int:
    """Apply the objects of YAML documents, ``List`` kinds included; return how many."""
    count = 0
    for document in documents:
        if not document:
            continue
        if str(document.get("kind", "")).endswith("List") and "items" in document:
            count += load_all(server, document["items"])
        else:
            server.apply(document)
            count += 1
    return count

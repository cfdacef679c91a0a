"""What becomes of the handshakes of Gateways' listeners, kept up to date object by object.  Part of incremental translation.

An object is decided about again when it asks for something else, when a Secret or ConfigMap that it names changes, and when the
validity of a certificate begins or ends.  A table whose listeners come out differently is put together anew.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from ingress.identity.certificates import Certificate
from ingress.model.cluster.objects import Kind, ObjectId
from ingress.model.cluster.state import ClusterState
from ingress.translate.caches.bookkeeping import Index, ProblemIndex
from ingress.translate.caches.loaded_certificates import LoadedCertificates
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.handshake_requests import NOTHING_ASKED, GatewayTls
from ingress.translate.gateway.handshakes import (
    AT_ONCE,
    NO_HANDSHAKES,
    HandshakeTables,
    ListenerHandshake,
    decide_handshake,
    tables_of,
)
from ingress.translate.options import TranslateOptions


class HandshakeCache:
    """Keeps what was decided for each object that has listeners; tells the problems to *problem_index*.

    *shown* counts the hosts of each certificate in all tables.
    """

    def __init__(
        self, options: TranslateOptions, problem_index: ProblemIndex, shown: Counter[Certificate]
    ) -> None:
        self._problem_index = problem_index
        self._shown = shown
        self._loaded = LoadedCertificates(options)
        self._asked: dict[ObjectId, GatewayTls] = {}
        self._users: Index[ObjectId, ObjectId] = Index()
        self._stale: dict[ObjectId, None] = {}
        self._decided: dict[ObjectId, tuple[ListenerHandshake, ...]] = {}
        self._members: Index[str, ObjectId] = Index()
        self._stale_tables: dict[str, None] = {}
        self._tables: dict[str, HandshakeTables] = {}

    def object_changed(
        self, object_id: ObjectId, before: ParsedObject | None, after: ParsedObject | None
    ) -> None:
        """Note that an object asked for *before* and asks for *after*; None where it is not served."""
        asked = NOTHING_ASKED if before is None else before.gateway_tls
        asks = NOTHING_ASKED if after is None else after.gateway_tls
        if asked == asks:
            return
        named = dict.fromkeys(asked.named())
        self._users.replace(object_id, named, dict.fromkeys(asks.named()))
        for one in named:
            if one not in self._users:
                self._forget(one)
        if asks.handshakes:
            self._asked[object_id] = asks
        else:
            self._asked.pop(object_id, None)
        self._stale[object_id] = None

    def target_changed(self, target: ObjectId) -> None:
        """Note that a Secret or a ConfigMap has to be read again, if anybody names it."""
        if target in self._users:
            self._forget(target)
            self._stale.update(dict.fromkeys(self._users.get(target)))

    def seconds_to_next(self, now: datetime) -> float | None:
        """Return in how many seconds a round has to look again; see ``LoadedCertificates.seconds_to_next``."""
        return self._loaded.seconds_to_next(now)

    def round(self, state: ClusterState, now: datetime) -> Iterator[None]:
        """Bring all tables up to date, one listener or some of a table a step."""
        for secret in self._loaded.begin(now):
            self._stale.update(dict.fromkeys(self._users.get((Kind.SECRET, secret))))
        while self._stale:
            object_id, _ = self._stale.popitem()
            asked = self._asked.get(object_id, NOTHING_ASKED)
            found: list[ListenerHandshake] = []
            for request in asked.handshakes:
                found.append(decide_handshake(request, lambda key: self._loaded.load(key, state), state, now))
                yield
            self._put(object_id, tuple(found))
        while self._stale_tables:
            name, _ = self._stale_tables.popitem()
            yield from self._put_together(name)
            yield
        # A dictionary that was emptied keeps the room that it had.
        self._stale, self._stale_tables = {}, {}

    def of(self, table: str) -> HandshakeTables:
        """Return what holds in *table*; as long as it is the same, the same objects."""
        return self._tables.get(table, NO_HANDSHAKES)

    def _forget(self, target: ObjectId) -> None:
        kind, key = target
        if kind is Kind.SECRET:
            self._loaded.forget(key)

    def _put(self, object_id: ObjectId, after: tuple[ListenerHandshake, ...]) -> None:
        before = self._decided.pop(object_id, ())
        if after:
            self._decided[object_id] = after
        problems = tuple(problem for one in after for problem in one.problems)
        self._problem_index.put(("handshakes", object_id), problems)
        had, has = _served(before), _served(after)
        self._members.replace(object_id, had, has)
        for name in {**had, **has}:
            if had.get(name) != has.get(name):
                self._stale_tables[name] = None

    def _put_together(self, name: str) -> Iterator[None]:
        members = self._members.get(name)
        made = yield from tables_of(
            one for member in members for one in self._decided[member] if one.request.table == name
        )
        before = self._tables.pop(name, NO_HANDSHAKES)
        if members:
            self._tables[name] = made
        for number, (_, certificate) in enumerate(made.certificates.shown(), 1):
            self._shown[certificate] += 1
            if not number % AT_ONCE:
                yield
        for number, (_, certificate) in enumerate(before.certificates.shown(), 1):
            self._shown[certificate] -= 1
            if not self._shown[certificate]:
                del self._shown[certificate]
            if not number % AT_ONCE:
                yield


def _served(some: tuple[ListenerHandshake, ...]) -> dict[str, list[object]]:
    """Return what of *some* makes a difference in each table."""
    found: dict[str, list[object]] = {}
    for one in some:
        if one.request.table:
            entry = (one.request.owner, one.request.hostname, one.certificates, one.settings)
            found.setdefault(one.request.table, []).append(entry)
    return found

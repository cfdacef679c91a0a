"""A snapshot as bytes, for another process of the same program.

Everything in a snapshot is plain data, so it is written by ``pickle``, which is fast and keeps what is shared
shared; and read by an unpickler that knows the values of our own modules and a few of the standard library, and makes nothing
else.  Tables are rebuilt: where an entry of a ``SharedMap`` is found depends on the hashes of one process.

Filters of the operator's travel as name and arguments, and whoever reads has to have them installed, too.

The bytes hold private keys.  They go through a pipe between processes that trust each other, and into no file.
"""

import io
import pickle
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from enum import Enum
from importlib import import_module
from typing import Any, Final

import attrs

from ingress.annotations.operator_filters import InstalledFilter, OperatorFilter, operator_filter
from ingress.annotations.values import ValueRefused
from ingress.identity.certificates import Certificate, CertificateTable
from ingress.identity.server_names import HandshakeSettings, HandshakeSettingsTable
from ingress.model.backends import BackendReference, BackendState
from ingress.model.listeners import MAIN, Listener
from ingress.model.objects import Kind, Owner
from ingress.model.problems import Problem
from ingress.model.serving import ServingSettings
from ingress.model.shared_map import SharedMap
from ingress.routing.route import Route
from ingress.routing.streams import StreamRoute, StreamTable
from ingress.routing.table import HostRoutes, RouteTable
from ingress.translate.snapshot import ListenerTable, Snapshot

FORMAT: Final = b"txingress snapshot 1\n"
"""What the bytes begin with; another number for another arrangement."""

_ROOMS: Final = (
    "ingress.annotations.",
    "ingress.gateway_filters.",
    "ingress.identity.",
    "ingress.model.",
    "ingress.routing.",
    "ingress.translate.",
)
_OF_OTHERS: Final = {
    (one.__module__, one.__qualname__): one for one in (datetime, timedelta, timezone, frozenset)
}


class SnapshotError(ValueError):
    """Bytes are no snapshot that can be read here, or a snapshot cannot be written; the message says why."""


@attrs.frozen
class _Table:
    """All of a table, with nothing that depends on a process."""

    hosts: dict[str, tuple[tuple[Route, ...], tuple[Any, ...], bool]]
    exact: dict[str, tuple[Certificate, ...]]
    wildcard: dict[str, tuple[Certificate, ...]]
    default: Certificate | None
    handshake_settings: dict[str, HandshakeSettings]
    covers_labels: bool
    streams: tuple[StreamRoute, ...]


@attrs.frozen
class _Content:
    """All of a snapshot, with nothing that depends on a process."""

    tables: dict[str, _Table]
    backends: dict[BackendReference, BackendState]
    problems: tuple[Problem, ...]
    serving: ServingSettings
    listeners: tuple[Listener, ...]
    replicas: int
    attached: dict[tuple[Owner, str], int]


def snapshot_to_bytes(snapshot: Snapshot) -> bytes:
    """Write *snapshot*; raise ``SnapshotError`` if something in it is no plain data."""
    content = _Content(
        {name: _plain(table) for name, table in snapshot.tables()},
        dict(snapshot.backends),
        snapshot.problems,
        snapshot.serving,
        snapshot.listeners,
        snapshot.replicas,
        dict(snapshot.attached),
    )
    written = io.BytesIO()
    written.write(FORMAT)
    pickler = _Writer(written, protocol=5)
    try:
        pickler.dump(content)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise SnapshotError(f"a part of the snapshot is no plain data: {error}") from error
    return written.getvalue()


def snapshot_from_bytes(octets: bytes, installed: Mapping[str, InstalledFilter] | None = None) -> Snapshot:
    """Read what ``snapshot_to_bytes`` wrote; *installed* are the filters of the operator's, by name.

    Raises ``SnapshotError`` for anything else.
    """
    if not octets.startswith(FORMAT):
        raise SnapshotError("not a snapshot of this version of txingress")
    reader = _Reader(io.BytesIO(octets[len(FORMAT) :]), installed or {})
    try:
        content = reader.load()
        if type(content) is not _Content:
            raise SnapshotError("not a snapshot")
        return _rebuilt(content)
    except SnapshotError:
        raise
    except Exception as error:
        # Damaged bytes may mean any call of what the reader knows, with any arguments.
        raise SnapshotError(f"cannot be read: {type(error).__name__}: {error}") from error


def _plain(table: ListenerTable) -> _Table:
    certificates = table.certificates
    return _Table(
        {host: (some.routes, some.filters, some.is_kept) for host, some in table.routes.by_host()},
        dict(certificates.exact),
        dict(certificates.wildcard),
        certificates.default,
        dict(table.handshake_settings.by_host),
        table.routes.covers_labels,
        tuple(table.streams),
    )


def _rebuilt(content: _Content) -> Snapshot:
    tables = {name: _rebuilt_table(table) for name, table in content.tables.items()}
    main = tables.pop(MAIN)
    return Snapshot(
        table=main.routes,
        backends=SharedMap(content.backends),
        certificates=main.certificates,
        handshake_settings=main.handshake_settings,
        problems=content.problems,
        serving=content.serving,
        listeners=content.listeners,
        others=tables,
        replicas=content.replicas,
        attached=content.attached,
    )


def _rebuilt_table(table: _Table) -> ListenerTable:
    return ListenerTable(
        RouteTable(covers_labels=table.covers_labels).patched(
            {host: HostRoutes(*some) for host, some in table.hosts.items()}
        ),
        CertificateTable(
            SharedMap(table.exact), SharedMap(table.wildcard), table.default, table.covers_labels
        ),
        HandshakeSettingsTable(SharedMap(table.handshake_settings), table.covers_labels),
        StreamTable(table.streams),
    )


def _travels(kind: type) -> bool:
    """Whether values of *kind* may be in a snapshot's bytes: plain data of our own, which do nothing when they are made."""
    if not kind.__module__.startswith(_ROOMS):
        return False
    is_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
    return kind is Kind or is_tuple or issubclass(kind, Enum) or _is_frozen(kind)


def _is_frozen(kind: type) -> bool:
    return attrs.has(kind) and kind.__setattr__ is not object.__setattr__


def _restore(name: str, arguments: str) -> OperatorFilter:
    """Stand, in the bytes, for a filter of the operator's; the reader puts its own in this place."""
    raise SnapshotError(f"filter {name} is not installed here")


class _Writer(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        """Refuse what the reader would not make; called for everything that is no builtin."""
        kind = type(value)
        if kind is OperatorFilter:
            return _restore, (value.name, value.arguments)
        named = value if isinstance(value, type) else kind
        if named in _OF_OTHERS.values() or value is _restore or _travels(named):
            return NotImplemented
        raise SnapshotError(f"{named.__module__}.{named.__qualname__} is no plain data of a snapshot")


class _Reader(pickle.Unpickler):
    def __init__(self, source: io.BytesIO, installed: Mapping[str, InstalledFilter]) -> None:
        super().__init__(source)
        self._installed = installed

    def find_class(self, module: str, name: str) -> Any:
        """Return the class or function of this name; called for each that is in the bytes."""
        known = _OF_OTHERS.get((module, name))
        if known is not None:
            return known
        if (module, name) == (_restore.__module__, _restore.__qualname__):
            return self._operator_filter
        if module.startswith(_ROOMS) and "." not in name:
            found = getattr(import_module(module), name, None)
            if isinstance(found, type) and found.__module__ == module and _travels(found):
                return found
        raise SnapshotError(f"{module}.{name} is no plain data of a snapshot")

    def _operator_filter(self, name: str, arguments: str) -> OperatorFilter:
        installed = self._installed.get(name)
        if installed is None:
            raise SnapshotError(f"filter {name} is not installed here")
        try:
            return operator_filter(installed, arguments)
        except ValueRefused as refusal:
            raise SnapshotError(f"filter {name}={arguments} {refusal}") from None

"""Values of snapshots as bytes, for another process of the same program.

Everything in a snapshot is plain data, so it is written by ``pickle``, which is fast and keeps what is shared
shared; and read by an unpickler that knows the values of our own modules and a few of the standard library, and makes nothing
else.  A value is written as its class and the fields that have no default; so little is read, and what is a default is
the same object again.  Values that many others have in common are one object for a reader, in whatever bytes they come.

Filters of the operator's travel as name and arguments, and whoever reads has to have them installed, too.

What the bytes mean together is a matter of ``ingress.workers.feed``.  They hold private keys.  They go through a pipe between
processes that trust each other, and into no file.
"""

import io
import pickle
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta, timezone
from enum import Enum
from importlib import import_module
from operator import attrgetter
from typing import Any, Final

import attrs

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.operator_filters import InstalledFilter, OperatorFilter, operator_filter
from ingress.filters import FilterSpec
from ingress.model.cluster.objects import Kind
from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.upstream.backends import BackendState, Endpoint
from ingress.routing.route import Route
from ingress.routing.streams import StreamRoute
from ingress.workers.feed.shared_values import SharedValues

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
_ONCE: Final = frozenset((BackendState, Endpoint, Kind, Route, ServingSettings, StreamRoute))
"""Of these a snapshot has each once, so nobody looks for another one that is equal."""
_FILTERS: Final = [one.name for one in attrs.fields(Route)].index("filters")


class SnapshotError(ValueError):
    """Bytes are nothing of a snapshot that can be read here, or something of it cannot be written; the message says why."""


# What travels


def _travels(kind: type) -> bool:
    """Whether values of *kind* may be in the bytes: plain data of our own, which do nothing when they are made."""
    if not kind.__module__.startswith(_ROOMS):
        return False
    return kind is Kind or _is_named_tuple(kind) or issubclass(kind, Enum) or _is_frozen(kind)


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def _is_frozen(kind: type) -> bool:
    return attrs.has(kind) and kind.__setattr__ is not object.__setattr__


def _restore(name: str, arguments: str) -> OperatorFilter:
    """Stand, in the bytes, for a filter of the operator's; the reader puts its own in this place."""
    raise SnapshotError(f"filter {name} is not installed here")


# Writing

_Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


class ValueWriter:
    """Writes values, one behind the other; what several of them have in common is written once."""

    def __init__(self) -> None:
        self._written = io.BytesIO()
        self._pickler = _Pickler(self._written, protocol=5)

    def write(self, value: object) -> int:
        """Write *value*; return how many bytes there are now.  Raises ``SnapshotError`` if something in it is no plain data."""
        try:
            self._pickler.dump(value)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise SnapshotError(f"a part of the snapshot is no plain data: {error}") from error
        return self._written.tell()

    def octets(self) -> bytes:
        """All that was written."""
        return self._written.getvalue()


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        """Refuse what the reader would not make; called for everything that is no builtin."""
        kind = type(value)
        reduce = _reducers.get(kind)
        if reduce is not None:
            return reduce(value)
        if isinstance(value, type):
            if value in _OF_OTHERS.values() or _travels(value):
                return NotImplemented
            raise _no_plain_data(value)
        if value is _restore:
            return NotImplemented
        _reducers[kind] = _reducer(kind)
        return self.reducer_override(value)


def _no_plain_data(kind: type) -> SnapshotError:
    return SnapshotError(f"{kind.__module__}.{kind.__qualname__} is no plain data of a snapshot")


def _reducer(kind: type) -> Callable[[Any], Any]:
    """Return what reduces values of *kind* to how they are made."""
    if kind is OperatorFilter:
        return _reduced_operator_filter
    if issubclass(kind, Enum):
        return _reduced_enum
    if kind in _OF_OTHERS.values() or kind is Kind:
        return _as_usual
    if not _travels(kind):
        raise _no_plain_data(kind)
    if _is_named_tuple(kind):
        return _reduced_tuple
    if _is_made_by_fields(kind):
        return _fields_of(kind)
    return _as_usual


def _as_usual(value: object) -> Any:
    return NotImplemented


def _reduced_operator_filter(value: OperatorFilter) -> _Reduced:
    return _restore, (value.name, value.arguments)


def _reduced_enum(value: Enum) -> _Reduced:
    # By itself Python 3.11.2, which Debian 12 has, writes it as an attribute to look up by its name.
    return type(value), (value.value,)


def _reduced_tuple(value: tuple[Any, ...]) -> _Reduced:
    return type(value), tuple(value)


def _is_made_by_fields(kind: type) -> bool:
    """Whether calling *kind* with its fields makes the same value; those that follow from others have no part in comparisons."""
    return not hasattr(kind, "__attrs_post_init__") and all(
        not one.kw_only and one.converter is None and (one.init or not one.eq) for one in attrs.fields(kind)
    )


def _fields_of(kind: type) -> Callable[[Any], _Reduced]:
    given = [one for one in attrs.fields(kind) if one.init]
    if not given:
        return lambda value: (kind, ())
    names = [one.name for one in given]
    defaults = [one.default for one in given]
    count = len(names)
    if count == 1:
        get_one = attrgetter(names[0])
        return lambda value: (kind, (get_one(value),))
    get = attrgetter(*names)

    def reduced(value: Any) -> _Reduced:
        fields = get(value)
        last = count
        while last and fields[last - 1] is defaults[last - 1]:
            last -= 1
        return kind, fields[:last]

    return reduced


_reducers: Final[dict[type, Callable[[Any], Any]]] = {}


# Reading


class ValueReader:
    """Reads what ``ValueWriter`` wrote; *allowed* are the filters of the operator's that may be in it.

    What it has read it remembers, so that values which come again are the same objects.
    """

    def __init__(self, allowed: Iterable[InstalledFilter] = ()) -> None:
        self._allowed = {one.name: one for one in allowed}
        self._makers: dict[tuple[str, str], Callable[..., Any]] = {
            **_OF_OTHERS,
            (_restore.__module__, _restore.__qualname__): self._operator_filter,
        }
        self.shared = SharedValues()
        self._text = self.shared.sharing(str)
        self._tuple = self.shared.sharing(tuple)
        self._filter = self.shared.sharing(OperatorFilter)
        self.refused: list[str] = []
        """What installed filters say against arguments that they took where the snapshot was made."""
        # By the identity of tuples of the present bytes, which are kept beside them so long.
        self._known: dict[int, tuple[tuple[Any, ...], tuple[Any, ...]]] = {}

    def read(self, octets: bytes) -> Iterator[Any]:
        """Yield each value; raises ``SnapshotError`` for anything else."""
        source = io.BytesIO(octets)
        unpickler = _Unpickler(source, self._maker)
        length = len(octets)
        try:
            while source.tell() < length:
                yield unpickler.load()
        except SnapshotError:
            raise
        except Exception as error:
            # Damaged bytes may mean any call of what the reader knows, with any arguments.
            raise SnapshotError(f"cannot be read: {type(error).__name__}: {error}") from error
        finally:
            self._known.clear()

    def text(self, text: str) -> str:
        """Return *text*, or the equal one that came before."""
        return self._text(text, text)

    def together(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return *values*, or equal ones that came before."""
        if not values:
            return ()
        known = self._known.get(id(values))
        if known is None:
            try:
                known = values, self._tuple(values, values)
            except TypeError:
                known = values, values
            self._known[id(values)] = known
        return known[1]

    def _maker(self, module: str, name: str) -> Callable[..., Any]:
        known = self._makers.get((module, name))
        if known is None:
            known = self._makers[module, name] = self._new_maker(module, name)
        return known

    def _new_maker(self, module: str, name: str) -> Callable[..., Any]:
        found = None
        if module.startswith(_ROOMS) and "." not in name:
            found = getattr(import_module(module), name, None)
        if not isinstance(found, type) or found.__module__ != module or not _travels(found):
            raise SnapshotError(f"{module}.{name} is no plain data of a snapshot")
        if found is Route:
            return self._route
        if found is StreamRoute:
            return self._stream
        if found in _ONCE or issubclass(found, Enum):
            return found
        return (
            found if not (_is_named_tuple(found) or _is_made_by_fields(found)) else self._shared_maker(found)
        )

    def _shared_maker(self, kind: type) -> Callable[..., Any]:
        share: Callable[[Any, Any], Any] = self.shared.sharing(kind)

        def make(*fields: Any) -> Any:
            made = kind(*fields)
            try:
                return share(made, made)
            except TypeError:
                # Something in it has no hash.
                return made

        return make

    def _route(self, host: str, *others: Any) -> Route:
        if len(others) >= _FILTERS:
            filters = others[_FILTERS - 1]
            others = *others[: _FILTERS - 1], self.together(filters), *others[_FILTERS:]
        return Route(self._text(host, host), *others)

    def _stream(self, host: str, *others: Any) -> StreamRoute:
        return StreamRoute(self._text(host, host), *others)

    def _operator_filter(self, name: str, arguments: str) -> FilterSpec:
        installed = self._allowed.get(name)
        if installed is None:
            raise SnapshotError(f"filter {name} is not installed here")
        try:
            made = operator_filter(installed, arguments)
        except ValueRefused as refusal:
            # It may have been a guard.
            self.refused.append(f"{name}={arguments} {refusal}")
            return GuardMissing()
        return self._filter(made, made)


class _Unpickler(pickle.Unpickler):
    def __init__(self, source: io.BytesIO, maker: Callable[[str, str], Callable[..., Any]]) -> None:
        super().__init__(source)
        self._maker = maker

    def find_class(self, module: str, name: str) -> Any:
        """Return what makes values of the class, or is the function, of this name; called for each that is in the bytes."""
        return self._maker(module, name)

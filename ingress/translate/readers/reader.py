"""What makes a kind of route objects known: how it is read from a cluster, and what its objects ask for.

A kind is a folder and a row (``RouteKind``) in ``ingress.translate.readers.route_kinds``.  Its row says how
objects are asked for and written (``KindRead``), what is kept of them (a *projector*), and who turns
that into claims (a *reader*).  Sources, store, translation and reports take all they know of the kind from there.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Protocol, TypeGuard

from ingress.model.cluster.objects import ClusterObject, Kind, ObjectKey
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.secrets import Needs
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.object_fields import FieldReader, RawObject
from ingress.translate.claims import ParsedObject
from ingress.translate.options import TranslateOptions
from ingress.translate.reports import ReportedKind


class Projector(Protocol):
    """Keeps of a raw object what matters here; runs in threads, touches nothing but its arguments, never raises."""

    def __call__(
        self, raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
    ) -> ClusterObject | None:
        """Project *raw*, the object *reader*.key, whose *metadata* was found; None for what cannot be used.

        Problems are told to *reader*.  *old* says that it is written in an old version.
        """


class StepwiseProjector(Protocol):
    """The same in steps, for objects that may be large."""

    def __call__(
        self, raw: RawObject, metadata: RawObject, reader: FieldReader, annotations_prefix: str, old: bool, /
    ) -> Stepwise[ClusterObject | None]:
        """Project *raw*, as a ``Projector`` does."""


@frozen
class KindRead:
    """How one kind is read.

    *group* is empty for the core group.  *optional* kinds do not hold back the first sync
    when the API server forbids them.  *field_selector* narrows what is listed and watched;
    empty means everything.  *verbs* are those of the Kubernetes authorization rules.
    """

    kind: Kind
    group: str
    version: str
    plural: str
    project: Projector
    namespaced: bool = True
    optional: bool = False
    field_selector: str = ""
    verbs: tuple[str, ...] = ("list", "watch")
    old_versions: tuple[str, ...] = ()
    """Values of ``apiVersion`` in which manifests may have the kind, though clusters do not serve them any more."""
    definition: str = ""
    """The name of the CustomResourceDefinition without which it is not asked for; empty for what every cluster has."""
    metadata_only: bool = False
    """Whether nothing but metadata is asked for."""
    projecting: StepwiseProjector | None = None
    """What does in steps what *project* does, if anything."""
    reported: ReportedKind | None = None
    """How objects say what became of them; None where their status is not ours to write."""

    @property
    def api_version(self) -> str:
        """What objects say as ``apiVersion``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "") -> str:
        """The collection's path, of one *namespace* or (empty) of the whole cluster."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        return f"{root}/namespaces/{namespace}/{self.plural}" if namespace else f"{root}/{self.plural}"

    def object_path(self, key: ObjectKey) -> str:
        """The path of one object."""
        return f"{self.path(key.namespace)}/{key.name}"

    def scopes(self, namespaces: tuple[str, ...]) -> tuple[str, ...]:
        """The namespaces to ask in, one request each; the empty one means the whole cluster."""
        return namespaces if self.namespaced and namespaces else ("",)


@frozen
class Verdict:
    """Whether an object is ours to serve, and what about that deserves a word."""

    is_ours: bool
    problems: tuple[Problem, ...] = ()
    related: Hashable = None
    """What of other objects the reading goes by: the object is read again when it is another."""


class Reader(Protocol):
    """Reads the objects of one kind.  Pure and total: the same state gives the same, and nothing raises."""

    def judge(self, value: ClusterObject, state: ClusterState, /) -> Verdict:
        """Decide whether *value* is ours, by the kinds of ``RouteKind.judged_by`` in *state*."""

    def class_of(self, value: ClusterObject, /) -> Hashable:
        """Return what of *value* decides that: objects in which it is equal are all ours, or none is."""

    def read(self, value: ClusterObject, related: Hashable, /) -> ParsedObject:
        """Return what *value*, which is ours, asks for; *related* is that of the verdict."""

    def needs(self, value: ClusterObject, kind: Kind, /) -> Needs:
        """Return the objects of *kind* that *value* refers to, should it be ours; asked before any of these is read.

        The kinds are ``Secret`` and ``ConfigMap``.
        """

    def why_nothing(self, state: ClusterState, /) -> Stepwise[str]:
        """Say, found in steps, what kept all objects of the kind in *state* from having a route; empty where there is nothing to say.

        The text goes on after a colon.
        """


class StepwiseReader(Protocol):
    """Besides, of a reader whose objects may take long."""

    def reading(self, value: ClusterObject, related: Hashable, /) -> Stepwise[ParsedObject]:
        """Return what ``Reader.read`` does, in steps."""


class NeedingReader(Protocol):
    """Besides, of a reader whose objects may refer to very much, or say so where it takes long to read."""

    def may_need(self, value: ClusterObject, kind: Kind, /) -> bool:
        """Whether *value* refers to objects of *kind*, by a short look: one of which this is said may come to refer to nothing."""

    def needing(self, value: ClusterObject, kind: Kind, /) -> Stepwise[Needs]:
        """Return what ``Reader.needs`` does, in steps of some dozens of microseconds."""


class OwnershipReader(Protocol):
    """Besides, of a reader whose ``judge`` goes by more objects than it takes to know whether one is ours."""

    decided_by: tuple[Kind, ...]
    """The kinds that this takes, some of ``RouteKind.judged_by``."""

    def is_ours(self, value: ClusterObject, state: ClusterState, /) -> bool:
        """Return what ``Reader.judge`` finds, by a look at single objects of *state*."""


# Asked by isinstance, a protocol looks at all its members anew each time: before Python 3.12 that takes longer than to make a reader.


def _reads_in_steps(reader: Reader) -> TypeGuard[StepwiseReader]:
    return hasattr(reader, "reading")


def _needs_in_steps(reader: Reader) -> TypeGuard[NeedingReader]:
    return hasattr(reader, "needing")


def _knows_ownership(reader: Reader) -> TypeGuard[OwnershipReader]:
    return hasattr(reader, "is_ours")


def needing(reader: Reader, value: ClusterObject, kind: Kind) -> Stepwise[Needs]:
    """Return the objects of *kind* that *value* refers to, should it be ours, in steps if that may take long."""
    if not _needs_in_steps(reader):
        return reader.needs(value, kind)
    return (yield from reader.needing(value, kind))


@frozen
class RouteKind:
    """A kind of route objects: a row of ``ROUTE_KINDS``."""

    read: KindRead
    reader: Callable[[TranslateOptions], Reader]
    judged_by: tuple[KindRead, ...] = ()
    """The kinds of objects that decide which objects are ours."""
    prepare: Callable[[ClusterState, TranslateOptions], Iterator[None]] | None = None
    """Works out step by step what readers go by, and holds it (``ClusterState.derived``); several kinds may have the same."""

    @property
    def kind(self) -> Kind:
        """The name of the kind."""
        return self.read.kind


def reported_by(rows: Iterable[RouteKind]) -> tuple[ReportedKind, ...]:
    """Return the kinds whose status is ours to write: of *rows*, and of what these are judged by."""
    reads = (read for row in rows for read in (row.read, *row.judged_by))
    return tuple({read.kind: read.reported for read in reads if read.reported is not None}.values())


class Readers:
    """The readers of all *kinds*, as *options* want them."""

    def __init__(self, kinds: Iterable[RouteKind], options: TranslateOptions) -> None:
        self._options = options
        self._prepare: dict[Callable[[ClusterState, TranslateOptions], Iterator[None]], None] = {}
        self._readers: dict[Kind, Reader] = {}
        self._stepwise: dict[Kind, StepwiseReader] = {}
        self._ownership: dict[Kind, OwnershipReader] = {}
        self._decided: dict[Kind, dict[Kind, None]] = {}
        self._judged: dict[Kind, tuple[Kind, ...]] = {}
        for row in kinds:
            reader = self._readers[row.kind] = row.reader(options)
            if _reads_in_steps(reader):
                self._stepwise[row.kind] = reader
            judges = tuple(judge.kind for judge in row.judged_by)
            if _knows_ownership(reader):
                self._ownership[row.kind] = reader
                judges = reader.decided_by
            for kind in judges:
                self._decided.setdefault(kind, {})[row.kind] = None
            if row.prepare is not None:
                self._prepare[row.prepare] = None
            for judge in row.judged_by:
                self._judged[judge.kind] = (*self._judged.get(judge.kind, ()), row.kind)

    def prepare(self, state: ClusterState) -> Iterator[None]:
        """Work out what readers go by, step by step; it is held until ``state.derived`` releases it."""
        for prepare in self._prepare:
            yield from prepare(state, self._options)

    def get(self, kind: Kind) -> Reader | None:
        """Return the reader of *kind*, None for what is no kind of route objects."""
        return self._readers.get(kind)

    def __getitem__(self, kind: Kind) -> Reader:
        return self._readers[kind]

    def reading(self, kind: Kind, value: ClusterObject, related: Hashable) -> Stepwise[ParsedObject]:
        """Return what *value* of *kind* asks for, in steps if that may take long."""
        stepwise = self._stepwise.get(kind)
        if stepwise is None:
            return self._readers[kind].read(value, related)
        return (yield from stepwise.reading(value, related))

    def may_need(self, kind: Kind, value: ClusterObject, needed: Kind) -> bool:
        """Whether *value* of *kind* may refer to objects of the kind *needed*, by a short look."""
        reader = self._readers[kind]
        return (
            reader.may_need(value, needed) if _needs_in_steps(reader) else bool(reader.needs(value, needed))
        )

    def needing(self, kind: Kind, value: ClusterObject, needed: Kind) -> Stepwise[Needs]:
        """Return the objects of the kind *needed* that *value* of *kind* refers to, in steps if that may take long."""
        return needing(self._readers[kind], value, needed)

    def judged_by(self, kind: Kind) -> tuple[Kind, ...]:
        """Return the kinds of route objects of which objects of *kind* decide whether they are ours."""
        return self._judged.get(kind, ())

    def is_ours(self, kind: Kind, value: ClusterObject, state: ClusterState) -> bool:
        """Whether *value* of *kind* is ours, as ``Reader.judge`` has it."""
        reader = self._ownership.get(kind)
        return (
            self._readers[kind].judge(value, state).is_ours
            if reader is None
            else reader.is_ours(value, state)
        )

    def decided_by(self, kind: Kind) -> Collection[Kind]:
        """Return those kinds of route objects of which ``is_ours`` looks at objects of *kind*."""
        return self._decided.get(kind, ())

    def decides(self, kind: Kind) -> bool:
        """Whether objects of *kind* say what is to be served, by themselves or of others."""
        return kind in self._readers or kind in self._judged

    def __iter__(self) -> Iterator[tuple[Kind, Reader]]:
        return iter(self._readers.items())

    def count(self, state: ClusterState) -> dict[Kind, int]:
        """Return how many route objects of each kind *state* has, ours or not."""
        return {kind: len(state.of(kind)) for kind in self._readers}

    def why_nothing(self, state: ClusterState) -> Stepwise[str]:
        """Say, in steps, what kept all route objects of *state* from having a route; the text goes on after a colon."""
        found = []
        for reader in self._readers.values():
            found.append((yield from reader.why_nothing(state)))
        return "; ".join(filter(None, found))

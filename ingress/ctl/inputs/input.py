"""The values that inputs become: objects with their places, and what is known of a cluster by them."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Protocol

from attrs import field

from ingress.ctl.inputs.coverage import Coverage
from ingress.ctl.inputs.unknown_fields import UnknownField
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.object_fields import RawObject, is_object
from ingress.settings import Settings, options_elsewhere
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.reader import Readers, Verdict
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate


@frozen
class Place:
    """Where an object stands: *file* as it was named, ``-`` for standard input, empty in a cluster; *line* from one, 0 for unknown."""

    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


NOWHERE = Place()


@frozen
class Workload:
    """A Deployment or DaemonSet that runs ingress-nginx."""

    kind: str
    key: ObjectKey
    words: tuple[str, ...] = field(default=(), repr=False)
    """The words of its container, ``command`` and ``args``, with the values of variables as far as the object says them."""
    on_host_network: bool = False
    place: Place = NOWHERE
    spec: RawObject = field(factory=dict, repr=False, eq=False)
    """As the API has it: ``spec`` of the object."""
    container: RawObject = field(factory=dict, repr=False, eq=False)
    """The container of the controller."""

    @property
    def template(self) -> RawObject:
        """The template of its pods."""
        found = self.spec.get("template")
        return found if is_object(found) else {}

    @property
    def labels(self) -> Mapping[str, object]:
        """The labels of its pods."""
        metadata = self.template.get("metadata")
        labels = metadata.get("labels") if is_object(metadata) else None
        return labels if is_object(labels) else {}

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


@frozen
class Unread:
    """What was found and not read, and why that is: a template, a forbidden kind."""

    what: str
    why: str
    may_have_routes: bool = False
    """Whether route objects may stand in it."""


def object_of(problem: Problem) -> ObjectId:
    """Return the object that has *problem*."""
    return Kind(problem.kind), ObjectKey(problem.namespace, problem.name)


FieldOf = tuple[Place, ObjectId, str]
"""A field of an object that begins at a place, as problems name fields; empty for the object itself."""


class Texts(Protocol):
    """The texts in which objects stand."""

    @property
    def held(self) -> Mapping[str, bytes]:
        """What cannot be read again, by the names of files in places."""

    def exact(self, asked: Iterable[FieldOf]) -> Mapping[FieldOf, Place]:
        """Return where fields stand; what is not found is not in the result."""

    def path(self, name: str) -> str | None:
        """Return the path of the file that places call *name*, which is printable; None for none."""


def _object(state: ClusterState, kind: Kind, key: ObjectKey) -> ClusterObject | None:
    some: Mapping[ObjectKey, ClusterObject] = state.of(kind)
    if kind in (Kind.SERVICE, Kind.SECRET):
        some = state.services if kind is Kind.SERVICE else state.secrets
    return some.get(key)


@frozen(eq=False, slots=False)
class Input:
    """Objects to be judged, as one controller would have them.

    *state* has them, *settings* the options of that controller, *now* (UTC) is the time that certificates are judged by.
    """

    state: ClusterState
    settings: Settings
    now: datetime
    coverage: Coverage
    places: Mapping[ObjectId, Place] = field(factory=dict, repr=False)
    """Where each object stands; none of a cluster."""
    labels: Mapping[ObjectId, Mapping[str, str]] = field(factory=dict, repr=False)
    """The labels of route objects."""
    strays: Mapping[ObjectId, Mapping[str, str]] = field(factory=dict, repr=False)
    """The annotations of route objects, by full name, that are called as those of ingress-nginx are, behind another prefix."""
    unknown: Mapping[ObjectId, tuple[UnknownField, ...]] = field(factory=dict, repr=False)
    """The fields of Ingresses that there are not."""
    unread: tuple[Unread, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What is to be told of the options that the input brings itself: those of the operator's ConfigMap."""
    workloads: tuple[Workload, ...] = ()
    """What runs ingress-nginx, each once; the first has those of all layers."""
    around: tuple[RawObject, ...] = field(default=(), repr=False)
    """What may be around these: raw objects with their namespaces (``ingress.ctl.inputs.ingress_nginx.installation``)."""
    texts: Texts | None = field(default=None, repr=False)
    """What the objects were read from, where that has lines; the same for all layers."""
    has_files: bool = True
    """Whether there was any file to be read, which folders may lack."""
    others: tuple["Input", ...] = ()
    """The other layers, where one cannot hold all: further overlays of one base, folders that have the same objects otherwise.

    A layer is a set of objects that are applied together, to be judged by itself.  *unread* and *problems* of the first
    are told of all; the others have no others themselves."""

    @property
    def layers(self) -> tuple["Input", ...]:
        """All layers: this one and the others."""
        return (self, *self.others)

    @property
    def why_layers(self) -> str:
        """Say of one object why one layer cannot hold all; empty where it does."""
        for other in self.others:
            both = sorted(
                self.places.keys() & other.places.keys(), key=lambda one: (one[0] != Kind.INGRESS, one)
            )
            for kind, key in both:
                first, second = self.places[kind, key], other.places[kind, key]
                if first != second and _object(self.state, kind, key) != _object(other.state, kind, key):
                    return f"{kind} {key} stands in {first} and {second}, each time otherwise"
        return "some objects stand there in several forms" if self.others else ""

    @cached_property
    def options(self) -> TranslateOptions:
        """What translation goes by."""
        return options_elsewhere(self.settings)

    def place(self, object_id: ObjectId) -> Place:
        """Return where an object stands."""
        return self.places.get(object_id, NOWHERE)

    def exact_places(self, asked: Iterable[FieldOf]) -> Mapping[FieldOf, Place]:
        """Return the places of fields, of all layers: a list of what is shown, for each file of it is read once more.

        Where a field does not stand, its place is that of what it would be in; what cannot be found is not in the result.
        """
        return {} if self.texts is None else self.texts.exact(asked)

    def path(self, name: str) -> str | None:
        """Return the path of the file that places call *name*; None where there is none."""
        return None if self.texts is None else self.texts.path(name)

    @cached_property
    def snapshot(self) -> Snapshot:
        """What the controller would serve."""
        return translate(self.state, self.options, self.now)

    @cached_property
    def problems_of(self) -> Mapping[ObjectId, tuple[Problem, ...]]:
        """All problems by object, each sorted."""
        found: dict[ObjectId, list[Problem]] = {}
        for problem in self.snapshot.problems:
            found.setdefault(object_of(problem), []).append(problem)
        return {object_id: tuple(some) for object_id, some in found.items()}

    def route_objects(self) -> Iterator[tuple[ObjectId, Verdict]]:
        """Yield the route objects in order of their keys, each with whether it is ours to serve."""
        for kind, reader in Readers(ROUTE_KINDS, self.options):
            some = self.state.of(kind)
            for key in sorted(some):
                yield (kind, key), reader.judge(some[key], self.state)

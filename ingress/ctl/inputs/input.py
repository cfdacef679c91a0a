"""The values that inputs become: objects with their places, and what is known of a cluster by them."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cached_property

from attrs import field, frozen

from ingress.ctl.inputs.coverage import Coverage
from ingress.model.objects import Kind, ObjectId, ObjectKey
from ingress.model.problems import Problem
from ingress.model.state import ClusterState
from ingress.settings import Settings
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
class Unread:
    """What was found and not read, and why that is: a template, a forbidden kind."""

    what: str
    why: str


def object_of(problem: Problem) -> ObjectId:
    """Return the object that has *problem*."""
    return Kind(problem.kind), ObjectKey(problem.namespace, problem.name)


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
    unread: tuple[Unread, ...] = ()
    problems: tuple[Problem, ...] = ()
    """What is to be told of the options that the input brings itself: those of the operator's ConfigMap."""
    others: tuple["Input", ...] = ()
    """The other layers, where one cannot hold all: further overlays of one base, folders that have the same objects otherwise.

    A layer is a set of objects that are applied together, to be judged by itself.  *unread* and *problems* of the first
    are told of all; the others have no others themselves."""

    @property
    def layers(self) -> tuple["Input", ...]:
        """All layers: this one and the others."""
        return (self, *self.others)

    @property
    def options(self) -> TranslateOptions:
        """What translation goes by."""
        return self.settings.translate

    def place(self, object_id: ObjectId) -> Place:
        """Return where an object stands."""
        return self.places.get(object_id, NOWHERE)

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

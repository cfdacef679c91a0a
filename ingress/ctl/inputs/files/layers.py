"""Which objects are applied together: what manifests hold, put into layers that each have an object once.  Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from attrs import define, evolve, field

from ingress.cluster.kinds import KINDS
from ingress.cluster.manifests.manifest_files import ManifestContent, ManifestObject
from ingress.cluster.manifests.manifest_scan import ManifestFile, together
from ingress.model.cluster.objects import ObjectId, Projection
from ingress.model.frozen import frozen


@frozen
class Unit:
    """What nobody would apply a part of: the files of one folder, or what is built of one kustomization.

    *files* are what files say, by their names.  *made_of* are marks: units that share one are other forms of
    the same, and not applied together.
    """

    files: tuple[tuple[str, ManifestContent], ...]
    made_of: frozenset[object] = frozenset()

    def ids(self) -> Iterable[ObjectId]:
        """Yield what objects it has."""
        return (one.id for _, content in self.files for one in content.objects)


@define
class Layer:
    """Objects that are applied together, with the file and line of each."""

    objects: dict[ObjectId, Projection]
    places: dict[ObjectId, tuple[str, int]]


@define
class _Filling:
    units: list[Unit] = field(factory=list)
    ids: set[ObjectId] = field(factory=set)
    made_of: set[object] = field(factory=set)

    def takes(self, ids: set[ObjectId], unit: Unit) -> bool:
        return self.ids.isdisjoint(ids) and self.made_of.isdisjoint(unit.made_of)

    def add(self, ids: set[ObjectId], unit: Unit) -> None:
        self.units.append(unit)
        self.ids |= ids
        self.made_of |= unit.made_of


def in_layers(
    units: Iterable[Unit], namespaces: Collection[str] = (), besides: Collection[ObjectId] = ()
) -> list[Layer]:
    """Put each of *units* into the first layer that has none of its objects; there is one layer at least.

    What has no namespace, such as an IngressClass, counts in all layers.  *namespaces* limits the objects kept, but for those
    *besides*; none given means all.
    """
    layers = [_Filling()]
    for unit in units:
        ids = {object_id for object_id in unit.ids() if object_id[1].namespace}
        free = next((one for one in layers if one.takes(ids, unit)), None)
        if free is None:
            free = _Filling()
            layers.append(free)
        free.add(ids, unit)
    made = [_layer(one.units, namespaces, besides) for one in layers]
    _share(made)
    return [made[0], *(one for one in made[1:] if one.objects)]


def _layer(units: Iterable[Unit], namespaces: Collection[str], besides: Collection[ObjectId]) -> Layer:
    known: dict[ObjectId, tuple[str, Projection]] = {}
    files = [
        (name, ManifestFile(objects=tuple(_but_equal(name, content, known)), problems=content.problems))
        for unit in units
        for name, content in unit.files
    ]
    objects = together(files, {}, namespaces, besides)
    places: dict[ObjectId, tuple[str, int]] = {}
    for name, file in files:
        for one in file.objects:
            if one.id in objects:
                places.setdefault(one.id, (name, one.line))
    return Layer(objects, places)


def _but_equal(
    name: str, content: ManifestContent, known: dict[ObjectId, tuple[str, Projection]]
) -> Iterator[ManifestObject]:
    """Yield the objects of a file but for what is in no namespace and stands in another file just so; *known* is what came before."""
    for one in content.objects:
        if not one.id[1].namespace:
            file, projection = known.setdefault(one.id, (name, one.projection))
            if file != name and projection == one.projection:
                continue
        yield one


def _share(layers: list[Layer]) -> None:
    """Let every layer have what is in no namespace; it is told of where it stands."""
    shared: Mapping[ObjectId, Projection] = {
        object_id: evolve(projection, problems=())
        for layer in reversed(layers)
        for object_id, projection in layer.objects.items()
        if object_id[0] in KINDS and not object_id[1].namespace
    }
    for layer in layers:
        for object_id, projection in shared.items():
            layer.objects.setdefault(object_id, projection)

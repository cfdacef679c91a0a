"""Layers: objects that are applied together, where the same is written more than once."""

from hypothesis import given as drawn
from hypothesis import settings, strategies

from ingress.cluster.manifests.manifest_files import ManifestContent, ManifestObject
from ingress.ctl.inputs.layers import Unit, in_layers
from ingress.model.objects import Kind, ObjectKey, Projection
from ingress.model.problems import Reason
from tests.ctl.inputs.files_case import FilesCase, an_ingress

CLASS = """\
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/other}
"""


class LayerTests(FilesCase):
    """The same object in two folders is two forms of it, each judged by itself."""

    def test_folders_without_a_common_object_are_one_layer(self) -> None:
        """Whatever can be applied together is judged together, so that conflicts show."""
        self.manifest(an_ingress("a"), "one/a.yaml")
        self.manifest(an_ingress("b"), "two/b.yaml")
        self.assertEqual(len(self.read().layers), 1)

    def test_the_same_object_in_two_folders(self) -> None:
        """Each stands in its layer with what lies beside it, and neither is a duplicate."""
        for name in ("dev", "prod"):
            self.manifest(an_ingress(host=f"{name}.example.com"), f"{name}/a.yaml")
            self.manifest(an_ingress("beside"), f"{name}/b.yaml")
        given = self.read()
        files = [
            {place.file.removeprefix(f"{self.folder}/") for place in layer.places.values()}
            for layer in given.layers
        ]
        self.assertEqual(files, [{"dev/a.yaml", "dev/b.yaml"}, {"prod/a.yaml", "prod/b.yaml"}])
        self.assertEqual([layer.state.problems for layer in given.layers], [(), ()])
        self.assertEqual(given.others[0].others, ())

    def test_the_same_object_in_one_folder(self) -> None:
        """In one folder the first counts, and is told of the other."""
        self.manifest(an_ingress(), "a.yaml")
        self.manifest(an_ingress(), "b.yaml")
        given = self.read()
        self.assertEqual(len(given.layers), 1)
        (problem,) = given.state.problems
        self.assertEqual(
            (problem.reason, str(given.place_of(problem))),
            (Reason.DUPLICATE_OBJECT, f"{self.folder}/a.yaml:1"),
        )

    def test_what_has_no_namespace_counts_everywhere(self) -> None:
        """An IngressClass decides in all layers whose each Ingress is, and stands where it stands."""
        for name in ("dev", "prod"):
            self.manifest(an_ingress(), f"{name}/a.yaml")
        self.manifest(CLASS, "class.yaml")
        given = self.read()
        verdicts = [verdict.is_ours for layer in given.layers for _, verdict in layer.route_objects()]
        self.assertEqual(verdicts, [False, False])
        self.assertEqual(
            sum((Kind.INGRESS_CLASS, ObjectKey("", "nginx")) in layer.places for layer in given.layers), 1
        )

    def test_all_are_linted(self) -> None:
        """A finding of each layer is a finding of the whole."""
        for name in ("dev", "prod"):
            self.manifest(an_ingress(host="a b"), f"{name}/a.yaml")
        output = self.run_command("lint", "--output", "json", str(self.folder)).stdout
        self.assertIn("dev/a.yaml", output)
        self.assertIn("prod/a.yaml", output)

    @settings(max_examples=100, deadline=None)
    @drawn(
        strategies.lists(
            strategies.tuples(
                strategies.sets(strategies.integers(0, 6), min_size=1),
                strategies.sets(strategies.integers(0, 3), max_size=2),
            ),
            max_size=12,
        )
    )
    def test_no_object_is_lost(self, made: list[tuple[set[int], set[int]]]) -> None:
        """Each unit is whole in exactly one layer, none of whose others has an object or a mark of it."""
        units = [
            Unit(
                (
                    (
                        f"{number}",
                        ManifestContent(
                            tuple(
                                ManifestObject(
                                    (Kind.INGRESS, ObjectKey("n", f"{name}")), Projection(None), number
                                )
                                for name in sorted(names)
                            )
                        ),
                    ),
                ),
                frozenset(marks),
            )
            for number, (names, marks) in enumerate(made)
        ]
        found: dict[int, set[int]] = {}
        for number, layer in enumerate(in_layers(units)):
            for _, line in layer.places.values():
                found.setdefault(line, set()).add(number)
        self.assertTrue(all(len(layers) == 1 for layers in found.values()))
        self.assertEqual(set(found), set(range(len(made))))
        for one, (_, marks) in enumerate(made):
            for other in range(one):
                self.assertFalse(found[one] == found[other] and marks & made[other][1])

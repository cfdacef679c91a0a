"""Layers: objects that are applied together, where the same is written more than once."""

from hypothesis import given as drawn
from hypothesis import settings, strategies

from ingress.cluster.manifests.manifest_files import ManifestContent, ManifestObject
from ingress.ctl.inputs.files import forms
from ingress.ctl.inputs.files.forms import MOST_FORMS
from ingress.ctl.inputs.files.layers import Unit, in_layers
from ingress.ctl.inputs.input import object_of
from ingress.model.cluster.objects import Kind, ObjectKey, Projection
from ingress.model.cluster.problems import Reason
from tests.ctl.inputs.files.files_case import FilesCase, an_ingress
from tests.properties import examples

CLASS = """\
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: nginx}
spec: {controller: k8s.io/other}
"""


SERVICE = """\
apiVersion: v1
kind: Service
metadata: {{name: {}, namespace: shop}}
spec: {{ports: [{{port: 80}}]}}
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

    def test_equal_objects_in_one_folder_are_one(self) -> None:
        """Nothing is told of the second, which is another copy and no other form."""
        for name in ("a.yaml", "b.yaml"):
            self.manifest(an_ingress(), name)
            self.manifest(CLASS, f"class-{name}")
        given = self.read()
        self.assertEqual((len(given.layers), given.state.problems), (1, ()))

    def test_the_same_object_twice_in_one_file(self) -> None:
        """The first counts, and is told of the other, equal or not: one of them was to have another name."""
        self.manifest(f"{an_ingress()}---\n{an_ingress()}", "a.yaml")
        given = self.read()
        self.assertEqual(len(given.layers), 1)
        (problem,) = given.state.problems
        self.assertEqual(
            (problem.reason, str(given.place(object_of(problem)))),
            (Reason.DUPLICATE_OBJECT, f"{self.folder}/a.yaml:1"),
        )

    def test_a_file_that_has_an_ingress_otherwise_is_a_layer(self) -> None:
        """It is judged with the Services of the folder, also with its own; each form once, and all others in the first layer."""
        self.manifest(an_ingress(host="a.example.com"), "a.yaml")
        self.manifest(an_ingress(host="b.example.com") + "---\n" + SERVICE.format("own"), "b.yaml")
        self.manifest(an_ingress(host="b.example.com"), "c.yaml")
        self.manifest(an_ingress("other") + "---\n" + SERVICE.format("web"), "d.yaml")
        given = self.read()
        ingresses = [
            sorted((key.name, str(layer.place((kind, key)))[-8:]) for (kind, key), _ in layer.route_objects())
            for layer in given.layers
        ]
        self.assertEqual(ingresses, [[("other", "d.yaml:1"), ("web", "a.yaml:1")], [("web", "b.yaml:1")]])
        for layer in given.layers:
            self.assertEqual(sorted(key.name for key in layer.state.services), ["own", "web"])
            self.assertEqual(layer.state.problems, ())

    def test_a_service_that_is_otherwise_is_a_note(self) -> None:
        """The first form counts, the note names all files, and there is no further layer."""
        self.manifest(an_ingress(), "a.yaml")
        for number, name in enumerate(("b.yaml", "c.yaml", "d.yaml")):
            self.manifest(SERVICE.format("web").replace("80", f"8{number}"), name)
        given = self.read()
        self.assertEqual(len(given.layers), 1)
        (problem,) = given.state.problems
        self.assertIn("b.yaml, which is used, and otherwise in", problem.message)
        self.assertIn("d.yaml", problem.message)
        output = self.run_command("lint", str(self.folder)).stdout
        self.assertIn("note     stands in", output)

    def test_forms_beside_very_many_services(self) -> None:
        """Fewer forms are layers there, for each has all Services beside it."""
        self.patch(forms, "MOST_BESIDE", 3)
        for number in range(3):
            self.manifest(an_ingress(host=f"h{number}.example.com"), f"{number}.yaml")
            self.manifest(SERVICE.format(f"s{number}"), f"s{number}.yaml")
        given = self.read()
        self.assertEqual([len(layer.state.services) for layer in given.layers], [3, 3])
        (problem,) = given.state.problems
        self.assertTrue(problem.message.endswith("2.yaml"), problem.message)

    def test_a_folder_of_very_many_forms(self) -> None:
        """As many are layers as is allowed; those after them are told of at once."""
        for number in range(MOST_FORMS + 3):
            self.manifest(an_ingress(host=f"h{number}.example.com"), f"{number:03}.yaml")
        given = self.read()
        self.assertEqual(len(given.layers), MOST_FORMS + 1)
        (problem,) = given.state.problems
        self.assertIs(problem.reason, Reason.DUPLICATE_OBJECT)
        self.assertRegex(
            problem.message, r"000.yaml, which is used, and otherwise in \S+051.yaml, \S+052.yaml$"
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

    @settings(max_examples=examples(100), deadline=None)
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

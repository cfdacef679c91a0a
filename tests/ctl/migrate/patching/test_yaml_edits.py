"""Changes of objects as edits of the YAML that they stand in."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.manifests.documents import read_yaml
from ingress.ctl.lint.finding import Change
from ingress.ctl.migrate.patching.unified import unified
from ingress.ctl.migrate.patching.yaml_edits import Wanted, edits_of
from ingress.ctl.migrate.patching.yaml_places import Text, applied
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey

WEB = (Kind.INGRESS, ObjectKey("shop", "web"))
API = (Kind.INGRESS, ObjectKey("shop", "api"))

MANIFEST = """\
# The shop.
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: web   # as its Service
  namespace: shop
  annotations:
    # Asked for by the team.
    example.com/limit: '100'   # a minute
    example.com/window: 1m
    example.com/text: |
      one
      two

    # The last.
    example.com/last: "x"
spec:
  rules:
    - host: a.example.com
      http:
        paths:
          - path: /
            pathType: Prefix
    - host: b.example.com   # the other one
"""


def annotation(name: str, value: str | None) -> Change:
    """What sets or removes the annotation *name*."""
    return Change(f"metadata.annotations[{name}]", value)


class EditCase(SynchronousTestCase):
    """Edits texts, and looks at what comes of it."""

    def edited(self, text: str, *changes: Change, line: int = 2, object_id: ObjectId = WEB) -> str:
        """*text* with *changes* of the one object that is in *line*."""
        found = edits_of(text, [Wanted(object_id, line, changes)])
        self.assertEqual(found.refused, {})
        return applied(text, list(found.edits[object_id]))

    def refusal(self, text: str, *changes: Change, line: int = 1) -> str:
        """Why *changes* are not made in *text*."""
        found = edits_of(text, [Wanted(WEB, line, changes)])
        self.assertEqual(found.edits, {})
        return found.refused[WEB]

    def assert_lines(self, before: str, after: str, gone: Sequence[str], come: Sequence[str]) -> None:
        """Fail unless *after* is *before* without the lines *gone* and with the lines *come*, each once, and no others."""
        left, right = before.splitlines(), after.splitlines()
        for line in gone:
            left.remove(line)
        for line in come:
            right.remove(line)
        self.assertEqual(left, right)


class BlockTests(EditCase):
    def test_a_value_is_replaced_in_its_quotes_with_its_comment(self) -> None:
        """The line keeps how it is quoted and what stands behind it."""
        after = self.edited(MANIFEST, annotation("example.com/limit", "60"))
        gone, come = "    example.com/limit: '100'   # a minute", "    example.com/limit: '60'   # a minute"
        self.assert_lines(MANIFEST, after, [gone], [come])

    def test_a_plain_value_is_quoted_where_it_would_be_something_else(self) -> None:
        """What was plain stays plain if it is a word, and is quoted where YAML would make a number or a boolean of it."""
        for value, shown in (("fast", "fast"), ("60", '"60"'), ("true", '"true"'), ("a: b", '"a: b"')):
            after = self.edited(MANIFEST, annotation("example.com/window", value))
            self.assertIn(f"    example.com/window: {shown}\n", after)

    def test_an_annotation_goes_with_its_line_alone(self) -> None:
        """Comments before it and behind it stay."""
        after = self.edited(MANIFEST, annotation("example.com/window", None))
        self.assert_lines(MANIFEST, after, ["    example.com/window: 1m"], [])

    def test_a_text_of_several_lines_goes_as_a_whole(self) -> None:
        """The blank line and the comment behind it belong to what follows."""
        after = self.edited(MANIFEST, annotation("example.com/text", None))
        self.assert_lines(MANIFEST, after, ["    example.com/text: |", "      one", "      two"], [])

    def test_a_text_of_several_lines_is_replaced_by_one(self) -> None:
        """What comes after it keeps its line."""
        after = self.edited(MANIFEST, annotation("example.com/text", "one"))
        gone = ["    example.com/text: |", "      one", "      two"]
        self.assert_lines(MANIFEST, after, gone, ['    example.com/text: "one"'])

    def test_an_annotation_is_added_behind_the_last(self) -> None:
        """It is indented as the others."""
        after = self.edited(MANIFEST, annotation("example.com/new", "1"))
        self.assert_lines(MANIFEST, after, [], ['    example.com/new: "1"'])
        self.assertIn('last: "x"\n    example.com/new: "1"\nspec:', after)

    def test_annotations_are_begun_where_there_are_none(self) -> None:
        """A mapping that is missing, empty or null is made."""
        base = "kind: Ingress\nmetadata:\n  name: web\n"
        for more, expected in (
            ("", '  annotations:\n    example.com/new: "1"\n'),
            ("  annotations: {}\n", '  annotations: {"example.com/new": "1"}\n'),
            ("  annotations:\n", '  annotations: {"example.com/new": "1"}\n'),
            ("  annotations: null\n", '  annotations: {"example.com/new": "1"}\n'),
        ):
            text = f"{base}{more}spec: {{}}\n"
            after = self.edited(text, annotation("example.com/new", "1"), line=1)
            self.assertEqual(after, f"{base}{expected}spec: {{}}\n")

    def test_the_last_annotation_takes_the_mapping_along(self) -> None:
        """An empty mapping would be null, which an API server refuses in some places."""
        text = "kind: Ingress\nmetadata:\n  name: web\n  annotations:\n    a/b: c\nspec: {}\n"
        after = self.edited(text, annotation("a/b", None), line=1)
        self.assertEqual(after, "kind: Ingress\nmetadata:\n  name: web\nspec: {}\n")

    def test_one_goes_while_another_comes(self) -> None:
        """The only annotation can be given another name."""
        text = "kind: Ingress\nmetadata:\n  name: web\n  annotations:\n    a/b: c\nspec: {}\n"
        after = self.edited(text, annotation("a/b", None), annotation("a/d", "c"), line=1)
        self.assertEqual(after, text.replace("a/b: c", 'a/d: "c"'))

    def test_a_member_of_a_list_goes(self) -> None:
        """The others move up, and those before it keep their lines."""
        after = self.edited(MANIFEST, Change("spec.rules[1]", None))
        self.assert_lines(MANIFEST, after, ["    - host: b.example.com   # the other one"], [])

    def test_several_members_go_whatever_their_order(self) -> None:
        """The places are those of the object as it was."""
        text = "kind: Ingress\nmetadata: {name: web}\nspec:\n  tls:\n  - a\n  - b\n  - c\n"
        for places in ((0, 1), (1, 0)):
            after = self.edited(text, *(Change(f"spec.tls[{place}]", None) for place in places), line=1)
            self.assertEqual(after, text.replace("  - a\n  - b\n", ""))

    def test_a_name_behind_the_dash_of_a_list_goes(self) -> None:
        """The next one takes its place behind the dash."""
        after = self.edited(MANIFEST, Change("spec.rules[0].http.paths[0].path", None))
        self.assertIn("          - pathType: Prefix\n", after)

    def test_a_number_is_written_as_a_number(self) -> None:
        """A field that holds a number gets no quotes."""
        text = "kind: Ingress\nmetadata: {name: web}\nspec:\n  port: 80 # plain\n"
        self.assertIn("  port: 443 # plain\n", self.edited(text, Change("spec.port", 443), line=1))


class OtherFormTests(EditCase):
    def test_flow_mappings_and_json(self) -> None:
        """Members go with one comma, and come with one, over several lines as on one."""
        one = 'kind: Ingress\nmetadata: {name: web, annotations: {a/b: "1", a/c: "2"}}\n'
        self.assertEqual(self.edited(one, annotation("a/b", None), line=1), one.replace('a/b: "1", ', ""))
        self.assertEqual(self.edited(one, annotation("a/c", None), line=1), one.replace(', a/c: "2"', ""))
        self.assertEqual(
            self.edited(one, annotation("a/d", "x"), line=1), one.replace('"2"', '"2", "a/d": "x"')
        )
        json = (
            '{\n  "kind": "Ingress",\n  "metadata": {\n    "name": "web",\n    "annotations": {\n'
            '      "a/b": "1",\n      "a/c": "2"\n    }\n  }\n}\n'
        )
        after = self.edited(json, annotation("a/c", None), annotation("a/d", "3"), line=1)
        self.assertEqual(after, json.replace('"a/c": "2"', '"a/d": "3"'))
        after = self.edited(json, annotation("a/b", None), annotation("a/c", None), line=1)
        self.assertEqual(next(iter(read_yaml(after))).value, {"kind": "Ingress", "metadata": {"name": "web"}})

    def test_the_right_document_and_the_right_item_of_a_list(self) -> None:
        """Objects of one file are edited apart, behind separators and in the items of a list."""
        one = "kind: Ingress\nmetadata:\n  name: web\n  annotations: {a/b: c}\n"
        other = one.replace("web", "api")
        text = f"---\n{one}---\n# API\n{other}...\n"
        after = self.edited(text, annotation("a/b", "d"), line=8, object_id=API)
        self.assertEqual(after, f"---\n{one}---\n# API\n{other.replace('a/b: c', 'a/b: d')}...\n")
        items = "".join("- " + "  ".join(part.splitlines(keepends=True)) for part in (one, other))
        text = f"apiVersion: v1\nkind: List\nitems:\n{items}"
        after = self.edited(text, annotation("a/b", "d"), line=8, object_id=API)
        self.assertEqual(after.count("a/b: c"), 1)
        self.assertGreater(after.index("a/b: d"), after.index("name: api"))

    def test_line_ends_and_the_mark_of_utf_8_stay(self) -> None:
        """A file of Windows keeps its line ends; one without a last line end gets it where something is added behind."""
        text = "\ufeff" + MANIFEST.replace("\n", "\r\n")
        after = self.edited(text, annotation("example.com/new", "1"), annotation("example.com/window", None))
        self.assertEqual(after.count("\n"), after.count("\r\n"))
        self.assertTrue(after.startswith("\ufeff# The shop."))
        self.assertIn('    example.com/new: "1"\r\n', after)
        short = "kind: Ingress\nmetadata:\n  name: web\n  annotations:\n    a/b: c"
        self.assertEqual(self.edited(short, annotation("a/d", "e"), line=1), f'{short}\n    a/d: "e"\n')
        self.assertEqual(self.edited(short, annotation("a/b", "d"), line=1), short[:-1] + "d")

    def test_any_text_comes_out_as_it_went_in(self) -> None:
        """Quotes, line breaks, marks of direction and characters of every plane are read back letter by letter."""
        for value in (
            "$(rm -rf ~)",
            "`x`",
            "a\nb\r\tc",
            "\x1b[31m",
            "'",
            '"',
            "\\",
            "\u202e",
            "é\u2028",
            "😀\U000e0001",
            "",
        ):
            for name in ("example.com/limit", "example.com/window", "example.com/text", "example.com/new"):
                after = self.edited(MANIFEST, annotation(name, value))
                [document] = read_yaml(after)
                assert isinstance(document.value, dict)
                self.assertEqual(document.value["metadata"]["annotations"][name], value)


class RefusalTests(EditCase):
    def test_what_others_use_is_left_alone(self) -> None:
        """An anchor that is used elsewhere, and what a merge brings in, cannot be changed for one object."""
        shared = "kind: Ingress\nmetadata:\n  name: web\n  annotations: &all\n    a/b: c\n---\n"
        alias = "x: &all {a/b: c}\nkind: Ingress\nmetadata:\n  name: web\n  annotations: *all\n"
        merge = "x: &all {a/b: c}\nkind: Ingress\nmetadata:\n  name: web\n  annotations:\n    <<: *all\n    a/d: e\n"
        self.assertIn("more than what is meant", self.refusal(alias, annotation("a/b", "d")))
        self.assertIn("comes from elsewhere", self.refusal(merge, annotation("a/b", None)))
        self.assertIn("a/b: d", self.edited(shared, annotation("a/b", "d"), line=1))

    def test_a_field_that_stands_twice_is_left_alone(self) -> None:
        """The first one would count once the last one is gone."""
        text = "kind: Ingress\nmetadata:\n  name: web\n  annotations:\n    a/b: c\n    a/b: d\n"
        self.assertIn("more than what is meant", self.refusal(text, annotation("a/b", None)))

    def test_what_is_not_there_is_told(self) -> None:
        """An object that went, a field that went, text that is no YAML, and line breaks that nobody sees."""
        self.assertIn("not clear", self.refusal("kind: Ingress\nmetadata: {name: x}\n", annotation("a", "b")))
        self.assertIn("not known", self.refusal(MANIFEST, annotation("a", "b"), line=99))
        self.assertIn("elsewhere", self.refusal(MANIFEST, annotation("a", None), line=2))
        self.assertIn("cannot be read", self.refusal("a: [", annotation("a", "b")))
        self.assertIn("unusual line breaks", self.refusal("a: b\x85c: d\n", annotation("a", "b")))
        self.assertIn("too large", self.refusal("# " + "x" * (1 << 20), annotation("a", "b")))
        self.assertIn("no plain value", self.refusal(MANIFEST, Change("spec.rules", "x"), line=2))
        self.assertIn("list", self.refusal(MANIFEST, Change("spec.rules[7]", "x"), line=2))


class ManyObjectsTests(EditCase):
    def test_one_that_is_not_edited_keeps_no_other_from_it(self) -> None:
        """Of however many in one document, as in a list; each is refused for its own reason."""
        names = [*(f"o{number}" for number in range(40)), "twice", "twice"]
        entry = "- kind: Ingress\n  metadata: {{name: {}, namespace: shop, annotations: {{a/b: c}}}}\n"
        text = "kind: List\nitems:\n" + "".join(entry.format(name) for name in names)
        ids: list[ObjectId] = [(Kind.INGRESS, ObjectKey("shop", name)) for name in dict.fromkeys(names)]
        found = edits_of(text, [Wanted(one, 1, (annotation("a/b", "d"),)) for one in ids])
        self.assertEqual(set(found.edits), set(ids[:-1]))
        self.assertEqual(found.refused, {ids[-1]: "where it stands in the file is not clear"})

    def test_of_very_many_that_cannot_be_edited_at_once_some_are_tried(self) -> None:
        """Each time the document is read again; the others are said to be refused with these."""
        names = [f"o{number}" for number in range(40)]
        entry = "- kind: Ingress\n  metadata: {{name: {}, namespace: shop, annotations: {}}}\n"
        text = "kind: List\nitems:\n" + "".join(
            entry.format(name, "*shared" if number else "&shared {a/b: c}")
            for number, name in enumerate(names)
        )
        ids: list[ObjectId] = [(Kind.INGRESS, ObjectKey("shop", name)) for name in names]
        found = edits_of(text, [Wanted(one, 1, (annotation("a/b", "d"),)) for one in ids])
        self.assertEqual((found.edits, set(found.refused)), ({}, set(ids)))
        together = [why.startswith("with the others of its document: ") for why in found.refused.values()]
        self.assertEqual((together.count(False), together.count(True)), (20, 20))


APPLYING = [
    command
    for command in (["git", "apply"], ["patch", "--quiet", "-p1", "--input"])
    if shutil.which(command[0])
]
"""The programs that are here; git is in every checkout."""


class UnifiedTests(EditCase):
    def test_git_takes_it_and_makes_the_edits(self) -> None:
        """Applied by ``git apply`` and by ``patch``, a diff makes of a file what the edits make of it."""
        long = "".join(f"# line {number}\n" for number in range(30))
        text = f"{MANIFEST}---\n{long}kind: Ingress\nmetadata:\n  name: api\n  annotations:\n    a/b: c"
        wanted = [
            Wanted(WEB, 2, (annotation("example.com/window", None), annotation("example.com/new", "1"))),
            Wanted(API, 56, (annotation("a/b", "d"), annotation("a/e", "f"))),
        ]
        found = edits_of(text, wanted)
        self.assertEqual(found.refused, {})
        edits = [edit for some in found.edits.values() for edit in some]
        for name in ("plain.yaml", 'odd "na me" é.yaml'):
            for command in APPLYING:
                folder = Path(self.mktemp())
                folder.mkdir()
                (folder / name).write_text(text, "utf-8")
                (folder / "x.patch").write_text(unified(name, Text(text), edits), "utf-8")
                subprocess.run([*command, "x.patch"], cwd=folder, check=True)
                self.assertEqual((folder / name).read_text("utf-8"), applied(text, edits))

    def test_nothing_is_said_of_no_edits(self) -> None:
        """A file that stays as it is has no diff."""
        self.assertEqual(unified("x", Text(MANIFEST), []), "")

"""YAML and JSON text become plain values, with lines, and no text does harm."""

import json
import math
from functools import partial

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.manifests.documents import DocumentError, read_json, read_yaml
from tests.fakes.counting import calls
from tests.properties import examples


def value_of(text: str) -> object:
    """The value of the only document."""
    (document,) = read_yaml(text)
    return document.value


class YamlTests(SynchronousTestCase):
    """Reading YAML."""

    def assertFault(self, text: str, line: int, *words: str) -> None:
        """*text* is refused, at *line*, with *words* in the reason."""
        error = self.assertRaises(DocumentError, list, read_yaml(text))
        self.assertEqual(error.line, line, error)
        for word in words:
            self.assertIn(word, error.reason)

    def test_scalars(self) -> None:
        """Plain scalars have the types that Kubernetes tools give them; quoted ones are text."""
        for text, value in (
            ("null", None),
            ("~", None),
            ("yes", True),
            ("Off", False),
            ("TRUE", True),
            ("y", "y"),
            ("80", 80),
            ("-5", -5),
            ("010", 8),
            ("0o10", 8),
            ("0x1F", 31),
            ("09", 9.0),
            ("1e3", 1000.0),
            (".5", 0.5),
            ("1.", 1.0),
            ("1.2.3", "1.2.3"),
            ("10.0.0.1", "10.0.0.1"),
            ("12:30", "12:30"),
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
            ("+", "+"),
            (".", "."),
            ("9" * 5000, "9" * 5000),
            ("'80'", "80"),
            ('"yes"', "yes"),
            ("!!str 80", "80"),
            ("!!int '80'", 80),
            ("!Ref x", "x"),
            ("!!python/name:os.system x", "x"),
        ):
            self.assertEqual(value_of(f"a: {text}\n"), {"a": value}, text)

    def test_huge_scalar(self) -> None:
        """While the parser, which is no Python, goes through a huge scalar, others may have the interpreter at each few KiB of it."""
        for text in ("x" * 1_000_000, '"' + "x y" * 330_000 + '"', "1" * 1_000_000, "é" * 500_000):
            taken = calls(partial(value_of, f"a: {text}"))
            self.assertEqual(value_of(f"a: {text}"), {"a": text.strip('"')})
            self.assertGreater(taken, len(text) / 8192)

    def test_names_are_text(self) -> None:
        """The name of a field is text, whatever it looks like."""
        self.assertEqual(value_of("on: 1\n80: 2\n~: 3\n"), {"on": 1, "80": 2, "~": 3})

    def test_documents_and_lines(self) -> None:
        """Each document knows its line, and where the things inside begin."""
        documents = list(read_yaml("# one\na: 1\n---\n---\nb:\n  - c: 2\n\n  - d: 3\n"))
        self.assertEqual(
            [document.value for document in documents], [{"a": 1}, None, {"b": [{"c": 2}, {"d": 3}]}]
        )
        self.assertEqual([document.line for document in documents], [2, 3, 4])
        last = documents[2].value
        assert isinstance(last, dict)
        self.assertEqual([documents[2].line_of(entry) for entry in last["b"]], [6, 8])

    def test_nothing(self) -> None:
        """Empty text and comments hold no document."""
        self.assertEqual(list(read_yaml("")), [])
        self.assertEqual(list(read_yaml("# nothing\n")), [])

    def test_anchors(self) -> None:
        """Aliases and merges give what they name; a field's own value has precedence."""
        text = "base: &base {a: 1, b: 2}\ncopy: *base\nmore:\n  <<: *base\n  b: 3\nlist:\n  <<: [{c: 4}, {c: 5, d: 6}]\n"
        self.assertEqual(
            value_of(text),
            {
                "base": {"a": 1, "b": 2},
                "copy": {"a": 1, "b": 2},
                "more": {"a": 1, "b": 3},
                "list": {"c": 4, "d": 6},
            },
        )
        self.assertEqual(value_of("&k a: 1\nb: *k\n*k : 2\n"), {"a": 2, "b": "a"})

    def test_quoted_merge_is_a_name(self) -> None:
        """Only a plain ``<<`` merges."""
        self.assertEqual(value_of('"<<": 1\n'), {"<<": 1})

    def test_repeated_fields(self) -> None:
        """A field that stands twice has its last value, and is noted with its line."""
        (document,) = read_yaml("a: 1\nb: 2\na: 3\n")
        self.assertEqual(document.value, {"a": 3, "b": 2})
        self.assertEqual(document.repeated, ((3, "a"),))

    def test_syntax(self) -> None:
        """What is no YAML is refused with line and column."""
        self.assertFault("a: b\n\tc: d\n", 2, "column 1")
        self.assertFault("a:\n  - b\n c\n", 3, "column")
        self.assertFault("a: [1,\n", 2)
        self.assertFault("a: 1\nb: \x07\n", 2, "control character")
        self.assertFault("a: \ud800\n", 1)

    def test_structure(self) -> None:
        """What is YAML but no JSON is refused."""
        self.assertFault("a: {{ .Values.host }}\n", 1, "name of a field")
        self.assertFault("\n[a]: b\n", 2, "name of a field")
        self.assertFault("a: &x {b: 1}\n*x : 2\n", 2, "name of a field")
        self.assertFault("a: 1\nb: *none\n", 2, "*none")
        self.assertFault("a:\n  <<: 5\n", 2, "merged")

    def test_circles(self) -> None:
        """A value cannot hold itself."""
        self.assertFault("a: &x [*x]\n", 1, "*x")
        self.assertFault("&x a:\n  b: &y\n    c: *y\n", 3, "*y")

    def test_depth(self) -> None:
        """Deep nesting is refused at once, in our words or in those of a parser that has a bound of its own."""
        self.assertFault("[" * 100_000, 1, "nest")
        self.assertFault("a: " + "{b: " * 5000, 1, "nest")

    def test_alias_bomb(self) -> None:
        """Aliases of aliases are counted as often as they would be read."""
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
        lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
        self.assertFault("\n".join(lines), 6, "aliases")
        merges = ["a: &a {" + ", ".join(f"k{n}: 1" for n in range(1000)) + "}"]
        merges += [f"b{n}: {{<<: *a}}" for n in range(2000)]
        error = self.assertRaises(DocumentError, list, read_yaml("\n".join(merges)))
        self.assertIn("aliases", error.reason)

    @settings(deadline=None, max_examples=examples(150), derandomize=True)
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers(-(10**15), 10**15) | st.text(max_size=6),
            lambda children: (
                st.lists(children, max_size=3)
                | st.dictionaries(st.text(min_size=1, max_size=4), children, max_size=3)
            ),
            max_leaves=8,
        )
    )
    def test_written_values_come_back(self, value: object) -> None:
        """What a YAML or JSON writer wrote of a JSON value is read as that value."""
        if isinstance(value, str | int | None):
            value = [value]
        self.assertEqual(value_of(yaml.safe_dump(value)), value)
        (document,) = read_json(json.dumps(value))
        self.assertEqual(document.value, value)

    @settings(deadline=None, max_examples=examples(300), derandomize=True)
    @given(st.text(alphabet="ab:-[]{}&*<>!|#'\", \n\t?%~0.", max_size=40))
    def test_any_text(self, text: str) -> None:
        """Any text gives documents or a ``DocumentError``, and never a value that is no JSON."""
        try:
            documents = list(read_yaml(text))
        except DocumentError as error:
            self.assertTrue(error.line >= 1 and error.reason)
        else:
            json.dumps([document.value for document in documents])


class JsonTests(SynchronousTestCase):
    """Reading JSON."""

    def test_documents(self) -> None:
        """Several documents may follow each other, each with its line."""
        documents = list(read_json('{"a": 1}\n{"b": [2]}\n\n"c"'))
        self.assertEqual([(d.value, d.line) for d in documents], [({"a": 1}, 1), ({"b": [2]}, 2), ("c", 4)])
        self.assertEqual(list(read_json("  \n")), [])

    def test_repeated_fields(self) -> None:
        """A field that stands twice has its last value, and is noted."""
        first, second = read_json('{"a": 1, "a": 2}\n{"a": 1}')
        self.assertEqual((first.value, first.repeated), ({"a": 2}, ((1, "a"),)))
        self.assertEqual(second.repeated, ())

    def test_syntax(self) -> None:
        """What is no JSON is refused with its line."""
        for text, line in (
            ('{"a": 1,\n', 2),
            ('{"a": 1}\n{"b": }', 2),
            ("[" * 200_000, 1),
            ("9" * 5000, 1),
            ('{"a": 1} x', 1),
        ):
            error = self.assertRaises(DocumentError, list, read_json(text))
            self.assertEqual(error.line, line, error.reason)

    def test_odd_numbers(self) -> None:
        """Numbers that JSON lacks are read as numbers, for the fields to refuse."""
        (document,) = read_json("NaN")
        assert isinstance(document.value, float)
        self.assertTrue(math.isnan(document.value))

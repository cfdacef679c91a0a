"""What the value of an annotation may be."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.contract.values import (
    MAX_SHOWN_CHARACTERS,
    ValueRefused,
    parse_boolean,
    parse_object_key,
    parse_object_key_or_nothing,
    placeholder_hint,
    quoted,
)
from ingress.model.cluster.objects import ObjectKey
from tests.properties import examples


class ParseBooleanTests(SynchronousTestCase):
    """Booleans are those of Go's ``strconv.ParseBool``."""

    def test_true(self) -> None:
        """All of Go's spellings of true are true."""
        for text in ("1", "t", "T", "TRUE", "true", "True"):
            self.assertIs(parse_boolean(text), True)

    def test_false(self) -> None:
        """All of Go's spellings of false are false."""
        for text in ("0", "f", "F", "FALSE", "false", "False"):
            self.assertIs(parse_boolean(text), False)

    def test_everything_else_is_refused(self) -> None:
        """Other spellings, white space and the empty text are refused with what is accepted."""
        for text in ("", "yes", "on", " true", "true\n", "tRUE", "2", "ture"):
            refusal = self.assertRaises(ValueRefused, parse_boolean, text)
            self.assertEqual(str(refusal), 'is not a boolean; write "true" or "false"')


class ObjectKeyTests(SynchronousTestCase):
    """Which Secret or ConfigMap is meant."""

    def test_keys(self) -> None:
        """It is named with its namespace, or without, which leaves that empty; spaces around it are nothing."""
        for text, key in (
            ("demo/ca", ObjectKey("demo", "ca")),
            ("ca", ObjectKey("", "ca")),
            (" ca ", ObjectKey("", "ca")),
            ("demo/a.b-c\n", ObjectKey("demo", "a.b-c")),
        ):
            self.assertEqual((parse_object_key(text), parse_object_key_or_nothing(text)), (key, key))

    def test_others(self) -> None:
        """Nothing that could be a path gets through."""
        for text in (
            "demo/",
            "/ca",
            "a/b/c",
            "../ca",
            "demo/..",
            "Demo/ca",
            "CA",
            "demo/ ca",
            "a\r\nb",
            "$x",
            "{{ x }}",
            "d" * 300,
        ):
            for parse in (parse_object_key, parse_object_key_or_nothing):
                self.assertRaises(ValueRefused, parse, text)

    def test_nothing(self) -> None:
        """A text with nothing in it names none, where that may be."""
        for text in ("", " ", "\n"):
            self.assertRaises(ValueRefused, parse_object_key, text)
            self.assertIsNone(parse_object_key_or_nothing(text))


class PlaceholderTests(SynchronousTestCase):
    def test_what_another_program_was_to_fill_in(self) -> None:
        """Marks of templates, variables of shells, and what people write for something to be replaced."""
        for text, told in (
            ("{{ .Values.host }}", "helm template"),
            ("$(HOST)", "kubectl kustomize"),
            ("${HOST}", "envsubst"),
            ("$HOST.example.com", "; $HOST is a variable"),
            ("__INGRESS_HOST__", "; __INGRESS_HOST__ looks like a placeholder"),
            ("registry.<your domain>", "; <your domain> looks like a placeholder"),
            ("@DOMAIN@", "@DOMAIN@ looks"),
            ("%DOMAIN%.com", "%DOMAIN% looks"),
        ):
            self.assertIn(told, placeholder_hint(text), text)

    def test_what_is_meant_as_it_stands(self) -> None:
        """Groups of expressions, variables of nginx, encoded paths and ordinary names."""
        for text in ("/(?<rest>.*)", "$host$request_uri", "/a%20b%2F", "a_b__c", "x < y > z", "a@b", "$1"):
            self.assertEqual(placeholder_hint(text), "", text)


class QuotedTests(SynchronousTestCase):
    """A tenant's text in a message is recognizable and harmless."""

    def test_plain_text_is_only_quoted(self) -> None:
        """Printable ASCII is shown as it is."""
        self.assertEqual(quoted("a.example.com/$1"), '"a.example.com/$1"')

    def test_quotes_backslashes_and_controls_are_escaped(self) -> None:
        """What could end the quotation or the line is escaped."""
        self.assertEqual(quoted('a"b\\c\nd\x7f'), '"a\\"b\\\\c\\x0ad\\x7f"')

    def test_other_scripts_and_lone_surrogates_are_escaped(self) -> None:
        """What is not ASCII is escaped, be it valid text or not."""
        self.assertEqual(quoted("é\ud800"), '"\\xe9\\ud800"')

    def test_long_text_is_cut(self) -> None:
        """A long text is cut, and shows that it was."""
        self.assertEqual(quoted("x" * 1000), '"' + "x" * MAX_SHOWN_CHARACTERS + '"…')

    def test_what_proves_who_somebody_is_stays_out(self) -> None:
        """Users of URLs, also where the cut would take their ``@``, parameters and fields that are credentials."""
        for text, shown in (
            ("https://me:pw@a.test/x", "https://***@a.test/x"),
            (f"https://me:{'p' * 100}@a.test/x", "https://***@a.test/x"),
            ("http://a.test/?user=me&access_token=abc&x=1", "http://a.test/?user=me&access_token=***&x=1"),
            ("proxy_set_header Authorization Basic; x y;", "proxy_set_header Authorization ***; x y;"),
            ("cookie: a=b", "cookie:***"),
            ("https://a.test/@me", "https://a.test/@me"),
        ):
            self.assertEqual(quoted(text), f'"{shown}"')

    @settings(deadline=None, derandomize=True, max_examples=examples(100))
    @given(st.text(st.characters()))
    def test_result_is_always_printable_and_short(self, text: str) -> None:
        """Whatever the text, the result is one short printable line."""
        shown = quoted(text)
        self.assertTrue(shown.isprintable())
        self.assertLessEqual(len(shown), 10 * MAX_SHOWN_CHARACTERS + 3)

"""The grammar of ModSecurity's configuration."""

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.firewall.directives import MAX_CHARACTERS, Directive, GrammarError, read_directives
from tests.properties import examples


class GrammarTests(SynchronousTestCase):
    def test_lines_and_words(self) -> None:
        """A directive is a line, with plain words and quoted ones; comments and empty lines are none."""
        text = 'SecRuleEngine On\n\n  # a comment\n\tSecRule ARGS|!ARGS:a "@rx a\\.b c" "id:1,deny"  \r\n'
        self.assertEqual(
            read_directives(text),
            (
                Directive("secruleengine", ("On",), 1, "SecRuleEngine"),
                Directive("secrule", ("ARGS|!ARGS:a", "@rx a\\.b c", "id:1,deny"), 4, "SecRule"),
            ),
        )

    def test_continued_lines(self) -> None:
        """A backslash at the end goes on with the next line, and the first one counts."""
        text = 'SecRule ARGS \\\n  "@rx a" \\\n  "id:1,\\\n  deny"\nSecMarker a\n'
        self.assertEqual(
            read_directives(text),
            (
                Directive("secrule", ("ARGS", "@rx a", "id:1,  deny"), 1, "SecRule"),
                Directive("secmarker", ("a",), 5, "SecMarker"),
            ),
        )

    def test_what_nginx_makes_of_backslashes(self) -> None:
        """Quotes and backslashes that are escaped for nginx are read without; others keep theirs."""
        (found,) = read_directives("SecAction \"id:1,msg:\\'it is\\',logdata:'\\\\d'\"")
        self.assertEqual(found.words, ("id:1,msg:'it is',logdata:'\\d'",))
        (found,) = read_directives('SecRule ARGS "\\d+\\s" "id:1"')
        self.assertEqual(found.words[1], "\\d+\\s")

    def test_what_cannot_be_read(self) -> None:
        """Quotes that are not closed, what goes on behind them, a line that never ends, and control characters are refused."""
        for text in (
            'SecRule ARGS "a',
            'SecRule "a"b c',
            "SecRule a \\",
            "Sec\x00Rule",
            "a\x1bb",
            "x" * (MAX_CHARACTERS + 1),
            "a\n" * 600,
            "a " * 80,
        ):
            self.assertRaises(GrammarError, read_directives, text)

    @settings(derandomize=True, deadline=None, max_examples=examples(300))
    @given(st.text(alphabet="aS \\\"'\n\r#:,", max_size=60))
    def test_any_text(self, text: str) -> None:
        """Each text is directives or an error, and no word holds the end of a line."""
        try:
            found = read_directives(text)
        except GrammarError:
            return
        for directive in found:
            self.assertNotIn("\n", directive.name + "".join(directive.words))

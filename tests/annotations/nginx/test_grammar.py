"""Tests for ``ingress.annotations.nginx.grammar``."""

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.nginx.grammar import (
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_DIRECTIVES,
    MAX_WORDS,
    Directive,
    GrammarError,
    read_directives,
)


def words(text: str) -> list[tuple[str, ...]]:
    """The words of each directive of *text*, without their blocks."""
    return [(one.name, *one.arguments) for one in read_directives(text)]


class ReadTests(SynchronousTestCase):
    """What a text comes to."""

    def test_words(self) -> None:
        """Words are plain or in quotes, and a backslash is for the next character, as in nginx."""
        for text, expected in {
            "": [],
            ";;": [],
            "a;": [("a",)],
            "a b  c;d;": [("a", "b", "c"), ("d",)],
            "a \"b c\" 'd;e';": [("a", "b c", "d;e")],
            "a \"b\\\"c\" 'd\\'e';": [("a", 'b"c', "d'e")],
            r"a \.js \\ x\ty x\nz \d;": [("a", r"\.js", "\\", "x\ty", "x\nz", r"\d")],
            r"a b\;c d\ e;": [("a", r"b\;c", r"d\ e")],
            'a b"c"d;': [("a", 'b"c"d')],
            "a ${b}c $d{": None,
            "a ${b}c;": [("a", "${b}c")],
            'a "" x;': [("a", "", "x")],
            "# a;\nb; # c;\n": [("b",)],
            "a b#c;": [("a", "b#c")],
            "a\r\n\tb;": [("a", "b")],
        }.items():
            with self.subTest(text):
                if expected is None:
                    self.assertRaises(GrammarError, read_directives, text)
                else:
                    self.assertEqual(words(text), expected)

    def test_blocks_and_places(self) -> None:
        """A block holds directives, and each says where it stands."""
        found = read_directives('a;\n  if ($x = "y") {\n\treturn 403;\n}b;')
        inner = Directive("return", ("403",), 3, 2)
        self.assertEqual(
            found,
            (
                Directive("a", (), 1, 1),
                Directive("if", ("($x", "=", "y", ")"), 2, 3, (inner,)),
                Directive("b", (), 4, 2),
            ),
        )

    def test_lua(self) -> None:
        """A block of Lua ends where its braces do, whatever stands in its strings and comments."""
        code = ' local a = \'}\' .. "\\"}" -- }\n --[[ } ]] local b = [==[ }]] ]==] local c = {{}, d[1]} '
        (found, after) = read_directives(f"access_by_lua_block {{{code}}} b;")
        self.assertEqual(
            (found.name, found.block, found.lua, after.name), ("access_by_lua_block", (), code, "b")
        )

    def test_faults(self) -> None:
        """What cannot be read is told with the place."""
        for text, reason in {
            "a": "ends amid a: a semicolon is missing at line 1, column 1",
            "a;\n b": "ends amid b: a semicolon is missing at line 2, column 2",
            "a {": "never closes the block of a at line 1, column 1",
            "a { b }": "closes amid b: a semicolon is missing at line 1, column 5",
            "a; }": "holds a } that nothing opened at line 1, column 4",
            "{": "opens a block without a name",
            'a "b;': "quotes that are not closed",
            "a 'b;": "quotes that are not closed",
            'a "b"c;': "goes on right behind quotes at line 1, column 6",
            "a \\": "a backslash at its end",
            "x_by_lua_block { '": "quotes in Lua that are not closed",
            "x_by_lua_block { [[": "long bracket in Lua that is not closed",
            "x_by_lua_block { --": "never closes a block of Lua",
            "a\0;": "holds a NUL",
            "a" * (MAX_CHARACTERS + 1): f"longer than {MAX_CHARACTERS} characters",
            "a;" * (MAX_DIRECTIVES + 1): f"more than {MAX_DIRECTIVES} directives",
            "a {" * (MAX_DEPTH + 1): f"deeper than {MAX_DEPTH}",
            "a " * (MAX_WORDS + 2): f"more than {MAX_WORDS} words",
        }.items():
            error = self.assertRaises(GrammarError, read_directives, text)
            self.assertIn(reason, str(error))

    def test_at_the_bounds(self) -> None:
        """What is just within the bounds is read."""
        self.assertEqual(len(read_directives("a;" * MAX_DIRECTIVES)), MAX_DIRECTIVES)
        read_directives("a {" * MAX_DEPTH + "}" * MAX_DEPTH)
        self.assertEqual(len(words("a " * MAX_WORDS + ";")[0]), MAX_WORDS)

    def test_each_character_once(self) -> None:
        """Whatever a text is made of, it is read or refused without going back and forth."""
        for piece in (
            "[[",
            '"',
            "'",
            "\\",
            "$",
            "${",
            "{",
            "}",
            "a{",
            " #",
            "#\n",
            "'a' ",
            "--",
            "[=",
            "\n",
            "é",
        ):
            for text in (piece, f"x_by_lua_block {{{piece}"):
                long = text + piece * ((MAX_CHARACTERS - len(text)) // len(piece))
                try:
                    read_directives(long)
                except GrammarError as error:
                    self.assertLess(len(str(error)), 200)

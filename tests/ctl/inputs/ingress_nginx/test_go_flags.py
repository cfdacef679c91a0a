"""Command lines as Go's ``pflag`` reads them."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.ingress_nginx.go_flags import Flag, read_flags, whole_number
from ingress.options.ingress_nginx_arguments import ArgumentType

TYPES = {
    "class": ArgumentType.TEXT,
    "on": ArgumentType.BOOLEAN,
    "port": ArgumentType.WHOLE,
    "most": ArgumentType.COUNT,
    "rate": ArgumentType.NUMBER,
    "buckets": ArgumentType.NUMBERS,
    "period": ArgumentType.DURATION,
    "at": ArgumentType.ADDRESS,
    "v": ArgumentType.WHOLE,
}


def read(*words: str) -> list[Flag]:
    """What *words* say."""
    return list(read_flags(words, TYPES))


def values(*words: str) -> list[tuple[str, str]]:
    """The same as names and values, none of which is refused."""
    found = read(*words)
    refused = [one for one in found if one.fault or not one.is_known]
    if refused:
        raise AssertionError(refused)
    return [(one.name, one.value) for one in found]


class FormTests(SynchronousTestCase):
    """How an argument is written."""

    def test_a_value_stands_behind_an_equals_sign_or_as_the_next_word(self) -> None:
        """Whatever the next word is; and what holds another equals sign is one value."""
        self.assertEqual(values("--class=edge", "--port=80"), [("class", "edge"), ("port", "80")])
        self.assertEqual(values("--class", "edge", "--on"), [("class", "edge"), ("on", "true")])
        self.assertEqual(values("--class", "--on"), [("class", "--on")])
        self.assertEqual(values("--class=a=b"), [("class", "a=b")])
        self.assertEqual(values("--class="), [("class", "")])

    def test_a_boolean_takes_no_word_behind_it(self) -> None:
        """``--on false`` is on, and ``false`` is nothing; that is noted where the word looks like a value."""
        self.assertEqual(
            values("--on=true", "--on=F", "--on"), [("on", "true"), ("on", "false"), ("on", "true")]
        )
        self.assertEqual(read("--on", "false"), [Flag("on", "true", ignored="false")])
        self.assertEqual(read("--on", "true")[0].value, "true")
        self.assertEqual(read("--on", "serve"), [Flag("on", "true")])

    def test_one_letter_has_one_dash(self) -> None:
        """With its value behind it, behind an equals sign, or as the next word; two dashes do, too."""
        for words in (("-v2",), ("-v=2",), ("-v", "2"), ("--v=2",), ("--v", "2")):
            self.assertEqual(values(*words), [("v", "2")], words)

    def test_a_name_with_one_dash_is_refused(self) -> None:
        """It would be letters, one of which there is not."""
        for word in ("-class=edge", "-on", "-x"):
            (found,) = read(word)
            self.assertFalse(found.is_known, word)
        self.assertIn("one dash", read("-class=edge")[0].fault)
        self.assertEqual(read("-class=edge")[0].name, "class")

    def test_words_that_belong_to_none_are_passed_over(self) -> None:
        """They may stand anywhere, and after two dashes alone nothing is an argument."""
        self.assertEqual(
            values("serve", "--on", "-", "--class=a", "--", "--port=1"), [("on", "true"), ("class", "a")]
        )
        self.assertEqual(read(), [])

    def test_what_there_is_not(self) -> None:
        """Its name is told, and of the words behind it nothing is guessed."""
        self.assertEqual(read("--clas=edge"), [Flag("clas", is_known=False)])
        self.assertEqual(read("--clas", "edge", "--on"), [Flag("clas", is_known=False), Flag("on", "true")])

    def test_a_value_that_is_missing(self) -> None:
        """At the end there is no next word."""
        self.assertEqual(read("--class"), [Flag("class", fault="needs a value")])


class ValueTests(SynchronousTestCase):
    """What a value may be."""

    def test_values_of_each_type(self) -> None:
        """Whole numbers of any base become their digits; others stay as they are written."""
        for word, value in (
            ("--port=0x50", "80"),
            ("--port=-1", "-1"),
            ("--port=010", "8"),
            ("--most=4294967295", "4294967295"),
            ("--rate=0.3", "0.3"),
            ("--rate=1e3", "1e3"),
            ("--buckets=0.1,1,10", "0.1,1,10"),
            ("--period=1m30s", "1m30s"),
            ("--at=::1", "::1"),
        ):
            self.assertEqual(values(word)[0][1], value, word)

    def test_values_of_no_type(self) -> None:
        """Each is refused with what would be one."""
        for word in (
            "--on=yes",
            "--on=",
            "--port=eighty",
            "--port=1.5",
            "--port=",
            "--port=9223372036854775808",
            "--most=-1",
            "--most=4294967296",
            "--rate=fast",
            "--buckets=1,,2",
            "--period=30",
            "--at=host",
        ):
            (found,) = read(word)
            self.assertRegex(found.fault, "^is no ", word)

    @given(st.integers(-(2**63), 2**63 - 1))
    def test_numbers(self, number: int) -> None:
        """Whatever Go prints of a number, in each base, is that number."""
        for text in (str(number), f"{number:#x}", f"{number:#o}", f"{number:#b}"):
            self.assertEqual(whole_number(text, -(2**63), 2**63 - 1), number, text)

    @given(
        st.lists(
            st.text(max_size=12) | st.sampled_from(["--on", "--class", "-v", "--", "--port=x", "-"]),
            max_size=8,
        )
    )
    def test_any_words(self, words: list[str]) -> None:
        """Whatever the words are, there is an answer, and not more of it than words."""
        self.assertLessEqual(len(read(*words)), len(words))

"""Text on its way to a terminal, and to whoever reads what builds print."""

from click import command
from click.testing import CliRunner
from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.terminal import print_lines, printable


class PrintableTests(SynchronousTestCase):
    def test_what_a_terminal_acts_on_is_an_escape(self) -> None:
        """Escape sequences, line breaks, marks of direction, half characters; other text stays as it is."""
        for text, shown in (
            ("plain, später, 中文", "plain, später, 中文"),
            ("\x1b[31m", "\\x1b[31m"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u202e", "\\u202e"),
            ("\ud800", "\\ud800"),
        ):
            self.assertEqual(printable(text), shown)

    def test_what_runners_of_builds_obey_in_a_line_is_an_escape(self) -> None:
        """Of GitHub, Azure Pipelines and TeamCity; hashes of headings and colours are left alone."""
        for text, shown in (
            ("a ##[add-path]/x", "a #\\x23[add-path]/x"),
            ("##vso[task.setvariable variable=a]b", "#\\x23vso[task.setvariable variable=a]b"),
            ("##teamcity[x]", "#\\x23teamcity[x]"),
            ("## heading", "## heading"),
            ("###[x]", "##\\x23[x]"),
        ):
            self.assertEqual(printable(text), shown)


class PrintTests(SynchronousTestCase):
    def test_many_lines_come_in_their_order(self) -> None:
        """Each once, however they are put together."""
        lines = [str(number) for number in range(2500)]
        printing = command()(lambda: print_lines(iter(lines)))
        self.assertEqual(CliRunner().invoke(printing).stdout.splitlines(), lines)

    def test_nothing_is_no_line(self) -> None:
        """Not even an empty one."""
        printing = command()(lambda: print_lines(()))
        self.assertEqual(CliRunner().invoke(printing).stdout, "")

"""The table of ingress-nginx's arguments."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.options.ingress_nginx_arguments import ARGUMENTS, ArgumentType, Becomes, seconds_of
from ingress.options.table import OPTIONS

DOCUMENTED = Path(__file__).with_name("documented_arguments.txt")


class TableTests(SynchronousTestCase):
    """``ARGUMENTS``."""

    def test_every_argument_has_a_row(self) -> None:
        """These are all that ingress-nginx takes, and no others."""
        self.assertEqual(sorted(ARGUMENTS), DOCUMENTED.read_text("utf-8").split())

    def test_named_options_exist(self) -> None:
        """An option that a row names is one of the table of options; where it is the same, it has the same name."""
        named = {name: row.option for name, row in ARGUMENTS.items() if row.option}
        self.assertEqual({name: option for name, option in named.items() if option not in OPTIONS}, {})
        for name, row in ARGUMENTS.items():
            if row.becomes in (Becomes.SAME, Becomes.OWN):
                self.assertEqual(row.option, name)
            elif row.becomes is Becomes.OTHER and row.option:
                self.assertNotEqual(row.option, name)
                # What is called so here, too, would be the same.
                self.assertNotIn(name, OPTIONS, name)

    def test_what_is_no_option_says_why(self) -> None:
        """In a clause that can stand in a sentence; it names no option here, and nothing of a value is turned."""
        for name, row in ARGUMENTS.items():
            if row.becomes in (Becomes.NEEDLESS, Becomes.NOT_HONORED):
                self.assertTrue(row.told, name)
                self.assertEqual(row.option, "", name)
            self.assertFalse(row.told.endswith("."), name)
            self.assertFalse(
                row.told[:1].isupper() and not row.told[:2].isupper() and row.told[:6] != "Events", name
            )

    def test_a_flag_is_a_boolean(self) -> None:
        """An option without value comes of a boolean argument alone, and a boolean one leads to nothing else."""
        for name, row in ARGUMENTS.items():
            if row.option and name != "update-status":
                is_flag = OPTIONS[row.option].read is None
                self.assertEqual(row.type is ArgumentType.BOOLEAN, is_flag, name)

    def test_values_are_turned_into_what_options_take(self) -> None:
        """Ports become listeners, a verbosity a level, a duration seconds; an option reads what comes of it."""
        for name, value, turned in (
            ("http-port", "8080", "tcp:8080"),
            ("healthz-port", "10255", "tcp:10255"),
            ("v", "2", "info"),
            ("v", "3", "debug"),
            ("election-ttl", "1m30s", "90"),
            ("election-ttl", "2m", "120"),
            ("watch-namespace", "shop", "shop"),
        ):
            row = ARGUMENTS[name]
            self.assertEqual(row.turn(value), turned, name)
            read = OPTIONS[row.option].read
            assert read is not None
            read(turned)


class DurationTests(SynchronousTestCase):
    """Durations as Go writes them."""

    def test_units(self) -> None:
        """Parts of several units add up; zero needs none."""
        for text, seconds in (
            ("0", 0.0),
            ("30s", 30.0),
            ("1m30s", 90.0),
            ("1h0m0s", 3600.0),
            ("1.5h", 5400.0),
            (".5s", 0.5),
            ("250ms", 0.25),
            ("-5s", -5.0),
            ("+5s", 5.0),
        ):
            self.assertAlmostEqual(seconds_of(text), seconds, msg=text)

    def test_what_is_none(self) -> None:
        """A number without a unit, blanks, other units, two signs."""
        for text in ("", "30", "30 s", "1d", "s", "--5s", "5s5", "abc", "1m 30s", ".s"):
            self.assertRaises(ValueError, seconds_of, text)

    @given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59))
    def test_hours_minutes_seconds(self, hours: int, minutes: int, seconds: int) -> None:
        """Whatever Go prints of a duration in whole seconds is read."""
        text = f"{hours}h{minutes}m{seconds}s"
        self.assertEqual(seconds_of(text), hours * 3600 + minutes * 60 + seconds)

"""Tests for ``ingress.model.frozen``."""

import linecache

import attrs
from attrs import field, validators
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.frozen import frozen


def _stripped(text: str) -> str:
    return text.strip()


def _length(text: str) -> str:
    return str(len(text))


@frozen
class _Plain:
    name: str
    hidden: str = field(default="", repr=False)
    short: str = field(default="", repr=_length)


@attrs.frozen
class _Compiled:
    name: str
    hidden: str = field(default="", repr=False)
    short: str = field(default="", repr=_length)


@frozen(order=True, cache_hash=True)
class _Ordered:
    number: int


@frozen
class _Own:
    number: int

    def __repr__(self) -> str:
        return f"number {self.number}"

    def doubled(self) -> int:
        return 2 * self.number


@frozen
class _Other:
    name: str
    hidden: str = field(default="", repr=False)
    short: str = field(default="", repr=_length)


@frozen
class _Unseen:
    name: str
    seen: int = field(default=0, eq=False)


@frozen
class _Nothing:
    pass


@frozen
class _OwnEquality:
    number: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _OwnEquality) and other.number % 10 == self.number % 10

    def __hash__(self) -> int:
        return self.number % 10


@frozen
class _FailedError(Exception):
    code: int


@frozen(order=True)
class _Checked:
    name: str = field(converter=_stripped)
    count: int = field(validator=validators.gt(0), eq=abs)
    known: dict[str, int] = field(factory=dict)


class FrozenTests(SynchronousTestCase):
    """``frozen``."""

    def test_it_shows_what_attrs_would(self) -> None:
        """Fields that are kept out are left out, and a field may say how it is shown."""
        shown = repr(_Plain("a", "secret", "abc"))
        self.assertEqual(shown, "_Plain(name='a', short=3)")
        self.assertEqual(shown, repr(_Compiled("a", "secret", "abc")).replace("_Compiled", "_Plain"))

    def test_settings_are_those_of_attrs(self) -> None:
        """With settings or without, instances are equal by their fields, and nothing of them can be set."""
        self.assertLess(_Ordered(1), _Ordered(2))
        self.assertEqual(len({_Ordered(1), _Ordered(1)}), 1)
        self.assertRaises(attrs.exceptions.FrozenInstanceError, setattr, _Plain("a"), "name", "b")

    def test_they_are_equal_by_the_fields_that_count(self) -> None:
        """Of one class alone, without the fields that are left out; what is equal has one hash."""
        self.assertEqual(_Plain("a", "b", "c"), _Plain("a", "b", "c"))
        for other in (
            _Plain("b", "b", "c"),
            _Plain("a", "", "c"),
            _Plain("a", "b"),
            _Other("a", "b", "c"),
            None,
        ):
            self.assertNotEqual(_Plain("a", "b", "c"), other)
        self.assertEqual(len({_Plain("a"), _Plain("a"), _Plain("b"), _Other("a")}), 3)
        self.assertEqual(_Unseen("a", 1), _Unseen("a", 2))
        self.assertEqual(len({_Unseen("a", 1), _Unseen("a", 2), _Unseen("b", 1)}), 2)
        self.assertEqual(len({_Nothing(), _Nothing()}), 1)
        self.assertRaises(TypeError, hash, _Checked("a", 1, {}))

    def test_a_class_may_compare_in_a_way_of_its_own(self) -> None:
        """What it says of itself counts, and an exception is itself alone."""
        self.assertEqual(len({_OwnEquality(1), _OwnEquality(11), _OwnEquality(2)}), 2)
        self.assertNotEqual(_FailedError(1), _FailedError(1))

    def test_a_field_that_compares_in_a_way_of_its_own_has_to_be_asked_for(self) -> None:
        """Nobody is told that values are unequal which are equal by that."""

        def made() -> type:
            @frozen
            class Rounded:
                number: float = field(eq=round)

            return Rounded

        error = self.assertRaises(TypeError, made)
        self.assertIn("Rounded.number compares in a way of its own", str(error))

    def test_a_class_may_show_itself(self) -> None:
        """What it says of itself counts."""
        self.assertEqual(repr(_Own(3)), "number 3")

    def test_a_class_in_a_function_is_called_by_its_name(self) -> None:
        """As attrs does, without the function."""

        @frozen
        class Inner:
            number: int

        self.assertEqual(repr(Inner(1)), "Inner(number=1)")

    def test_fields_have_what_they_need(self) -> None:
        """Converters, validators, factories and what equality goes by are there as with attrs."""
        one = _Checked(" a", 1)
        self.assertEqual((one.name, one.count, one.known), ("a", 1, {}))
        self.assertRaises(ValueError, _Checked, "", 0)
        self.assertLess(_Checked("", 1), _Checked("", 2))
        self.assertEqual(attrs.evolve(one, count=2), _Checked("a", 2))
        self.assertEqual([each.name for each in attrs.fields(_Checked)], ["name", "count", "known"])

    def test_nothing_is_kept_besides(self) -> None:
        """Neither the names of the module, nor the source of what attrs has compiled, nor a class for the tuple of fields, nor what the class says."""
        compiled = _Plain.__init__
        self.assertEqual((compiled.__doc__, compiled.__annotations__), (None, {}))
        self.assertIn("FrozenTests", _Own.doubled.__globals__)
        self.assertNotIn("attrs", compiled.__globals__)
        self.assertNotIn("frozen", compiled.__globals__)
        self.assertNotIn(compiled.__code__.co_filename, linecache.cache)
        self.assertIs(type(attrs.fields(_Plain)), tuple)

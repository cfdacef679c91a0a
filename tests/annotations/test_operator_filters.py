"""Filters that the operator installed, and the annotation by which Ingresses ask for them."""

from datetime import UTC, datetime
from typing import ClassVar

from attrs import frozen
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.contract.values import ValueRefused
from ingress.annotations.operator_filters import (
    MAX_ARGUMENTS,
    MAX_FILTERS,
    InstalledFilter,
    operator_filter,
    split_filter,
)
from ingress.filters import AnswerEdit, Facts, Filter, FilterSpec, Phase, Services
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress


@frozen
class Says:
    """A spec of a package: puts a field."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "says"
    text: str

    def describe(self) -> str:
        """Say what."""
        return f"says {self.text}"

    def make(self, services: Services) -> Filter:
        """Make the filter."""
        return Saying(self.text.encode())


class Saying(Filter):
    """Puts a field."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        """Put it."""
        edit.put(b"X-Says", self._text)


def says(arguments: str) -> FilterSpec:
    """Make a spec; it has to say something."""
    if not arguments:
        raise ValueError("say what")
    return Says(arguments)


def breaks(arguments: str) -> FilterSpec:
    """Fail by a bug."""
    raise KeyError(arguments)


SAYS, BREAKS = InstalledFilter("says", says), InstalledFilter("breaks", breaks)


class OperatorFilterTests(SynchronousTestCase):
    """Names, arguments, and what becomes of them."""

    def refusal(self, installed: InstalledFilter, arguments: str) -> str:
        """Return why there is no spec."""
        return str(self.assertRaises(ValueRefused, operator_filter, installed, arguments))

    def test_text(self) -> None:
        """A name, and arguments behind the first equals sign, whatever is in them."""
        for text, parts in (
            ("says", ("says", "")),
            (" says=a=b, c ", ("says", "a=b, c")),
            ("a-1=", ("a-1", "")),
        ):
            self.assertEqual(split_filter(text), parts)
        for text in ("", "=x", "Says", "a b", "-a", "says: x", "a" + "=" + "x" * (MAX_ARGUMENTS + 1)):
            self.assertRaises(ValueRefused, split_filter, text)

    def test_spec(self) -> None:
        """The spec stands and does what the factory's does; equal names and arguments are equal."""
        spec = operator_filter(SAYS, "hello")
        self.assertEqual((spec.phase, spec.name, spec.describe()), (Phase.ANSWER, "says", "says hello"))
        self.assertEqual(len({spec, operator_filter(SAYS, "hello"), operator_filter(SAYS, "you")}), 2)
        edit = FakeEdit()
        spec.make(FakeServices()).on_answer(FakeFacts(), edit)
        self.assertEqual(edit.fields, [(b"X-Says", b"hello")])

    def test_refused(self) -> None:
        """A factory refuses with a reason; a bug of it is a refusal, too."""
        self.assertEqual(self.refusal(SAYS, ""), "is refused by filter says: say what")
        self.assertEqual(self.refusal(BREAKS, "x"), "makes filter breaks fail: KeyError: 'x'")

    def test_what_is_no_spec(self) -> None:
        """What a factory returns has to be a spec, or is refused with what is wrong with it."""

        class Unfrozen(Says):
            __hash__ = None  # type: ignore[assignment]

        for made, why in ((None, "its phase is none"), (Unfrozen("x"), "it has no hash")):
            installed = InstalledFilter("odd", lambda arguments, made=made: made)  # type: ignore[misc]
            self.assertIn(f"return no filter spec: {why}", self.refusal(installed, ""))


class AnnotationTests(SynchronousTestCase):
    """The annotation ``filters``."""

    def snapshot(self, text: str, *allowed: InstalledFilter) -> Snapshot:
        """Translate an Ingress that asks for filters."""
        options = TranslateOptions(allowed_filters=allowed)
        return translate(state_of([ingress("a", "/", filters=text)]), options, datetime.now(UTC))

    def asked(self, text: str, *allowed: InstalledFilter) -> list[str]:
        """Return what the filters of the route do."""
        (route,) = self.snapshot(text, *allowed).table.routes
        return [spec.describe() for spec in route.filters]

    def refusal(self, text: str, *allowed: InstalledFilter) -> str:
        """Return the problem that an Ingress has; its path is closed."""
        found = self.snapshot(text, *allowed)
        self.assertEqual([route.filters for route in found.table.routes], [(GuardMissing(),)])
        (problem,) = [one for one in found.problems if "/filters]" in one.field]
        self.assertEqual((problem.kind, problem.name), ("Ingress", "a"))
        return problem.message

    def test_asked(self) -> None:
        """Whoever asks has them, one a line, in this order."""
        self.assertEqual(self.asked("says=b\n\nsays=a\n", SAYS), ["says b", "says a"])
        self.assertEqual(self.asked("", SAYS), [])

    def test_not_allowed(self) -> None:
        """Who asks for a filter that is not allowed, or not there, is told which ones are, and closed."""
        self.assertEqual(
            self.refusal("other", SAYS),
            'filters: "other" names filter "other", which the operator does not allow; allowed by --allow-filter:'
            " says; its paths answer 503, lest a guard is missing",
        )
        self.assertIn("allowed by --allow-filter: none", self.refusal("says=x"))

    def test_bad_arguments(self) -> None:
        """One that is refused closes the paths, too, whatever stands beside it."""
        self.assertIn("is refused by filter says: say what", self.refusal("says=x\nsays", SAYS))
        self.assertIn("KeyError", self.refusal("breaks", BREAKS))

    def test_too_many(self) -> None:
        """So many in one Ingress, and no more."""
        self.assertEqual(len(self.asked("says=x\n" * MAX_FILTERS, SAYS)), MAX_FILTERS)
        self.assertIn("more than 16 filters", self.refusal("says=x\n" * (MAX_FILTERS + 1), SAYS))

"""Filters that packages bring."""

from importlib.metadata import EntryPoint, EntryPoints

from twisted.trial.unittest import SynchronousTestCase

from ingress.options import installed_filters
from ingress.options.installed_filters import GROUP, installed_filter, read_allowed_filter, read_filter
from tests.annotations.test_operator_filters import SAYS, Says

HERE = "tests.annotations.test_operator_filters"


def install(case: SynchronousTestCase, **brought: str) -> None:
    """Have packages bring these filters, as far as *case* goes; an underscore in a name stands for a dash."""
    points = [EntryPoint(name.rstrip("_").replace("_", "-"), value, GROUP) for name, value in brought.items()]

    def found(group: str, name: str = "") -> EntryPoints:
        return EntryPoints(one for one in points if one.group == group and name in ("", one.name))

    case.patch(installed_filters, "entry_points", found)


class InstalledFilterTests(SynchronousTestCase):
    """What options and annotations name."""

    def refusal(self, text: str) -> str:
        """Return why *text* names no filter."""
        return str(self.assertRaises(ValueError, read_filter, text))

    def test_found(self) -> None:
        """A filter that a package brings is imported by its name, and makes its spec of the arguments."""
        install(self, says=f"{HERE}:says")
        spec = read_filter("says=hello")
        self.assertEqual((spec.name, spec.arguments, spec.spec), ("says", "hello", Says("hello")))
        self.assertEqual(read_allowed_filter("says"), SAYS)

    def test_not_installed(self) -> None:
        """A filter that nobody brings is refused, and those that there are, are named."""
        install(self, says=f"{HERE}:says", breaks=f"{HERE}:breaks")
        message = "no installed package brings filter other; brought are: breaks, says"
        self.assertEqual(self.refusal("other"), message)

    def test_brought_twice(self) -> None:
        """Two packages that bring different filters of one name are told apart by nobody."""
        install(self, says=f"{HERE}:says", says_=f"{HERE}:breaks")
        self.assertIn("brought more than once", self.refusal("says"))

    def test_not_importable(self) -> None:
        """A package that cannot be imported, or brings no function, is named with the reason."""
        install(self, gone="no.such.module:x", number=f"{HERE}:__name__")
        self.assertIn("cannot be imported from no.such.module:x: ModuleNotFoundError", self.refusal("gone"))
        self.assertIn("cannot be called", self.refusal("number"))

    def test_bad_arguments(self) -> None:
        """What the filter itself refuses is told in its words."""
        install(self, says=f"{HERE}:says")
        self.assertEqual(self.refusal("says"), "is refused by filter says: say what")
        self.assertIn("does not begin with the name of a filter", self.refusal("="))

    def test_allowed_by_name_alone(self) -> None:
        """Arguments of allowed filters are for Ingresses to give."""
        install(self, says=f"{HERE}:says")
        for text in ("says=x", "says="):
            self.assertIn("by its name alone", str(self.assertRaises(ValueError, read_allowed_filter, text)))

    def test_nothing_else_is_imported(self) -> None:
        """Only what is named is imported: a broken package beside it harms nobody."""
        install(self, says=f"{HERE}:says", gone="no.such.module:x")
        self.assertEqual(installed_filter("says"), SAYS)

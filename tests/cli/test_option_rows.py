"""Tests for ``ingress.cli.option_rows``."""

from typing import ClassVar

from twisted.python import usage
from twisted.trial.unittest import SynchronousTestCase

from ingress.cli.option_rows import RepeatableOptions, parameter


class Numbers(RepeatableOptions):
    """Options that are numbers."""

    repeatables: ClassVar[tuple[str, ...]] = ("more",)
    optParameters: ClassVar[list[list[object]]] = [parameter("one", None, "One number.", int)]

    def opt_more(self, text: str) -> None:
        """Another number."""
        self._add("more", int, text)

    def more(self) -> list[int]:
        return self._repeated["more"]


class RowTests(SynchronousTestCase):
    """Options that are read into values."""

    def test_read(self) -> None:
        """Values are read, and those that may be repeated are kept in their order."""
        options = Numbers()
        options.parseOptions(["--one=1", "--more=2", "--more=3"])
        self.assertEqual((options["one"], options.more()), (1, [2, 3]))
        self.assertEqual(Numbers().more(), [])

    def test_complaint(self) -> None:
        """What cannot be read is a complaint that names option and text."""
        for argument, name in (("--one=x", "one"), ("--more=x", "more")):
            with self.assertRaises(usage.UsageError) as caught:
                Numbers().parseOptions([argument])
            self.assertTrue(str(caught.exception).startswith(f"--{name} 'x': "), str(caught.exception))

"""Rows of an options table, and options that may be repeated: what all groups of options are made of."""

from collections.abc import Callable
from typing import Any, ClassVar

from twisted.python import usage


def read_option(option: str, read: Callable[[str], Any], text: str) -> Any:
    """Return what *read* makes of *text*; its complaint names the option and the text."""
    try:
        return read(text)
    except ValueError as error:
        raise usage.UsageError(f"--{option} {text!r}: {error}") from None


def parameter(option: str, default: object, help: str, read: Callable[[str], Any]) -> list[object]:
    """Make a row of ``optParameters`` whose complaints name the option and its value."""
    return [option, None, default, help, lambda text: read_option(option, read, text)]


class RepeatableOptions(usage.Options):
    """Options of which some may be given several times: those named in *repeatables*."""

    repeatables: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__()
        self._repeated: dict[str, list[Any]] = {name: [] for name in self.repeatables}

    def _add(self, option: str, read: Callable[[str], Any], text: str) -> None:
        self._repeated[option].append(read_option(option, read, text))

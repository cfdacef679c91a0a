"""Options from two sources: the command line, and texts by the names of options, which may change while the process runs.

The command line beats the other source; what neither of them says has its default.  What cannot be
had is a problem of the object that the texts are from, and costs that one option.  The result is the same however the
texts came to be what they are: nothing is remembered.
"""

import re
from collections.abc import Callable, Collection, Mapping
from difflib import get_close_matches
from operator import attrgetter
from typing import Any, Protocol

from attrs import Factory

from ingress.annotations.contract.values import ValueRefused, parse_boolean, quoted
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.options.option import Option, settings_with
from ingress.options.table import OPTIONS, SPELLINGS
from ingress.settings import Settings


@frozen
class OptionTexts:
    """What a second source says: a text for each option, by its name, and the object that says so.

    A flag is ``true`` or ``false``; what may be repeated has commas or blanks between its values; a page is
    the page itself, and not the name of a file.
    """

    texts: Mapping[str, str] = Factory(dict)
    kind: str = ""
    namespace: str = ""
    name: str = ""
    field: str = ""
    """The field of that object in which the options are."""
    keys: Mapping[str, str] = Factory(dict)
    """What an option is called there, where that is not its name."""
    unreadable: Mapping[str, str] = Factory(dict)
    """Texts that are too long to be read, by the names of their options; ``problems`` tell of them."""
    problems: tuple[Problem, ...] = ()
    """What is to be told of the object besides."""


class OptionSource(Protocol):
    """Where options come from besides the command line."""

    def start(self, changed: Callable[[OptionTexts], None]) -> None:
        """Call *changed* with all that is said, at once if that is known, and whenever it is different; reactor thread."""

    def stop(self) -> None:
        """Call it no more."""


@frozen
class Merged:
    """What holds for now."""

    settings: Settings
    problems: tuple[Problem, ...] = ()
    """Sorted."""
    in_force: tuple[str, ...] = ()
    """The names of the options that the second source decides, sorted."""


def merge(
    settings: Settings, given: Collection[str], said: OptionTexts, started: Settings | None = None
) -> Merged:
    """Return what *settings* become by what a second source has *said*.

    *settings* are those of the command line, on which the options *given* were; *started* those that the process has
    started with, once it has: what is decided at the start stays as it is, whatever the result says of it.
    """
    beating = [OPTIONS[name] for name in given]
    decided: dict[Option, Any] = {}
    closing: set[Option] = set()
    problems = list(said.problems)
    for name, text in said.unreadable.items():
        option = _known(name)
        if option.refused is not None and not any(_overlap(option, other) for other in beating):
            decided[option] = _closing(option, text)
            closing.add(option)
    for name, text in said.texts.items():
        try:
            option = _known(name)
            is_beaten = any(_overlap(option, other) for other in beating)
            if not is_beaten and option.refused is not None:
                decided[option] = _closing(option, text)
                closing.add(option)
            if not (option.running or option.at_start):
                raise _decided_at_start(option)
            values = _values(option, text)
            closing.discard(option)
            if is_beaten:
                _yield_to(option, values, settings)
            elif started is not None and not option.running:
                _stay(option, values, started)
            elif values:
                decided[option] = option.joined(values)
            elif option.read is None:
                # It was read, and is not wanted.
                decided.pop(option, None)
        except _Refused as refusal:
            key = said.keys.get(name, name)
            field = f"{said.field}.{key}" if said.field else key
            problems.append(
                Problem(said.kind, said.namespace, said.name, refusal.reason, refusal.message, field)
            )
    in_force = sorted(option.name for option in decided if option not in closing)
    return Merged(settings_with(settings, decided), tuple(sorted(problems)), tuple(in_force))


def _closing(option: Option, text: str) -> Any:
    """Return what a guard is whose *text* cannot be read."""
    return option.refused(text) if callable(option.refused) else option.refused


class _Refused(Exception):  # noqa: N818 - it is a verdict on an option, no failure
    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


def _known(name: str) -> Option:
    """Return the option called *name*."""
    option = SPELLINGS.get(name)
    if option is None:
        close = get_close_matches(name[:64], OPTIONS, 1)
        meant = f"; perhaps {close[0]} is meant" if close else ""
        raise _Refused(Reason.INVALID_OPTION, f"there is no option of this name{meant}")
    return option


def _decided_at_start(option: Option) -> _Refused:
    by = f"by --{option.name} on its command line"
    if option.at_start:
        by += ", or by what stands here then"
    return _Refused(
        Reason.OPTION_AT_START, f"this is decided when the process starts, {by}; it stays as it is"
    )


def _stay(option: Option, values: list[Any], started: Settings) -> None:
    """Refuse *values* that are something else than what the process has *started* with."""
    value = option.joined(values) if values else option.usual
    if value != attrgetter(option.to)(started):
        raise _decided_at_start(option)


def _values(option: Option, text: str) -> list[Any]:
    """Read what is between the commas of an option that may be repeated, or all of *text*; nothing where it says so."""
    try:
        if option.read is None:
            return [option.sets] if _is_true(text.strip()) else []
        if option.read_content is not None:
            return [option.read_content(text)]
        parts = re.split(r"[\s,]+", text.strip()) if option.repeatable else [text.strip()]
        return [option.read(part) for part in parts if part or not option.repeatable]
    except ValueError as error:
        if option.refused is None:
            instead = "it has no effect"
        elif callable(option.refused):
            instead = "the rest of it is honored, and where a guard is missing, all paths answer 503"
        else:
            instead = "until it can be read, what it would guard is closed"
        raise _Refused(Reason.INVALID_OPTION, f"{quoted(text)}: {error}; {instead}") from None


def _is_true(text: str) -> bool:
    try:
        return parse_boolean(text)
    except ValueRefused:
        raise ValueError("neither true nor false") from None


def _overlap(one: Option, other: Option) -> bool:
    """Whether both decide the same field, or one a part of what the other decides."""
    paths = (f"{one.to}.", f"{other.to}.")
    return paths[0].startswith(paths[1]) or paths[1].startswith(paths[0])


def _yield_to(option: Option, values: list[Any], settings: Settings) -> None:
    """Refuse *values* where they would make a difference to the command line's *settings*."""
    value = option.joined(values) if values else option.usual
    if settings_with(settings, {option: value}) != settings:
        raise _Refused(Reason.OPTION_OVERRIDDEN, "the command line says otherwise, and counts")

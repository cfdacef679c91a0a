"""Options of the controller on the command line of ``ingressctl``: what the objects would be translated by."""

from collections.abc import Iterable
from typing import Any

from ingress.ctl.errors import Mistake
from ingress.ctl.foreign_options import format_hint
from ingress.ctl.suggestions.close_names import did_you_mean
from ingress.model.frozen import frozen
from ingress.options.option import DEFAULTS, Option, contradictions, settings_with
from ingress.settings import Settings


@frozen
class GivenOptions:
    """What options of a command line come to, and which they are, by *names*: these beat the operator's ConfigMap."""

    settings: Settings
    names: frozenset[str] = frozenset()


def options_from(texts: Iterable[str], settings: Settings = DEFAULTS) -> GivenOptions:
    """Return *settings* with what *texts* say, each ``NAME`` or ``NAME=VALUE`` as ``twistd ingress --NAME=VALUE`` has it.

    Raises ``Mistake`` for a name or a value that the controller would refuse.
    """
    texts = tuple(texts)
    if not texts:
        return GivenOptions(settings, frozenset())
    # Of all that a command begins with, the table takes longest to make, and most go without.
    from ingress.options.table import OPTIONS, SPELLINGS

    given: dict[Option, list[Any]] = {}
    for text in texts:
        name, has_value, value = text.removeprefix("--").partition("=")
        option = SPELLINGS.get(name)
        if option is None:
            raise Mistake(
                f"the controller has no option {name!r}{format_hint(text) or did_you_mean(name, OPTIONS)}"
            )
        if option.read is None and has_value:
            raise Mistake(f"{name} is a flag of the controller, and takes no value")
        if option.read is not None and not has_value:
            raise Mistake(f"{name} needs a value: {name}={option.value}")
        try:
            read = option.sets if option.read is None else option.read(value)
        except ValueError as error:
            raise Mistake(f"option {name} {value!r}: {error}") from None
        given.setdefault(option, []).append(read)
    names = {option.name: option for option in given}
    for contradiction in contradictions(names, granted=("manifests",)):
        raise Mistake(contradiction)
    joined = {option: option.joined(values) for option, values in given.items()}
    return GivenOptions(settings_with(settings, joined), frozenset(names))


def names_beginning(text: str) -> list[str]:
    """Return the options that begin with *text*, each as far as it can be completed: ``NAME=`` where it takes a value."""
    from ingress.options.table import OPTIONS

    return sorted(
        name if option.read is None else f"{name}="
        for name, option in OPTIONS.items()
        if name.startswith(text)
    )

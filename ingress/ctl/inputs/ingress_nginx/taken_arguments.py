"""What the arguments of an ingress-nginx come to here: what to write for each, and what objects are judged by.  Pure."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from attrs import evolve

from ingress.ctl.inputs.ingress_nginx.go_flags import Flag, read_flags
from ingress.ctl.inputs.ingress_nginx.workloads import arguments_in, unknown_variable
from ingress.ctl.inputs.input import Workload
from ingress.ctl.suggestions.close_names import did_you_mean
from ingress.model.frozen import frozen
from ingress.options.ingress_nginx_arguments import ARGUMENTS, Argument, Becomes
from ingress.options.option import DEFAULTS, Option
from ingress.options.table import OPTIONS
from ingress.settings import Settings

UNKNOWN: Final = "unknown"
REFUSED: Final = "refused"
_ENDS: Final = "ingress-nginx does not start with it"
_NOTHING: Final = "nothing has to be written for this value"
_UNJUDGED: Final = frozenset(
    {"kubeconfig", "server", "http", "https", "probes", "report-node-internal-ip-address"}
)
"""Options that say where objects come from, which is for the person to say, where the process listens, and what it writes
beside another option, which ingress-nginx has without a word."""
_FILES: Final = frozenset({"kubeconfig"})
"""Options that name files, which are not on this machine."""
_TYPES: Final = {name: row.type for name, row in ARGUMENTS.items()}
USUAL_CLASSES: Final = {
    "ingress-class": DEFAULTS.translate.ingress_class,
    "controller-class": DEFAULTS.translate.controller_class,
}
"""The classes that both controllers have without an argument."""


@frozen
class Taken:
    """One argument: *becomes* says what it comes to, as ``Becomes`` or ``UNKNOWN`` or ``REFUSED`` by ingress-nginx itself."""

    name: str
    given: str
    """As it was read, ``--name=value``; without its value where that is nobody's to know."""
    becomes: str
    option: str = ""
    """The option by its name here, as it was meant there: ``NAME`` or ``NAME=VALUE``; empty for none."""
    why: str = ""
    is_lost: bool = False
    """Whether something that it asks for is not done here, or not known."""

    @property
    def option_name(self) -> str:
        """The name of that option; empty for none."""
        return self.option.partition("=")[0]

    @property
    def is_own(self) -> bool:
        """Whether this controller has something of its own in the place of what it names."""
        return self.becomes == Becomes.OWN.value


def taken_arguments(workload: Workload) -> tuple[Taken, ...]:
    """Return what the arguments of *workload* come to, each once, in their order: as in Go the last one of a name counts."""
    flags = {flag.name: flag for flag in read_flags(arguments_in(workload.words), _TYPES)}
    taken: list[Taken] = []
    for flag in flags.values():
        one = _taken(flag)
        other = _excluding(one.option_name, [before.option_name for before in taken])
        if other:
            why = f"--{one.option_name} cannot stand beside --{other}"
            one = Taken(one.name, one.given, Becomes.NOT_HONORED.value, why=why, is_lost=True)
        taken.append(one)
    return tuple(taken)


def judged_by(taken: Collection[Taken], said: Collection[str] = ()) -> Iterator[str]:
    """Yield what objects are judged by, as ``-o`` has it, but for options that were *said*, by name, and what excludes these."""
    for one in taken:
        name = one.option_name
        if name and name not in _UNJUDGED and name not in said and not _excluding(name, said):
            yield one.option


def _excluding(name: str, others: Collection[str]) -> str:
    """Return which of *others*, names of options or nothing, the option *name* cannot stand beside; empty for none."""
    if not name:
        return ""
    return next(
        (one for one in others if one and (one in OPTIONS[name].excludes or name in OPTIONS[one].excludes)),
        "",
    )


def counting(
    found: Sequence[Workload], settings: Settings, said: Collection[str] = ()
) -> tuple[Workload, ...]:
    """Return *found*, with the one first by whose arguments objects are judged.

    That is the first that serves the classes of *settings*, of those that were *said*; else the first of all.
    """
    wanted = settings.translate
    classes = {"controller-class": wanted.controller_class, "ingress-class": wanted.ingress_class}
    asked = [name for name in classes if name in said] or ["controller-class"]

    def is_other(workload: Workload) -> bool:
        options = dict(one.partition("=")[::2] for one in judged_by(taken_arguments(workload)))
        return any(options.get(name, USUAL_CLASSES[name]) != classes[name] for name in asked)

    return tuple(sorted(found, key=is_other))


def _taken(flag: Flag) -> Taken:
    row = ARGUMENTS.get(flag.name)
    if not flag.is_known and flag.fault:
        return Taken(flag.name, f"-{flag.name}", REFUSED, why=f"{flag.fault}; {_ENDS}", is_lost=True)
    if row is None:
        why = f"there is no such argument, and {_ENDS}{did_you_mean(flag.name, ARGUMENTS)}"
        return Taken(flag.name, f"--{flag.name}", UNKNOWN, why=why, is_lost=True)
    given = f"--{flag.name}" if _hides(row, flag.value) else f"--{flag.name}={flag.value}"
    if flag.fault:
        return Taken(flag.name, given, REFUSED, why=f"{flag.fault}; {_ENDS}", is_lost=True)
    taken = _read(flag, row, given)
    if not flag.ignored:
        return taken
    stray = f"{flag.ignored} behind it stands by itself and means nothing there: it would be --{flag.name}={flag.ignored}"
    return evolve(taken, why=f"{stray}; {taken.why}" if taken.why else stray)


def _hides(row: Argument, value: str) -> bool:
    # A URL may have a password in it.
    return row.is_secret or "@" in value


def _read(flag: Flag, row: Argument, given: str) -> Taken:
    becomes = row.becomes.value
    if flag.value in row.silent:
        return Taken(flag.name, given, Becomes.NEEDLESS.value, why=_NOTHING)
    if row.option and "@" in flag.value:
        why = f"its value may have a password in it: write --{row.option} by hand"
        return Taken(flag.name, given, becomes, why=why)
    reference = unknown_variable(flag.value)
    if row.option and reference:
        why = f"{reference} is not known here: write out what it stands for"
        return Taken(flag.name, given, Becomes.NOT_HONORED.value, why=why, is_lost=True)
    if not row.option:
        return Taken(flag.name, given, becomes, why=row.told, is_lost=row.becomes is Becomes.NOT_HONORED)
    option = OPTIONS[row.option]
    try:
        text = _text(option, row.turn(flag.value))
    except ValueError as error:
        return Taken(
            flag.name, given, Becomes.NOT_HONORED.value, why=f"--{option.name}: {error}", is_lost=True
        )
    if not text:
        return Taken(flag.name, given, Becomes.NEEDLESS.value, why=_NOTHING)
    return Taken(flag.name, given, becomes, text, row.told)


def _text(option: Option, value: str) -> str:
    """Return *option* with *value*, as ``-o`` has it; empty for a flag that is off.  Raises ``ValueError``."""
    if option.read is None:
        return option.name if value == "true" else ""
    if option.name not in _FILES:
        option.read(value)
    return f"{option.name}={value}"

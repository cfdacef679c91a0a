"""One option: what it is called, how its text is read, and which field of ``Settings`` it decides."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from attrs import evolve

from ingress.model.frozen import frozen
from ingress.settings import Settings

DEFAULTS = Settings()


@frozen(kw_only=True, eq=False)
class Option:
    """A row of the table.

    An option without *read* is a flag, which takes no value: it sets the field to *sets*.
    """

    name: str
    to: str
    """The field of ``Settings`` that it decides: ``serving.limits.head_seconds``."""
    help: str
    """One sentence or a few; the default is added by whoever shows it."""
    value: str = ""
    """What stands for the value in the help; empty for a flag."""
    read: Callable[[str], Any] | None = None
    """Returns the value of a text, or raises ``ValueError`` with a reason that makes sense behind the name."""
    sets: object = True
    repeatable: bool = False
    """Whether it may be given several times: the field is a tuple of all values, or of all
    that is in them where each is a tuple itself."""
    running: bool = False
    """Whether it may change while the process runs; what it decides is then published with the snapshot."""
    read_content: Callable[[str], Any] | None = None
    """Reads the content of the file that *read* reads the name of: whoever says what the options are while
    the process runs is not to choose which files it shows."""
    aliases: tuple[str, ...] = ()
    """Other spellings, which are not shown."""
    excludes: tuple[str, ...] = ()
    """Options that it cannot stand beside."""
    needs: str = ""
    """The option without which it means nothing."""
    refused: object = None
    """What its field becomes where the text of a second source is refused, lest a guard is missing, or a function that makes
    that of the text; None leaves the default."""
    at_start: bool = False
    """Whether a second source may decide it that has spoken before anybody is served, though it stays as it is then."""
    shows_default: bool = True
    """Whether the help shows its default; *help* says it otherwise."""

    @property
    def usual(self) -> Any:
        """What the field is by default."""
        return attrgetter(self.to)(DEFAULTS)

    @property
    def default(self) -> str:
        """The default as it would be written; empty where there is none to show."""
        if self.read is None or not self.shows_default:
            return ""
        default = self.usual
        if default is None:
            return ""
        if isinstance(default, tuple):
            return " ".join(map(str, default))
        return f"{default:g}" if isinstance(default, float) else str(default)

    def joined(self, values: Sequence[Any]) -> Any:
        """Return what the field becomes when *values*, one at least, were given in this order."""
        if not self.repeatable:
            return values[-1]
        return tuple(one for value in values for one in (value if isinstance(value, tuple) else (value,)))


def settings_with(settings: Settings, decided: Mapping[Option, Any]) -> Settings:
    """Return *settings* with the fields that these options decide.

    What is said of a whole beats what is said of its parts, as in ``--no-hsts --hsts-max-age=1``.
    """
    for option in sorted(decided, key=lambda one: -one.to.count(".")):
        settings = _with(settings, option.to.split("."), decided[option])
    return settings


def _with(whole: Any, path: list[str], value: Any) -> Any:
    if whole is None or not path:
        return value if not path else None
    field, *rest = path
    return evolve(whole, **{field: _with(getattr(whole, field), rest, value)})


def contradictions(given: Mapping[str, Option], granted: Collection[str] = ()) -> Iterator[str]:
    """Say which of the options *given*, by their names, cannot stand together.

    What is *granted* need not be among them where another option needs it.
    """
    for option in given.values():
        for other in option.excludes:
            if other in given:
                yield f"--{option.name} and --{other} exclude each other"
        if option.needs and option.needs not in given and option.needs not in granted:
            yield f"--{option.name} needs --{option.needs}"

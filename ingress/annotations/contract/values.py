"""What the value of an annotation may be: parse functions, and how a refusal shows the value.

A parse function takes the text of the annotation and returns what it means, or
raises ``ValueRefused`` with the rest of a sentence that begins with the value.  It
never raises anything else, and it bounds what it does by the length of the text.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Final, Generic, NamedTuple, TypeVar

from attrs import field

from ingress.annotations.contract.references import Found, Reference
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.filters import FilterSpec, Phase
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Reason
from ingress.model.cluster.secrets import is_secret_name
from ingress.model.frozen import frozen
from ingress.model.upstream.backends import BackendReference

S = TypeVar("S")

MAX_SHOWN_CHARACTERS: Final = 64
"""How much of a tenant's text a message repeats; enough to recognize it by."""

_USER_OF_URL: Final = re.compile(r"://[^/?#@\s]*@")
_PARAMETER: Final = re.compile(
    r"([?&](?:access_|api_?|client_)?(?:token|secret|password|key)=)[^&#\s]+", re.IGNORECASE
)
_MAY_HAVE_CREDENTIALS: Final = re.compile("authorization|cookie", re.IGNORECASE)
_CREDENTIALS: Final = re.compile(r"""(authorization["']?[\s:=]|cookie["']?[\s:=])[^;\r\n]+""", re.IGNORECASE)

_PLACEHOLDER: Final = re.compile(
    r"\{\{|\$\(|\$\{|\$[A-Z][A-Z0-9_]+|__[A-Z][A-Z0-9_]*__|@[A-Z][A-Z0-9_]+@|%[A-Z][A-Z0-9_]+%"
    r"|(?<![?\\])<[A-Za-z][A-Za-z0-9 ._-]*>"
)
_MOST_SEARCHED: Final = 4096

_is_namespace = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?").fullmatch
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE: Final = frozenset({"0", "f", "F", "FALSE", "false", "False"})


class ValueRefused(Exception):  # noqa: N818 - it is a verdict on a value, no failure
    """The value of an annotation cannot be honored; the message says what is accepted."""


class Risk(Enum):
    """What an untrusted author of Ingresses could do with an annotation, as ingress-nginx grades them."""

    LOW = "Low"
    MEDIUM = "Medium"
    HIGH = "High"
    CRITICAL = "Critical"


@frozen
class Remark:
    """What is to be told of the annotations of one Ingress as they stand together."""

    annotation: str
    """The name of the one that is told of."""
    message: str
    """What stands behind its name and a colon."""
    reason: Reason = Reason.ANNOTATION_NOTE
    closes: bool = False
    """Whether a guard is missing thereby, so that its routes answer 503."""
    closes_hosts: bool = False
    """Whether that guard is one of its hosts, so that it stands before the paths of others, too."""


@frozen
class Annotation:
    """One annotation of a family: the setting that it fills, and what it accepts."""

    setting: str
    """The attribute of the family's settings."""
    parse: Callable[[str], object]
    refused: object = None
    """What the setting is where the value is refused; None leaves the default in force."""
    instead: str = "the default is used"
    """What the problem says of that."""
    unhonored: str = ""
    """What becomes of an Ingress that asks for it, where it is noticed and not honored; else empty."""
    values: str = ""
    """For the page of annotations: what may stand there, and the default."""
    meaning: str = ""
    """For the page: what it does, in a sentence."""
    differs: str = ""
    """For the page: where that is not what ingress-nginx does; empty where it is the same."""
    risk: Risk = Risk.LOW
    operators: bool = False
    """Whether the operator may say it for all Ingresses, by an option and a key of the ConfigMap of the same name."""
    needs_value: bool = False
    """Whether a value without anything in it is read as any other; else it asks for nothing."""

    def read(self, text: str) -> object:
        """Return what *text* in an Ingress means; raises ``ValueRefused``.

        As in ingress-nginx, spaces around a text are nothing, and around a boolean they are a mistake.
        """
        return self.parse(text if self.parse is parse_boolean else text.strip(" \t"))


class Place(Enum):
    """For whom a filter stands where it does; within a phase the first come first."""

    EVERYTHING = "everything"
    HOST = "host"
    ROUTE = "route"
    BACKEND = "weighted backend"


class NamedBackend(NamedTuple):
    """A Service that filters ask, besides the one that a route leads to."""

    annotation: str
    """The name of the annotation that names it; empty where the operator does."""
    reference: BackendReference


@frozen(eq=False)
class Family(Generic[S]):
    """The annotations, by name without prefix, that fill one settings class together.

    *filters* makes filter specs of the settings, and of facts of the route; what it makes stands before each route of
    whoever asks.  A family that acts otherwise has none, and somebody in ``ingress.translate`` asks for its settings.
    """

    name: str
    settings: S
    """What holds where nobody asks for anything: the defaults of a frozen class."""
    annotations: Mapping[str, Annotation] = field(repr=False)
    acts: str
    """What it acts on, for the table of ``docs/annotations.md``."""
    phases: tuple[Phase, ...] = ()
    """Those in which its filters stand; empty where it has none."""
    place: Place = Place.ROUTE
    filters: Callable[[S, RouteFacts], tuple[FilterSpec, ...]] | None = None
    options: Mapping[str, Annotation] = field(factory=dict, repr=False)
    """What only the operator says, by the name of its option and of its key in the ConfigMap; fills the same settings.

    No Ingress can ask for it.  An annotation that has ``operators`` is an option besides, and needs no row here.
    """
    filters_unasked: bool = False
    """Whether *filters* is to be called where nobody asks for anything, too."""
    by_path: bool = False
    """Whether what *filters* makes goes by the path or the backend of the route, and not by host and owner alone."""
    by_path_where: Callable[[S], bool] | None = None
    """Of a family that is *by_path*, whether it is with these settings; None for always."""
    holds_unmatched: bool = False
    """Whether *filters* stand before requests that no route of a host matches, too, as the owner of the host asks."""
    backends: Callable[[S, RouteFacts], Iterable[NamedBackend]] | None = None
    """Names the Services that filters of the settings ask.  They are found as any backend is, and missed as any is."""
    remarks: Callable[[S, frozenset[str]], Iterable[Remark]] | None = None
    """Says what is to be told of settings, and of the names of those of its annotations that stand there."""
    answers: Callable[[S], bool] | None = None
    """Whether each request of a route with these settings is answered by its filters, so that nothing behind it is needed."""
    guards: Callable[[S], bool] | None = None
    """Whether settings keep anybody out, so that TLS which nobody reads here must not lead past them."""
    authenticates: bool = False
    """Whether its filters ask who a client is, which nobody does at the paths of ``no-auth-locations``; it is *by_path* then."""
    satisfies: bool | Callable[[FilterSpec], bool] = False
    """Whether what its filters of the phase ACCESS decide is joined with that of others by ``satisfy``; a function says which."""
    references: Callable[[S, ObjectKey], Iterable[Reference]] | None = None
    """Names the Secrets and ConfigMaps that settings of the object of that key need; *filters* gets their content.

    With ``filters_unasked`` it is asked for everybody, too; for what only the operator can have named, the key is ``NOWHERE``.
    """
    contents: Callable[[S, ObjectKey, Found], Iterable[Remark | None]] | None = None
    """Says what is to be told of that content, where all of it was found; None between two is the end of a step of much work.

    It may not close anything: *filters* do that, which see the same.
    """


def parse_locations(text: str) -> tuple[str, ...]:
    """Read beginnings of paths, with commas in between."""
    found = tuple(dict.fromkeys(one for member in text.split(",") if (one := member.strip())))
    for one in found:
        if not one.startswith("/") or one == "/":
            raise ValueRefused(f"has {quoted(one)}, which is no beginning of some paths, and not of others")
    return found


def parse_object_key(text: str) -> ObjectKey:
    """Read which Secret or ConfigMap is meant: ``namespace/name``, or a name alone, which leaves the namespace empty."""
    namespace, slash, name = text.strip().rpartition("/")
    if not is_secret_name(name) or (slash and not _is_namespace(namespace)):
        raise ValueRefused("is not of the form namespace/name")
    return ObjectKey(namespace, name)


def parse_object_key_or_nothing(text: str) -> ObjectKey | None:
    """Read the same; None for a text with nothing in it."""
    return parse_object_key(text) if text.strip() else None


def parse_boolean(text: str) -> bool:
    """Read a boolean as Go's ``strconv.ParseBool`` does, for that is how these annotations came to be."""
    if text in _TRUE:
        return True
    if text in _FALSE:
        return False
    raise ValueRefused('is not a boolean; write "true" or "false"')


def placeholder_hint(text: str) -> str:
    """Return what is to be said besides of *text*, which was refused, where it was to be filled in by another program."""
    found = _PLACEHOLDER.search(text[:_MOST_SEARCHED])
    if found is None:
        return ""
    if found[0] == "{{":
        return "; {{ begins a template, which must be rendered first, as with 'helm template'"
    if found[0] == "$(":
        return "; $( begins a variable of kustomize, which must be built first, as with 'kubectl kustomize'"
    if found[0].startswith("$"):
        return f"; {found[0]} {'begins' if found[0] == '${' else 'is'} a variable, which must be filled in first, as with 'envsubst'"
    return f"; {found[0][:MAX_SHOWN_CHARACTERS]} looks like a placeholder, which must be filled in first"


def parse_switch(text: str) -> bool:
    """Read a switch as nginx writes them."""
    if text not in ("on", "off"):
        raise ValueRefused('is not "on" or "off"')
    return text == "on"


def quoted(text: str) -> str:
    """Return *text* for a message: in quotes, ASCII only, control characters escaped, cut to a sane length.

    Whoever reads messages need not be told the user and the password of a URL, nor what proves who somebody is.
    """
    text = text[:_MOST_SEARCHED]
    if "://" in text or _MAY_HAVE_CREDENTIALS.search(text):
        text = _CREDENTIALS.sub(r"\1***", _PARAMETER.sub(r"\1***", _USER_OF_URL.sub("://***@", text)))
    shown = text[:MAX_SHOWN_CHARACTERS].replace("\\", "\\\\").replace('"', '\\"')
    shown = shown.encode("ascii", "backslashreplace").decode()
    shown = "".join(one if one.isprintable() else f"\\x{ord(one):02x}" for one in shown)
    return f'"{shown}"…' if len(text) > MAX_SHOWN_CHARACTERS else f'"{shown}"'

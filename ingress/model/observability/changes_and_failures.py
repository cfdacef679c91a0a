"""What happened: changes of what is served, and exchanges that failed.  Plain values, of bounded size.

They are kept in rings (``ingress.history.rings``), shown on the admin port, and travel from workers to their
parent.  A change with a line in the log is that line: it has a ``Mark`` for whoever keeps changes.  Whatever clients or tenants wrote has passed ``shown`` or ``shown_octets`` before it is in one: it is short,
and has no character that a terminal or a log would obey.  Markup is none of their business: who makes a
page escapes what it shows.
"""

import re
from datetime import datetime
from enum import StrEnum
from typing import Final, Self

from attrs import evolve

from ingress.model.frozen import frozen

MOST_CHARACTERS: Final = 512
"""Of one text of an entry of the history."""
MOST_HOSTS: Final = 8
"""How many hosts a change names for those who look for one."""
MOST_ATTEMPTS: Final = 8
"""How many attempts of one exchange are kept: the last ones."""

_CUT: Final = "…"
_match_unsafe = re.compile(r"[^\x20-\x7e]")


class ChangeSort(StrEnum):
    """What a change is about."""

    OBJECT = "object"
    """Objects came, went or changed, and what that did to routes; endpoints of Services."""
    CERTIFICATE = "certificate"
    EJECTION = "ejection"
    """An endpoint gets no requests for a while, or gets them again."""
    LEADERSHIP = "leadership"
    LISTENER = "listener"
    OPTION = "option"
    WORKER = "worker"
    TAKEOVER = "takeover"
    WATCH = "watch"
    """The word of the API server: silent, or heard again."""
    OVERLOAD = "overload"
    PROBLEM = "problem"
    """Something asks for what it does not get, or gets it now."""


@frozen
class Mark:
    """What a line of the log has as its field ``change`` if it tells of one; its text is that of the change."""

    sort: ChangeSort
    verb: str
    kind: str = ""
    object: str = ""
    hosts: tuple[str, ...] = ()
    is_trouble: bool = False
    state: str = ""
    """Names what lasts from this line until a later one; what several workers say of the same is one change.  Empty: nothing lasts."""
    is_over: bool = False
    """Whether that state ends here."""


@frozen
class Change:
    """Something that happened to what is served."""

    at: datetime
    """The time of day, with its zone."""
    sort: ChangeSort
    verb: str
    """What happened, in a word or two: ``came``, ``went``, ``changed``, ``renewed``, ``ejected``, ``returned`` ..."""
    text: str
    """All of it in a sentence for people, as the log has it."""
    kind: str = ""
    """The kind of the object that it happened to; empty where it is none."""
    object: str = ""
    """``NAMESPACE/NAME`` of that object; empty where there is none, or where several are counted."""
    is_trouble: bool = False
    """Whether somebody should look at it."""
    hosts: tuple[str, ...] = ()
    """Those whose requests it may concern, as far as they are known, at most ``MOST_HOSTS``."""
    number: int = 0
    """Its place among all changes, from 1; 0 as long as it is in no ring."""

    @property
    def namespace(self) -> str:
        """The namespace of the object; empty where it has none."""
        return self.object.rpartition("/")[0]

    def numbered(self, number: int) -> Self:
        """Return it with *number*."""
        return evolve(self, number=number)


@frozen
class FailedAttempt:
    """One attempt of an exchange that failed.  Times are seconds since the request's head was read."""

    endpoint: str
    """``ADDRESS:PORT``."""
    outcome: str
    """The status that came, in digits, or the fault in words."""
    began: float
    seconds: float
    """From then until it was over."""
    connected: float = -1.0
    """When the connection was had; -1 where none was."""
    is_reused: bool = False
    """Whether that connection had served others before."""


@frozen
class Failure:
    """An exchange that has a cause: ``ingress.model.exchanges.causes`` says which there are."""

    at: datetime
    """When it was over: the time of day, with its zone."""
    cause: str
    status: int
    """What the client was told, or would have been."""
    reason: str
    """Why, for people; empty where the endpoint itself answered so."""
    method: str
    host: str
    path: str
    """As received, without its query."""
    seconds: float
    """From the head of the request to the last byte of the answer."""
    ingress: str = ""
    """``NAMESPACE/NAME`` of the object whose route matched; empty without."""
    backend: str = ""
    """``NAMESPACE/SERVICE:PORT`` of the route; empty without."""
    filter: str = ""
    """The name of the filter that answered, or failed; empty where none did."""
    attempts: tuple[FailedAttempt, ...] = ()
    """The last ``MOST_ATTEMPTS`` of them, in order."""
    more_attempts: int = 0
    """How many there were before these."""
    protocol: str = ""
    """What downstream spoke, such as ``HTTP/2.0``."""
    trace: str = ""
    """The id of the trace, 32 hexadecimal digits; empty where there is none."""
    id: str | None = None
    """The request's; this and the next two are None unless the operator has them shown."""
    query: str | None = None
    client: str | None = None
    worker: int | None = None
    """The slot of the worker that had it; None where it is one process."""
    number: int = 0
    """Its place among all failures, from 1; 0 as long as it is in no ring."""

    @property
    def namespace(self) -> str:
        """The namespace of the object whose route matched; empty without."""
        return self.ingress.partition("/")[0]

    @property
    def likeness(self) -> tuple[str, str, str, int]:
        """What failures of one sort have in common: their route, as far as it is known, cause and status."""
        return self.ingress, self.backend, self.cause, self.status

    def numbered(self, number: int) -> Self:
        """Return it with *number*."""
        return evolve(self, number=number)


def shown(text: str, most: int = MOST_CHARACTERS) -> str:
    r"""Return *text* in at most *most* characters, what no terminal should get as ``\xHH`` or ``\uHHHH``."""
    text = text[: most + 1]
    if not (text.isascii() and text.isprintable()):
        text = "".join(one if one.isprintable() else _escaped(one) for one in text)
    return text if len(text) <= most else text[: most - 1] + _CUT


def shown_octets(octets: bytes, most: int = MOST_CHARACTERS) -> str:
    r"""Return what a client sent in at most *most* characters, all but printable ASCII as ``\xHH``."""
    text = octets[: most + 1].decode("latin-1")
    if not (text.isascii() and text.isprintable()):
        text = _match_unsafe.sub(lambda found: f"\\x{ord(found[0]):02X}", text)
    return text if len(text) <= most else text[: most - 1] + _CUT


def _escaped(character: str) -> str:
    number = ord(character)
    return f"\\x{number:02X}" if number < 0x100 else f"\\u{number:04X}"

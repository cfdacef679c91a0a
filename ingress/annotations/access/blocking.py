"""Who is answered 403 everywhere, by what the request says of itself: ``block-user-agents`` and ``block-referers``.

Only the operator says it, in ingress-nginx's ConfigMap or by options of these names.  A value is a list of texts that
a field must be, in any case of letters, and of regular expressions after ``~``, or ``~*`` for any case, as in nginx's ``map``; either
may stand in quotes, as it has to there where it has a blank, and ``""`` is a field that says nothing or is not there.  Backslashes
are read as in nginx's configuration, where two of them are one.
Whoever wants to get in says something else of himself: it keeps off crawlers, and no attacker.
"""

import re
from collections.abc import Sequence
from typing import ClassVar, Final

from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, ValueRefused, quoted
from ingress.filter_parts.judging import Judging, status_reply
from ingress.filters import Facts, Filter, FilterSpec, Phase, Reply, Services
from ingress.model.frozen import frozen
from ingress.model.text.expressions import ExpressionRefused, read_expression
from ingress.wording import number_of

MAX_ENTRIES: Final = 64
MAX_VALUE: Final = 2048
"""Bytes of a field that are looked at."""
_FORBIDDEN: Final = status_reply(
    403,
    reason="what the client says in User-Agent or Referer is blocked (--block-user-agents, --block-referers)",
)
_ESCAPE: Final = re.compile(r"""\\(["'\\trn])""")
_ESCAPED: Final = {"t": "\t", "r": "\r", "n": "\n"}
_EVERYTHING: Final = ("~",)
"""Stands for a list that cannot be read: everybody is blocked."""


@frozen
class BlockingSettings:
    """What the operator blocks."""

    user_agents: tuple[str, ...] = ()
    referers: tuple[str, ...] = ()


def parse_entries(text: str) -> tuple[str, ...]:
    """Read a list with commas between its entries; raises ``ValueRefused``."""
    entries = tuple(dict.fromkeys(_unquoted(entry) for each in text.split(",") if (entry := each.strip())))
    if len(entries) > MAX_ENTRIES:
        raise ValueRefused(f"has more than {MAX_ENTRIES} entries")
    for entry in entries:
        if entry.startswith("~"):
            try:
                read_expression(_expression(entry))
            except ExpressionRefused as refusal:
                raise ValueRefused(f"has {quoted(entry)}, which {refusal}") from None
    return entries


def _unquoted(entry: str) -> str:
    """Return what nginx's configuration reads in *entry*."""
    quote = entry[0]
    if quote in "\"'" and len(entry) > 1 and entry[-1] == quote:
        entry = entry[1:-1]
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), entry)


def _expression(entry: str) -> str:
    return f"(?i){entry[2:]}" if entry.startswith("~*") else entry[1:]


@frozen
class Blocking:
    """Answers 403 where a field is what is blocked."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "blocking"

    user_agents: tuple[str, ...] = ()
    referers: tuple[str, ...] = ()

    def describe(self) -> str:
        """Say how many are blocked."""
        agents = number_of(len(self.user_agents), "user agent")
        return f"answers 403 to {agents} and {number_of(len(self.referers), 'referer')} that are blocked"

    def make(self, services: Services) -> Filter:
        """Make the filter that judges."""
        fields = ((b"user-agent", _Entries(self.user_agents)), (b"referer", _Entries(self.referers)))
        asked = [(name, entries) for name, entries in fields if entries.are_some]

        def judge(facts: Facts) -> Reply | None:
            for name, entries in asked:
                if entries.have(facts.field(name)[:MAX_VALUE]):
                    return _FORBIDDEN
            return None

        return Judging(judge)


class _Entries:
    """A list, ready to be looked into."""

    def __init__(self, entries: Sequence[str]) -> None:
        self._texts = frozenset(one.lower().encode() for one in entries if not one.startswith("~"))
        self._expressions = tuple(read_expression(_expression(one)) for one in entries if one.startswith("~"))
        self.are_some = bool(entries)

    def have(self, value: bytes) -> bool:
        """Whether *value* is blocked."""
        return value.lower() in self._texts or any(one.is_in(value) for one in self._expressions)


def blocking_filters(settings: BlockingSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return the filter of all routes, where anything is blocked."""
    if settings == _NOTHING:
        return ()
    return (Blocking(settings.user_agents, settings.referers),)


_NOTHING: Final = BlockingSettings()
_VALUES: Final = (
    "texts, or expressions after `~` or `~*`, also in quotes, with commas between them; none by default"
)


def _row(setting: str, field: str) -> Annotation:
    return Annotation(
        setting,
        parse_entries,
        refused=_EVERYTHING,
        instead="everybody is blocked",
        values=_VALUES,
        meaning=f"answers 403 to requests whose {field} is one of them",
    )


BLOCKING: Final = Family(
    name="blocking",
    settings=BlockingSettings(),
    acts="blocks clients by what they say of themselves",
    annotations={},
    options={
        "block-user-agents": _row("user_agents", "User-Agent"),
        "block-referers": _row("referers", "Referer"),
    },
    phases=(Phase.ACCESS,),
    filters=blocking_filters,
)

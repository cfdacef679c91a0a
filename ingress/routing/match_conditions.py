"""What a request has to be for a route that takes only some of those of its path, and which of several routes takes it.

The routes of the Gateway API are such: their matches ask for a method, header fields and parameters of the query besides
the path.  Each match is a route by itself; those of one host have an order of precedence, and the first one that
takes a request has it.

What looking for it may cost is bounded, whatever tenants and visitors write: so many conditions, and so much work of
regular expressions (``ingress.model.text.lookup_budget``).

Source: ``HTTPRouteMatch``, ``GRPCRouteMatch`` of ``gateway.networking.k8s.io/v1``.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Final, Protocol, TypeVar
from urllib.parse import unquote_to_bytes

from ingress.model.frozen import frozen
from ingress.model.text.expressions import Expression
from ingress.model.text.lookup_budget import LookupCost, TurnBudget

MAX_CONDITIONS: Final = 8192
"""Conditions that are looked at for one request: some milliseconds."""
_LOOKED_AT: Final = 256
"""Conditions that are counted at once."""
MAX_COMPARED_BYTES: Final = 4096
"""What is longer is like no expression."""


class TooMuchToCompare(Exception):  # noqa: N818 - it is a verdict on a request, no failure
    """Finding the route of a request takes more than one may."""


class MatchFacts(Protocol):
    """What of a request is compared."""

    @property
    def method(self) -> bytes:
        """The method, as received."""

    @property
    def path(self) -> bytes:
        """The path, in normal form."""

    @property
    def target(self) -> bytes:
        """The target in origin form, as received, with its query."""

    def combined(self, name: bytes) -> bytes | None:
        """Return the values of all fields called *name*, in lower case, joined by comma; None when there is none."""


class Compared(Enum):
    """What of a request is compared."""

    METHOD = "method"
    PATH = "path"
    HEADER = "header"
    QUERY = "query parameter"


@frozen(weakref_slot=False)
class MatchCondition:
    """One thing that a request has to say: *value*, or what *pattern* describes from its beginning to its end.

    *name* is that of the field, in lower case, or of the parameter, as it is; a method or path has none.
    """

    what: Compared
    name: bytes = b""
    value: bytes = b""
    pattern: Expression | None = None

    def value_in(self, facts: MatchFacts) -> bytes | None:
        """Return what the request says; None for nothing."""
        match self.what:
            case Compared.METHOD:
                return facts.method
            case Compared.PATH:
                return facts.path
            case Compared.HEADER:
                return facts.combined(self.name)
            case Compared.QUERY:
                return parameters(facts.target).get(self.name)

    def holds(self, facts: MatchFacts) -> bool:
        """Whether the request says it."""
        return self.takes(self.value_in(facts))

    def takes(self, value: bytes | None) -> bool:
        """Whether *value*, None for nothing, is what it has to be."""
        if value is None or self.pattern is None:
            return value == self.value
        return len(value) <= MAX_COMPARED_BYTES and self.pattern.is_all_of(
            value.decode("utf-8", "surrogateescape")
        )

    def work(self, value: bytes | None) -> int:
        """Return what comparing *value* costs at most, in steps times bytes; 0 where no expression is run."""
        if self.pattern is None or value is None or len(value) > MAX_COMPARED_BYTES:
            return 0
        return self.pattern.size * (len(value) + 1)

    def __str__(self) -> str:
        """Return it in words, for pages."""
        what = self.what.value + (f" {self.name.decode('utf-8', 'backslashreplace')}" if self.name else "")
        if self.pattern is not None:
            return f"{what} is like {self.pattern.text}"
        return f"{what} is {self.value.decode('utf-8', 'backslashreplace')}"


class Conditional(Protocol):
    """What takes only requests that meet conditions."""

    @property
    def conditions(self) -> tuple[MatchCondition, ...]:
        """All of them have to hold."""


T = TypeVar("T", bound=Conditional)


def first_met(routes: Iterable[T], facts: MatchFacts, budget: TurnBudget | None = None) -> T | None:
    """Return the first of *routes* all of whose conditions *facts* meet; raises ``TooMuchToCompare`` and ``LookupDeferred``."""
    known: dict[tuple[Compared, bytes], bytes | None] = {}
    query: dict[bytes, bytes] | None = None
    left, cost = MAX_CONDITIONS, LookupCost(budget)
    for route in routes:
        for condition in route.conditions:
            left -= 1
            key = condition.what, condition.name
            if key in known:
                value = known[key]
            elif condition.what is Compared.QUERY:
                # Once for all names: each of thousands of conditions may ask for another one.
                query = parameters(facts.target) if query is None else query
                value = known[key] = query.get(condition.name)
            else:
                value = known[key] = condition.value_in(facts)
            if left < 0:
                raise TooMuchToCompare
            if not left % _LOOKED_AT:
                cost.look(_LOOKED_AT)
            if condition.pattern is not None and value is not None:
                cost.make(condition.pattern)
                if not cost.may_run(condition.work(value)):
                    raise TooMuchToCompare
            if not condition.takes(value):
                break
        else:
            return route
    return None


def parameters(target: bytes) -> dict[bytes, bytes]:
    """Return the first parameter of each name of the query of *target*, names and values without escapes."""
    found: dict[bytes, bytes] = {}
    for pair in target.partition(b"?")[2].split(b"&"):
        called, _, value = pair.partition(b"=")
        name = _plain(called)
        if name not in found:
            found[name] = _plain(value)
    return found


def _plain(text: bytes) -> bytes:
    """Return *text* of a query as it is meant (``application/x-www-form-urlencoded``)."""
    if b"%" not in text and b"+" not in text:
        return text
    return unquote_to_bytes(text.replace(b"+", b" "))

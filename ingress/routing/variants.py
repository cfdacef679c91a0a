"""Variants of a route: requests of one host and path that lead elsewhere than the others, by what else they say.

A canary, the matches of an HTTPRoute, and a split of traffic are the same thing: conditions on what a request says,
and weights over backends.  Nearly all routes have neither.
"""

from enum import Enum
from typing import Final, NamedTuple, Protocol

from attrs import field, validators

from ingress.filters import FilterSpec
from ingress.model.frozen import frozen
from ingress.model.text.expressions import Expression
from ingress.model.text.named_values import cookie_variable, query_value
from ingress.model.upstream.backends import BackendReference

_MOST_COMPARED_BYTES: Final = 1024
"""What is longer is like no pattern."""


class ChoiceFacts(Protocol):
    """What of a request decides where it leads, beside host and path."""

    @property
    def scheme(self) -> bytes:
        """``http`` or ``https``: how the client sent it."""

    @property
    def method(self) -> bytes:
        """The method, as received."""

    @property
    def target(self) -> bytes:
        """The target in origin form, as received, with its query."""

    def field(self, name: bytes) -> bytes:
        """Return the value of the field called *name*, in lower case; of several, that of all as one; empty when there is none."""


class Said(Enum):
    """What of a request a condition looks at."""

    METHOD = "method"
    HEADER = "header"
    COOKIE = "cookie"
    QUERY = "query"


@frozen
class RequestCondition:
    """One thing that a request has to say, or must not say.

    *name* is that of the field (in lower case), the cookie or the parameter; a method has none.  *values* are those that it
    may have; none at all means any but the empty one, which is what is absent has, too.
    """

    said: Said
    name: bytes = b""
    values: frozenset[bytes] = frozenset()
    is_negated: bool = False
    pattern: Expression | None = None
    """What all of the value has to be like, in place of *values*."""

    def holds(self, facts: ChoiceFacts) -> bool:
        """Whether the request meets it."""
        value = self._value(facts)
        if self.pattern is not None:
            return self._is_like(value, self.pattern) is not self.is_negated
        return (value in self.values if self.values else bool(value)) is not self.is_negated

    def _is_like(self, value: bytes, pattern: Expression) -> bool:
        if not value or len(value) > _MOST_COMPARED_BYTES:
            return False
        return pattern.is_all_of(value.decode("utf-8", "surrogateescape"))

    def _value(self, facts: ChoiceFacts) -> bytes:
        match self.said:
            case Said.METHOD:
                return facts.method
            case Said.HEADER:
                return facts.field(self.name)
            case Said.COOKIE:
                return cookie_variable(facts.field(b"cookie"), self.name)
            case Said.QUERY:
                return query_value(facts.target, self.name)

    def __str__(self) -> str:
        """Return it in words, for pages."""
        what = self.said.value + (f" {self.name.decode('latin-1')}" if self.name else "")
        if self.pattern is not None:
            return f"{what} is {'not ' if self.is_negated else ''}like {self.pattern.text}"
        values = " or ".join(sorted(one.decode("latin-1") for one in self.values))
        verb = "is not" if self.is_negated else "is"
        return f"{what} {verb} {values or 'there'}"


@frozen
class WeightedBackend:
    """One of several backends, its share of the requests, and the filters of those alone that it gets."""

    backend: BackendReference
    weight: int = field(default=1, validator=validators.ge(1))
    """Of the sum of all weights; what shall get no requests is left out."""
    filters: tuple[FilterSpec, ...] = ()
    """Its own, in order; they stand behind all others of their phase."""
    secure_backend: BackendReference | None = None
    """What requests that came over TLS get in place of *backend*, where that is something else."""
    stand_in: "WeightedBackend | None" = None
    """What its requests get while it has no endpoint; None where that makes no difference."""


@frozen
class Variant:
    """Requests that meet all *conditions*, and where they lead in place of the route's own backend."""

    conditions: tuple[RequestCondition, ...]
    weighted: tuple[WeightedBackend, ...] = field(validator=validators.min_len(1))
    filters: tuple[FilterSpec, ...] = ()
    """All of them, in order, in place of the route's: those of the host, of the route as far as they hold, and its own."""


class Choice(NamedTuple):
    """Where one request leads."""

    backend: BackendReference
    filters: tuple[FilterSpec, ...]
    """Those of the route, or of the variant that was taken."""
    backend_filters: tuple[FilterSpec, ...] = ()
    """Those of the weighted backend."""
    stand_in: WeightedBackend | None = None
    """What gets the request while that backend has no endpoint."""


def backends_of(weighted: tuple[WeightedBackend, ...]) -> tuple[BackendReference, ...]:
    """Return all backends that *weighted* may lead to."""
    found = (one for entry in weighted for one in (entry.backend, entry.secure_backend))
    return tuple(one for one in found if one is not None)


def drawn(weighted: tuple[WeightedBackend, ...], chance: float) -> WeightedBackend:
    """Return the entry whose share *chance* is in, of all shares laid end to end."""
    left = int(chance * sum(entry.weight for entry in weighted))
    for entry in weighted[:-1]:
        if left < entry.weight:
            return entry
        left -= entry.weight
    return weighted[-1]

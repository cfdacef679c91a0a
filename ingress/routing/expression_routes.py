"""The routes of one host that are regular expressions, and those that are closed in the place of one.

ingress-nginx asks expressions by the length of their text, the longest first.  That is done here within one *realm*: a
namespace, or all of them, or one Ingress.  Between realms, the literal beginning of an expression counts as a path
would (``ingress.routing.beginnings``): the longer one wins; where they are equal, the older; and an exact path of
another realm yields to nothing.

An expression is run only for paths that begin as it does.  So a lookup costs a look for each length that a beginning of the
host has, which are few and bounded, and a search for each expression that the path begins like.  What these may
cost together is bounded, too: ``PathTooLong``.  And so is what all lookups of one turn cost: ``LookupDeferred`` (``ingress.model.text.lookup_budget``).
"""

import sys
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from ingress.model.text.lookup_budget import LookupCost, TurnBudget
from ingress.model.text.path_expressions import PathExpression
from ingress.routing.asking_order import asking_order
from ingress.routing.beginnings import EVERYBODY
from ingress.routing.paths import rule_path
from ingress.routing.route import Match, Route

_AT_ONCE: Final = 200
"""Expressions that are put in order in one step."""
_Place = tuple[int, bool]
"""The number of a candidate, and whether its beginning counts within its realm alone."""
_Standing = tuple[int, int]
"""How a candidate stands among others: the length of what the path begins like, and then its age."""
_NOWHERE: Final = (-1, 0)
_NOTHING: Final = (-1, 0)


class PathTooLong(Exception):  # noqa: N818 - it is a verdict on a request, no failure
    """To compare so long a path with all expressions that it begins like, or with so many, would take too long."""


class _Candidate(NamedTuple):
    """An expression and its route."""

    expression: PathExpression | None
    """None where all that begins so is closed."""
    route: Route
    order: int


class ExpressionRoutes:
    """Finds which of its expressions takes a path."""

    __slots__ = ("_realms",)

    def __init__(self) -> None:
        self._realms: list[_Realm] = []

    def put_in_order(self, routes: Iterable[Route]) -> Iterator[None]:
        """Take *routes* in steps, all at once and as the only ones; those that are compared by their text alone are left out."""
        by_realm: dict[str, list[Route]] = {}
        for number, route in enumerate(routes, 1):
            if route.beginnings is not None:
                by_realm.setdefault(route.beginnings.realm, []).append(route)
            if not number % _AT_ONCE:
                yield
        for name, some in by_realm.items():
            realm = _Realm(name)
            yield from realm.put_in_order(some)
            self._realms.append(realm)
        self._realms.sort(key=_oldest)

    def before(self, found: Route | None, path: bytes, budget: TurnBudget | None = None) -> Route | None:
        """Return the route that *path* goes to rather than to *found*, its route otherwise; None for none.

        Raises ``PathTooLong`` and ``LookupDeferred``.
        """
        lowered, cost = path.lower(), LookupCost(budget)
        best: _Candidate | None = None
        standing = _NOWHERE
        for realm in self._realms:
            better = realm.find(found, path, lowered, standing, cost)
            if better is not None:
                standing, best = better
        if best is None:
            return None
        expression = best.expression
        if (
            expression is not None
            and expression.capturing
            and not cost.may_capture(expression.capturing * len(path))
        ):
            raise PathTooLong
        return best.route


class _Realm:
    """The expressions of one realm."""

    __slots__ = ("_candidates", "_lengths", "_name", "_prefixes", "_whole", "oldest")

    def __init__(self, name: str) -> None:
        self._name = name
        self._candidates: list[_Candidate] = []
        self._prefixes: dict[bytes, list[_Place]] = {}
        self._whole: dict[bytes, list[_Place]] = {}
        self._lengths: list[int] = []
        self.oldest = 0

    def put_in_order(self, routes: list[Route]) -> Iterator[None]:
        """Take its *routes*, in steps."""
        asked = yield from asking_order(routes)
        self.oldest = min(one.order for one in asked)
        for number, one in enumerate(asked):
            if not number % _AT_ONCE:
                yield
            route = routes[one.number]
            self._candidates.append(_Candidate(one.expression, route, one.order))
            beginnings = route.beginnings
            assert beginnings is not None
            for texts, places, is_own in (
                (beginnings.prefixes, self._prefixes, False),
                (beginnings.whole, self._whole, False),
                (beginnings.own_prefixes, self._prefixes, True),
                (beginnings.own_whole, self._whole, True),
            ):
                for text in texts:
                    places.setdefault(text, []).append((number, is_own))
        self._lengths = sorted({len(text) for text in self._prefixes}, reverse=True)

    def find(
        self, found: Route | None, path: bytes, lowered: bytes, standing: _Standing, cost: LookupCost
    ) -> tuple[_Standing, _Candidate] | None:
        """Return the first candidate that takes *path*, if any that does comes before *found* and stands better than *standing*.

        Which of its routes has the path is a matter of the realm, once one of them has won it from others.
        """
        # By number: how much of the path it begins like, and whether that counts within the realm alone.
        begun: dict[int, tuple[int, bool]] = {}
        whole = self._whole.get(lowered, ())
        cost.look(len(whole))
        for number, is_own in whole:
            begun.setdefault(number, (len(lowered.rstrip(b"/")), is_own))
        for count in self._lengths:
            if count <= len(lowered):
                places = self._prefixes.get(lowered[:count])
                if places is not None:
                    cost.look(len(places))
                    length = len(lowered[:count].rstrip(b"/"))
                    for number, is_own in places:
                        begun.setdefault(number, (length, is_own))
        longer, text_length = self._least(found)
        better = {
            number
            for number, (length, is_own) in begun.items()
            if 2 * length + (not is_own) > longer
            and (length, -self._candidates[number].order) > standing
            and len(self._candidates[number].route.path) >= text_length
        }
        if not better:
            return None
        last = max(better)
        first: _Candidate | None = None
        for number in sorted(begun):
            if number > last:
                break
            candidate = self._candidates[number]
            expression = candidate.expression
            if first is not None and number not in better:
                continue
            if expression is not None:
                if expression.size:
                    if not cost.may_run(expression.size * len(path)):
                        raise PathTooLong
                    cost.make(expression)
                if not expression.takes(path):
                    continue
            first = first or candidate
            if number in better:
                return (begun[number][0], -candidate.order), first
        return None

    def _least(self, found: Route | None) -> tuple[int, int]:
        """Return what comes before *found*: twice the length that a beginning has to exceed, and the least length of a text."""
        if found is None or found.owner is None:
            return _NOTHING
        if found.match is Match.EXACT:
            # Where that is of the realm itself, all that stands in its rules is an expression, and this is what ``app-root`` has added.
            return sys.maxsize, 0
        if self._name in (EVERYBODY, found.owner.key.namespace):
            return -1, len(found.path)
        return 2 * len(rule_path(found.path).rstrip(b"/")), 0


def _oldest(realm: _Realm) -> int:
    return realm.oldest

"""Variants of a route as matches of fields: which requests a canary gets by what they say.

A request that matches several rules of one path goes to the one with more fields, and of these to the first.  So what
looks at one field comes in the order of the variants, but for those that say "unless another field decides": the rules of
that field come before theirs.

Source: ``HTTPRouteMatch``.
"""

import re

from ingress.ctl.gateway.rendering_values import Json
from ingress.routing.variants import RequestCondition, Said, Variant


def in_order(variants: tuple[Variant, ...]) -> list[Variant]:
    """Return *variants* in the order of their rules."""
    return sorted(variants, key=has_negated)


def has_negated(variant: Variant) -> bool:
    """Whether *variant* is for requests that do not say something."""
    return any(condition.is_negated for condition in variant.conditions)


def decided_before(variants: tuple[Variant, ...]) -> list[RequestCondition]:
    """Return what keeps a request from a variant, and has no variant of its own: it leads to the route's own backends."""
    own = {one.conditions for one in variants if len(one.conditions) == 1}
    negated = [condition for one in variants for condition in one.conditions if condition.is_negated]
    found: dict[RequestCondition, None] = {}
    for condition in negated:
        for value in sorted(condition.values):
            positive = RequestCondition(condition.said, condition.name, frozenset({value}))
            if (positive,) not in own:
                found[positive] = None
    return list(found)


def said_conditions(conditions: tuple[RequestCondition, ...]) -> list[Json] | None:
    """Return the matches, each of which suffices; None where they cannot be said."""
    found: list[Json] = [{}]
    for condition in conditions:
        if condition.is_negated:
            # What it is about has rules of its own, which come first.
            continue
        entries = _entries(condition)
        if entries is None:
            return None
        kind, some = entries
        found = [{**match, kind: [*match.get(kind, ()), entry]} for match in found for entry in some]
    return found if found != [{}] else None


def _entries(condition: RequestCondition) -> tuple[str, list[Json]] | None:
    name = condition.name.decode("latin-1")
    values = [one.decode("latin-1") for one in sorted(condition.values)]
    pattern = None if condition.pattern is None else condition.pattern.text
    match condition.said:
        case Said.HEADER | Said.QUERY:
            kind = "headers" if condition.said is Said.HEADER else "queryParams"
            if pattern is not None or not values:
                return kind, [{"type": "RegularExpression", "name": name, "value": pattern or ".+"}]
            return kind, [{"name": name, "value": value} for value in values]
        case Said.COOKIE:
            value = pattern or "|".join(map(re.escape, values)) or "[^;]+"
            return "headers", [
                {
                    "type": "RegularExpression",
                    "name": "Cookie",
                    "value": rf"(?:.*;\s*)?{re.escape(name)}=(?:{value})(?:;.*)?",
                }
            ]
        case Said.METHOD:
            return None

"""Where two values of a normal form are different, part by part."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from ingress.ctl.served.normal_form import Data
from ingress.ctl.served.sealing import SEALED, without_seals

WHERE: Final = "where"
"""Between the name of a field and the conditions of one of its variants, in the paths of what is different."""
Owners = tuple[str | None, str | None]
"""Who a route is of, on either side."""
_NOT_COMPARED: Final = frozenset({"does", "phase"})


def walk(old: Any, new: Any, at: str, owners: Owners = (None, None)) -> Iterator[tuple[str, Any, Any]]:
    """Yield the parts in which *old* and *new* are different, each by its path below *at*.

    What says on both sides who the owner of the route is, is no difference.
    """
    if old == new or (isinstance(old, str) and (old, new) == owners):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        dot = f"{at}." if at else ""
        for name in sorted({*old, *new}):
            if name == SEALED:
                if old.get(name) != new.get(name):
                    yield f"{dot}{SEALED}", None, None
            elif name not in _NOT_COMPARED or not (old.get("settings") or new.get("settings")):
                yield from walk(
                    old.get(name), new.get(name), f"{dot}{name}" if name != "settings" else at, owners
                )
    elif isinstance(old, list) and isinstance(new, list):
        yield from _walk_lists(old, new, at, owners)
    else:
        yield at, old, new


def _walk_lists(old: list[Any], new: list[Any], at: str, owners: Owners) -> Iterator[tuple[str, Any, Any]]:
    before, after = _named(old, "filter"), _named(new, "filter")
    if before is not None and after is not None:
        for name in sorted({*before, *after}):
            yield from walk(before.get(name), after.get(name), f"{at}.{name}", owners)
        yield from _order(before, after, at)
        return
    before, after = _by_conditions(old), _by_conditions(new)
    if before is not None and after is not None:
        for name in dict.fromkeys((*before, *after)):
            yield from walk(before.get(name), after.get(name), f"{at} {WHERE} {name}", owners)
        yield from _order(before, after, at)
        return
    before, after = _named(old, "backend"), _named(new, "backend")
    if before is not None and after is not None and _shares(old) == _shares(new):
        for name in before:
            yield from walk(before[name], after[name], f"{at}.{name}", owners)
        return
    if (
        before is None
        and after is None
        and len(old) == len(new)
        and all(isinstance(one, dict) for one in (*old, *new))
    ):
        for number, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from walk(one, other, f"{at}.{number}", owners)
        return
    if [without_seals(one) for one in old] == [without_seals(one) for one in new]:
        yield f"{at}.{SEALED}", None, None
        return
    yield at, old, new


def _order(before: Data, after: Data, at: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the order of what both have, where it is another."""
    was, now = ([name for name in one if name in other] for one, other in ((before, after), (after, before)))
    if was != now:
        yield f"{at}.order", was, now


def _by_conditions(some: list[Any]) -> dict[str, Any] | None:
    """Return variants by what is said of the requests that they take; None where that are none, or two are for the same."""
    found: dict[str, Any] = {}
    for one in some:
        if not isinstance(one, dict) or "conditions" not in one:
            return None
        found[" and ".join(one["conditions"])] = one
    return found if len(found) == len(some) else None


def _named(some: list[Any], by: str) -> dict[str, Any] | None:
    """Return the parts of a list by their names, a second one of a name with its number; None where they have none."""
    found: dict[str, Any] = {}
    for one in some:
        if not isinstance(one, dict) or by not in one:
            return None
        name, number = one[by], 1
        while name in found:
            number += 1
            name = f"{one[by]}#{number}"
        found[name] = one
    return found


def _shares(some: Iterable[Data]) -> list[tuple[str, int]]:
    return [(one["backend"], one["weight"]) for one in some]

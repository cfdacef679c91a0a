"""How many routes each listener has: ``attachedRoutes`` of its status."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Owner
from ingress.model.cluster.state import ClusterState
from ingress.model.shared_map import SharedMap
from ingress.translate.caches.bookkeeping import Draft
from ingress.translate.claims import ParsedObject
from ingress.translate.gateway.claims import NOTHING_CLAIMED, ListenerKey, key_of
from ingress.translate.gateway.gateways_of_services import GatewaysOfServices
from ingress.translate.readers.gateway.statuses.route_acceptance import is_all_dropped, is_dropped

Rejected = frozenset[tuple[Owner, ListenerKey]]
NONE_REJECTED: Final[Rejected] = frozenset()
AT_ONCE: Final = 1000
"""Counts that are changed in one step."""


def is_refused(parsed: ParsedObject) -> bool:
    """Whether a route is accepted by none of its parents, since nothing of it can be done: it is not counted, and takes no host."""
    if not parsed.problems:
        return False
    dropped = [problem for problem in parsed.problems if is_dropped(problem)]
    return bool(dropped) and is_all_dropped(dropped, getattr(parsed.source, "rules", ()))


def count_attached(
    all_parsed: Iterable[ParsedObject], rejected: Iterable[tuple[Owner, ListenerKey]]
) -> dict[ListenerKey, int]:
    """Return how many of *all_parsed* each listener has, but for those *rejected*; listeners without any are left out."""
    counts = Counter(
        key_of(taken.listener)
        for parsed in all_parsed
        if not is_refused(parsed)
        for _, taken in parsed.gateway.attached()
    )
    counts.subtract(key for _, key in rejected)
    return {key: count for key, count in counts.items() if count}


def _listeners_of(parsed: ParsedObject | None) -> tuple[ListenerKey, ...]:
    """Return the listeners that count *parsed*."""
    if parsed is None or parsed.gateway is NOTHING_CLAIMED or is_refused(parsed):
        return ()
    return tuple([key_of(taken.listener) for _, taken in parsed.gateway.attached()])


class AttachedCounts:
    """Keeps these counts up to date, object by object, and which Gateways lead to which Services."""

    def __init__(self) -> None:
        self._draft: Draft[ListenerKey, int, SharedMap[ListenerKey, int]] = Draft(SharedMap())
        self._rejected: dict[str, Rejected] = {}
        self._of_services = GatewaysOfServices()
        self._news: dict[ObjectId, None] = {}

    def object_changed(
        self, before: ParsedObject | None, after: ParsedObject | None, state: ClusterState
    ) -> Iterator[None]:
        """Note, in steps, that a route is attached as *after* says, in place of *before*."""
        for parsed in (before, after):
            if parsed is not None:
                self._news[parsed.owner.id] = None
        had, has = _listeners_of(before), _listeners_of(after)
        if had != has:
            changes = (*((key, -1) for key in had), *((key, 1) for key in has))
            for number, (key, difference) in enumerate(changes, 1):
                self._add(key, difference)
                if not number % AT_ONCE:
                    yield
        for services in self._of_services.replace(before, after, state):
            self._news.update(dict.fromkeys((Kind.SERVICE, service) for service in services))
            yield

    def gateways_of(self, service: ObjectKey) -> Collection[Owner]:
        """Return the Gateways from which routes lead to *service*, oldest first."""
        return self._of_services.get(service)

    def rejected(self, table: str, rejected: Rejected) -> Iterator[None]:
        """Note step by step which routes listeners of *table* do not take after all."""
        before = self._rejected.pop(table, NONE_REJECTED)
        if rejected:
            self._rejected[table] = rejected
        if rejected is before:
            return
        for number, (one, difference) in enumerate(
            (*((one, 1) for one in before - rejected), *((one, -1) for one in rejected - before)), 1
        ):
            self._add(one[1], difference)
            if not number % AT_ONCE:
                yield

    def news(self) -> Collection[ObjectId]:
        """Return the objects that were read anew since this was last asked, those of listeners with other routes, and
        Services with routes of other Gateways.
        """
        news, self._news = self._news, {}
        return news

    def _add(self, key: ListenerKey, difference: int) -> None:
        self._news[key[0].id] = None
        self._draft.put(key, (self._draft.get(key) or 0) + difference or None)

    def finished(self) -> Mapping[ListenerKey, int]:
        """Return the counts; the same object as long as they are."""
        return self._draft.finished()

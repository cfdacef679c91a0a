"""Chains: the live filters of routes, made once for equal specs and kept while a snapshot has these.

A chain is what a route's specs become: for each hook the filters that have it, in the order in which they are asked.  Chains
are made when the first request needs them.  A filter lives as long as the snapshots, one after the other, hold a
spec that is equal to its own, in whatever tuple of specs: so what it knows survives a new snapshot.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from attrs import frozen
from twisted.logger import Logger

from ingress.filters import (
    AnswerEdit,
    AnswerHead,
    BodyFlow,
    BodyStage,
    ChangesBy,
    Facts,
    FieldChanges,
    Filter,
    FilterSpec,
    Hook,
    RequestEdit,
    Services,
    used_hooks,
)
from ingress.http.edited_heads import answer_changes
from ingress.model.records import Record
from ingress.model.reply import Reply
from ingress.proxy.exchange.settled_answers import changes_for, settled_answers
from ingress.routing.table import RouteTable

log = Logger()

Specs = tuple[FilterSpec, ...]

OnRequest = Callable[[Facts], Reply | Awaitable[Reply | None] | None]
OnUpstream = Callable[[Facts, RequestEdit], None]
OnAnswer = Callable[[Facts, AnswerEdit], Reply | Awaitable[Reply | None] | None]
OnRequestBody = Callable[[Facts, BodyFlow], BodyStage | None]
OnAnswerBody = Callable[[Facts, AnswerHead, BodyFlow], BodyStage | None]
OnEnd = Callable[[Facts, Record], None]


@frozen(eq=False)
class LiveFilter:
    """A filter that lives, and what it is called."""

    name: str
    filter: Filter
    hooks: frozenset[Hook]
    methods: frozenset[bytes] | None = None
    """Those of the requests that it is asked about; None for all."""
    on_answer: OnAnswer | None = None
    """What is called for each answer, if anything is, ..."""
    changes: FieldChanges | ChangesBy | None = None
    """... and what says all of it beforehand, if anything does."""


def live_filter(name: str, made: Filter) -> LiveFilter:
    """Return the filter that was *made*; raises ``ValueError`` if it asks for changes that may not be."""
    hooks, asked = used_hooks(made), made.answer_changes
    if asked is None:
        on_answer = made.on_answer if Hook.ANSWER in hooks else None
        return LiveFilter(name, made, hooks, made.asked_methods, on_answer)
    known = asked
    if isinstance(known, FieldChanges):
        answer_changes(known)
    field = known.field if isinstance(known, ChangesBy) else b""

    def change(facts: Facts, edit: AnswerEdit) -> None:
        changes = changes_for(known, facts.field(field) if field else b"", facts.is_secure)
        if changes is not None:
            edit.change(changes)

    return LiveFilter(name, made, hooks, made.asked_methods, change, known)


class FilterNotMade(Exception):  # noqa: N818 - it is raised in place of a filter
    """A spec could not make its filter; the cause says why."""


class _NoFilter(Filter):
    """Stands where a filter is missing that could not be made: nothing may pass as if there had been none."""

    def __init__(self, name: str, error: Exception) -> None:
        self._name = name
        self._error = error

    def on_request(self, facts: Facts) -> Reply | Awaitable[Reply | None] | None:
        raise FilterNotMade(f"filter {self._name} could not be made") from self._error


class Chain:
    """The filters of a request, for each hook those that have it.

    Those that look at requests are in order from the outermost to the innermost, those that look at answers the other way
    around.
    """

    def __init__(self, filters: tuple[LiveFilter, ...]) -> None:
        inwards, outwards = filters, filters[::-1]
        self.requests: tuple[tuple[LiveFilter, OnRequest], ...] = tuple(
            (live, live.filter.on_request)
            for live in inwards
            if Hook.REQUEST in live.hooks or live.filter.holds_body
        )
        self.holds_bodies = any(live.filter.holds_body for live, _ in self.requests)
        """Whether any of those wants to have the body before it is asked."""
        self.upstreams: tuple[tuple[LiveFilter, OnUpstream], ...] = _having(Hook.UPSTREAM, inwards)
        self.methods = _asked_methods(self.requests)
        """Those of the requests that somebody is asked about; None for all."""
        self.answers: tuple[tuple[LiveFilter, OnAnswer], ...] = tuple(
            (live, live.on_answer) for live in outwards if live.on_answer is not None
        )
        self.request_bodies: tuple[tuple[LiveFilter, OnRequestBody], ...] = _having(
            Hook.REQUEST_BODY, inwards
        )
        self.answer_bodies: tuple[tuple[LiveFilter, OnAnswerBody], ...] = _having(Hook.ANSWER_BODY, outwards)
        self.ends: tuple[tuple[LiveFilter, OnEnd], ...] = _having(Hook.END, outwards)
        self.sees_answers = bool(self.answers or self.answer_bodies)
        self.settled = (
            None if self.answer_bodies else settled_answers([one.changes for one, _ in self.answers])
        )
        """What becomes of the head of each answer, if that is settled before one comes; None where it is for filters to say."""


def _asked_methods(requests: tuple[tuple[LiveFilter, OnRequest], ...]) -> frozenset[bytes] | None:
    methods: frozenset[bytes] = frozenset()
    for live, _ in requests:
        if live.methods is None:
            return None
        methods |= live.methods
    return methods


def _having(hook: Hook, filters: tuple[LiveFilter, ...]) -> tuple[tuple[LiveFilter, Any], ...]:
    return tuple((live, getattr(live.filter, hook.value)) for live in filters if hook in live.hooks)


class Chains:
    """All chains of a process; *everything* are the specs of the operator, which stand before each request."""

    def __init__(self, services: Callable[[str], Services], everything: Specs = ()) -> None:
        """*services* returns what the filters of a name may ask for."""
        self.everything = everything
        self._services = services
        self._live: dict[FilterSpec, LiveFilter] = {}
        self._chains: dict[int, tuple[Specs, dict[int, tuple[Specs, Chain]]]] = {}
        """By the identity of the route's specs, and then of the backend's.  The tuples stand beside them, so that no others get
        their identities: to hash what is in a tuple costs more than all else of a request."""
        self._uses: dict[Specs, int] = {}
        """How often the current table has each tuple of specs."""
        self._spec_uses: dict[FilterSpec, int] = dict.fromkeys(everything, 1)

    def chain(self, specs: Specs, backend_specs: Specs = ()) -> Chain:
        """Return the chain of a request whose route has *specs*, and whose backend has *backend_specs*."""
        of_route = self._chains.get(id(specs))
        if of_route is None:
            of_route = self._chains[id(specs)] = specs, {}
        known = of_route[1].get(id(backend_specs))
        if known is None:
            ordered = sorted((*self.everything, *specs, *backend_specs), key=lambda spec: spec.phase)
            known = of_route[1][id(backend_specs)] = backend_specs, Chain(tuple(map(self._find, ordered)))
        return known[1]

    def _find(self, spec: FilterSpec) -> LiveFilter:
        live = self._live.get(spec)
        if live is None:
            live = self._make(spec)
            if spec in self._spec_uses:
                self._live[spec] = live
        return live

    def _make(self, spec: FilterSpec) -> LiveFilter:
        name = spec.name
        try:
            return live_filter(name, spec.make(self._services(name)))
        except Exception as error:
            log.failure("Filter {filter} could not be made, and its requests get 500", filter=name)
            return live_filter(name, _NoFilter(name, error))

    def replace(self, before: RouteTable, now: RouteTable) -> None:
        """Forget what *before* has and *now* has not; costs what is different in them."""
        gone: list[Specs] = []
        is_first = not before.hosts
        for host, routes in now.changes_since(before):
            if routes is not None:
                for specs in routes.chains:
                    self._count(specs)
            if not is_first and (known := before.get(host)) is not None:
                gone += known.chains
        # What moved from one host to another was never gone.
        for specs in gone:
            self._count_less(specs)
            self._chains.pop(id(specs), None)
        if gone:
            # Of routes without filters, whose backends have some.
            self._chains.pop(id(()), None)

    def _count(self, specs: Specs) -> None:
        count = self._uses[specs] = self._uses.get(specs, 0) + 1
        if count == 1:
            for spec in specs:
                self._spec_uses[spec] = self._spec_uses.get(spec, 0) + 1

    def _count_less(self, specs: Specs) -> None:
        count = self._uses[specs] - 1
        if count:
            self._uses[specs] = count
            return
        del self._uses[specs]
        for spec in specs:
            left = self._spec_uses[spec] - 1
            if left:
                self._spec_uses[spec] = left
            else:
                del self._spec_uses[spec]
                self._live.pop(spec, None)

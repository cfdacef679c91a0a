"""Snippets in the proxy: the specs that they become, one for each phase in which they do something."""

from collections.abc import Callable
from typing import ClassVar, Final, Generic, TypeVar

from ingress.annotations.contract.snippet_blocks import Block, Level, Location
from ingress.annotations.external_auth.check import verdict_on
from ingress.annotations.nginx.access_directives import lets_in
from ingress.annotations.requests.path_rewrites import captured_of
from ingress.annotations.snippets import described
from ingress.annotations.snippets.answers import AnswerPlan
from ingress.annotations.snippets.levels import Layers
from ingress.annotations.snippets.requests import RequestPlan
from ingress.annotations.snippets.running import (
    FORBIDDEN,
    Course,
    course_of,
    known_course,
    run_path,
    run_server,
    set_from_auth,
)
from ingress.filter_parts.judging import Judging
from ingress.filters import AnswerEdit, Clock, Facts, Filter, Phase, Reply, RequestEdit, Services
from ingress.model.frozen import frozen
from ingress.model.requests.templates import NO_VALUES
from ingress.model.text.path_expressions import Capturing, read_path_expression
from ingress.wording import number_of

P = TypeVar("P")

_MOST_PLANS: Final = 256


class _Plans(Generic[P]):
    """What each level comes to, made when it is first met: there are few, and they are the same for most requests."""

    def __init__(self, layers: Layers, make: Callable[[Level], P]) -> None:
        self._layers = layers
        self._make = make
        self._usual = make(layers.level(None))
        self._others: dict[tuple[Level | None, Location | None, Level | None, str], P] = {}

    def of(self, course: Course | None) -> P:
        """Return the plan for a request of this course."""
        if course is None or (
            course.outer is None and course.place is None and course.inner is None and not course.replied
        ):
            return self._usual
        key = (course.outer, course.place, course.inner, course.replied)
        plan = self._others.get(key)
        if plan is None:
            if len(self._others) >= _MOST_PLANS:
                # Of snippets that are no more, most likely.
                self._others.clear()
            plan = self._others[key] = self._make(self._layers.level(course))
        return plan


@frozen(cache_hash=True)
class ServerStatements:
    """Runs what ``server-snippet`` decides, and what its ``location`` that a request is in does."""

    phase: ClassVar[Phase] = Phase.SERVER
    name: ClassVar[str] = "server-snippet"

    block: Block
    locations: tuple[Location, ...] = ()
    path: bytes = b""
    """That of the route, where there are locations; empty for none."""
    is_exact: bool = False

    def describe(self) -> str:
        """Say how much it decides."""
        statements = number_of(len(self.block.statements), "statement")
        return f"runs {statements} and {number_of(len(self.locations), 'location')} of server-snippet"

    def make(self, services: Services) -> Filter:
        """Make the filter that runs them."""
        return Judging(self.judge)

    def judge(self, facts: Facts) -> Reply | None:
        """Answer *facts*, or let them pass."""
        return run_server(self.block, self.locations, self.is_exact, self.path, facts)


@frozen(cache_hash=True)
class PathCaptures:
    """Gives ``$1`` and the others what the expression of the path captured, before anything of the snippet of the path looks at them.

    Without a *path* that is nothing: as in nginx, an expression without groups leaves none to who asked before.
    """

    phase: ClassVar[Phase] = Phase.REWRITE
    name: ClassVar[str] = "snippet-captures"

    path: str
    groups: tuple[str, ...]
    """Their numbers."""
    is_after: bool = False
    """Whether they are captured behind the statements of the snippet, unless these were ended."""

    def describe(self) -> str:
        """Name the groups."""
        if not self.path:
            return "snippets find nothing that the path captures"
        return f"snippets may name what {self.path} captures: {', '.join(f'${one}' for one in self.groups)}"

    def make(self, services: Services) -> Filter:
        """Make the filter that captures."""
        capturing = Capturing(read_path_expression(self.path), self.groups) if self.path else None

        def judge(facts: Facts) -> None:
            course = course_of(facts)
            # In a location of the server the request is not in that of its path.
            if course.place is None and not (self.is_after and course.is_ended):
                if not self.is_after:
                    course.groups = captured_of(capturing, facts)
                # Behind the statements the path is still the same: to search it may take as long as to look for the route.
                course.capture(course.groups)

        return Judging(judge)


@frozen(cache_hash=True)
class PathStatements:
    """Runs what ``configuration-snippet`` decides."""

    phase: ClassVar[Phase] = Phase.REWRITE
    name: ClassVar[str] = "configuration-snippet"

    block: Block
    is_relative: bool = False
    """Whether redirects to a path leave scheme and host to clients."""

    def describe(self) -> str:
        """Name its statements."""
        return f"configuration-snippet decides by {described.statements(self.block)}"

    def make(self, services: Services) -> Filter:
        """Make the filter that runs them."""
        return Judging(self.judge)

    def judge(self, facts: Facts) -> Reply | None:
        """Answer *facts*, or let them pass."""
        return run_path(self.block, facts, is_relative=self.is_relative)


@frozen(cache_hash=True)
class SnippetAccess:
    """Lets in whom ``allow`` and ``deny`` of snippets let in."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "snippet-access"

    layers: Layers
    is_about_all: bool = False
    """Whether its rules are about each client of each request, so that whom they let in is let in on purpose."""

    def describe(self) -> str:
        """Name its rules."""
        return f"snippets let in by address: {described.access(self.layers.level(None))}"

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        plans = _Plans(self.layers, _same)

        def judge(facts: Facts) -> Reply | None:
            level = plans.of(known_course(facts))
            return None if lets_in(level, facts.method, facts.client) else FORBIDDEN

        return Judging(judge)


@frozen(cache_hash=True)
class AuthVariables:
    """Gives variables the values that ``auth_request_set`` makes of what the service of ``auth-url`` said."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "snippet-auth-variables"

    layers: Layers

    def describe(self) -> str:
        """Name the variables."""
        names = described.auth_variables(self.layers.level(None))
        return f"variables of snippets come of what the service of auth-url said: {names}"

    def make(self, services: Services) -> Filter:
        """Make the filter that sets them."""
        plans = _Plans(self.layers, _same)

        def judge(facts: Facts) -> None:
            verdict = verdict_on(facts)
            if verdict is not None:
                set_from_auth(plans.of(known_course(facts)).from_auth, verdict, facts, course_of(facts))

        return Judging(judge)


@frozen(cache_hash=True)
class SnippetEdits:
    """Changes what endpoints are told, as snippets say."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "snippet-edits"

    layers: Layers

    def describe(self) -> str:
        """Name the fields."""
        return f"snippets set fields to endpoints: {described.request_fields(self.layers.level(None))}"

    def make(self, services: Services) -> Filter:
        """Make the filter that changes requests."""
        return _Edits(self.layers)


def _same(level: Level) -> Level:
    return level


class _Edits(Filter):
    """Changes requests by the level that holds for each."""

    def __init__(self, layers: Layers) -> None:
        self._plans = _Plans(layers, RequestPlan)

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        course = known_course(facts)
        if course is not None:
            target = course.target()
            if target is not None:
                edit.rewrite(target=target)
        self._plans.of(course).apply(edit, facts, NO_VALUES if course is None else course.values)


@frozen(cache_hash=True)
class SnippetAnswers:
    """Changes the heads of answers, as snippets say."""

    phase: ClassVar[Phase] = Phase.ANSWER
    name: ClassVar[str] = "snippet-answers"

    layers: Layers
    is_same: bool = False
    """Whether the same is done for each request."""

    def describe(self) -> str:
        """Name the fields."""
        return f"snippets set fields of answers: {described.answer_fields(self.layers.level(None))}"

    def make(self, services: Services) -> Filter:
        """Make the filter that changes answers."""
        if self.is_same:
            changes = AnswerPlan(self.layers.level(None)).changes
            if changes is not None:
                made = Filter()
                made.answer_changes = changes
                return made
        return _Answers(self.layers, services.clock)


class _Answers(Filter):
    """Changes answers by the level that holds for each."""

    def __init__(self, layers: Layers, clock: Clock) -> None:
        self._plans = _Plans(layers, AnswerPlan)
        self._clock = clock

    def on_answer(self, facts: Facts, edit: AnswerEdit) -> None:
        course = known_course(facts)
        plan = self._plans.of(course)
        plan.apply(edit, facts, self._clock.now, NO_VALUES if course is None else course.values)

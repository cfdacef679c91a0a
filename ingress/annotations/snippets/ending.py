"""What stands behind the statements of ``configuration-snippet``: redirects elsewhere, and what takes the place of paths.

In nginx these are statements of the same location.  So a ``break`` leaves them undone; and ``rewrite-target`` looks at the path
once more, so that fields have its groups again, whatever expressions were asked since.  The redirect to HTTPS is none of them.
"""

from collections.abc import Iterator, Sequence

from attrs import evolve

from ingress.annotations.contract.snippet_blocks import After, Block, Break, If, Rewrite
from ingress.annotations.redirects.url_redirects import UrlRedirect
from ingress.annotations.requests.path_rewrites import PathRewrite, RewriteRedirect
from ingress.annotations.snippets.filters import PathCaptures, PathStatements
from ingress.annotations.snippets.levels import searches
from ingress.annotations.snippets.running import known_course
from ingress.filters import Facts, Filter, FilterSpec, Phase, Reply, RequestEdit, Services
from ingress.model.frozen import frozen

_STATEMENTS = (UrlRedirect, RewriteRedirect, PathRewrite)


@frozen(cache_hash=True)
class UnlessEnded:
    """Does what *spec* does, but for requests for which the statements of their path were ended."""

    spec: UrlRedirect | RewriteRedirect | PathRewrite

    @property
    def name(self) -> str:
        """That of what is done: who answers goes by one name in log and metrics, with ``break`` or without."""
        return self.spec.name

    @property
    def phase(self) -> Phase:
        """That of what is done."""
        return self.spec.phase

    def describe(self) -> str:
        """Say what is done, and when not."""
        return f"{self.spec.describe()}, unless break ends the statements of configuration-snippet"

    def make(self, services: Services) -> Filter:
        """Make the filter, and the one that it stands for."""
        made = self.spec.make(services)
        return _EditingUnlessEnded(made) if isinstance(self.spec, PathRewrite) else _JudgingUnlessEnded(made)


class _JudgingUnlessEnded(Filter):
    def __init__(self, made: Filter) -> None:
        self._on_request = made.on_request

    def on_request(self, facts: Facts) -> Reply | None:
        reply = None if _is_ended(facts) else self._on_request(facts)
        assert reply is None or isinstance(reply, Reply), "a redirect waits for nobody"
        return reply


class _EditingUnlessEnded(Filter):
    def __init__(self, made: Filter) -> None:
        self._on_upstream = made.on_upstream

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        if not _is_ended(facts):
            self._on_upstream(facts, edit)


def _is_ended(facts: Facts) -> bool:
    course = known_course(facts)
    return course is not None and course.is_ended


def ending(specs: Sequence[FilterSpec]) -> tuple[FilterSpec, ...]:
    """Return *specs*, those of one route, with what a ``break`` among them ends made so, and groups of the path as they are then."""
    specs = tuple(_capturing_again(specs)) if any(isinstance(one, PathCaptures) for one in specs) else specs
    if not any(isinstance(one, PathStatements) and _may_end(one.block) for one in specs):
        return tuple(specs)
    return tuple(UnlessEnded(one) if isinstance(one, _STATEMENTS) else one for one in specs)


def _capturing_again(specs: Sequence[FilterSpec]) -> Iterator[FilterSpec]:
    is_rewritten = any(isinstance(one, PathRewrite) for one in specs)
    captures: PathCaptures | None = None
    for one in specs:
        yield one
        if isinstance(one, PathCaptures):
            captures = one
        elif (
            isinstance(one, PathStatements) and captures is not None and is_rewritten and searches(one.block)
        ):
            yield evolve(captures, is_after=True)


def _may_end(block: Block) -> bool:
    """Whether a request may end the statements of *block* without an answer."""
    return any(
        _may_end(one.block)
        if isinstance(one, If)
        else isinstance(one, Break) or (isinstance(one, Rewrite) and one.after is After.STOPS)
        for one in block.statements
    )

"""Paths that are regular expressions, and what they are replaced by: ``use-regex``, ``rewrite-target``.

As in ingress-nginx, one of them in any Ingress of a host makes expressions of all of its paths
(``ingress.translate.hosts.expressions`` says of whose), and a path that is rewritten to itself is not rewritten.  Where an
expression took a request, the whole path is replaced by the target.  Routes are found, and logs and redirects go, by what
came.
"""

from collections.abc import Callable
from typing import ClassVar, Final

from ingress.annotations.contract.route_constants import route_constants
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, Risk, parse_boolean
from ingress.annotations.requests.rewrite_targets import (
    NO_TARGET,
    REFUSED_TARGET,
    RewriteTarget,
    Rewriting,
    parse_rewrite_target,
)
from ingress.filter_parts.judging import Judging, status_reply
from ingress.filters import Facts, Filter, FilterSpec, Phase, Reply, RequestEdit, Services
from ingress.model.frozen import frozen
from ingress.model.requests.decoded_paths import decoded_path
from ingress.model.text.expressions import ExpressionRefused
from ingress.model.text.path_expressions import Capturing, read_path_expression

_NO_CAPTURES: Final[dict[str, bytes]] = {}


@frozen
class PathRewriteSettings:
    """What the annotations of one Ingress say about its paths."""

    use_regex: bool = False
    target: RewriteTarget = NO_TARGET

    def makes_regexes(self, paths: tuple[str, ...]) -> bool:
        """Whether *paths*, those of the Ingress for one host, are regular expressions."""
        return any(map(self.makes_regex, paths))

    def makes_regex(self, path: str) -> bool:
        """Whether *path* alone makes that so."""
        return self.use_regex or self.rewrites(path)

    def rewrites(self, path: str) -> bool:
        """Whether *path* is replaced; one that is replaced by itself is not."""
        return self.target.is_refused or self.target.text not in ("", path)

    def refusal_of(self, path: str, names: Callable[[], frozenset[str]]) -> str:
        """Say why *path* cannot be replaced; empty where it can.  *names* are of the groups of all paths of the Ingress."""
        if not self.rewrites(path):
            return ""
        asked = {name for name in self.target.captures if not name.isdigit()}
        unknown = asked - names() if asked else asked
        if not unknown:
            return ""
        return f"cannot be replaced: rewrite-target holds ${min(unknown)}, which is no variable here and no group of a path"


def path_rewrite_filters(settings: PathRewriteSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what rewrites the requests of a route; none where its path stays as it is."""
    if not settings.rewrites(facts.path):
        return ()
    if settings.target.is_refused:
        return (RewriteMissing(),)
    if not is_run(facts.path):
        # Its route is closed.
        return ()
    target = settings.target.bound(route_constants(facts))
    # Who needs nothing of the path has the same filter for all paths.
    path = facts.path if target.captures else ""
    return (RewriteRedirect(path, target),) if target.origin.parts else (PathRewrite(path, target),)


PATH_REWRITES: Final = Family(
    name="path_rewrites",
    settings=PathRewriteSettings(),
    acts="makes regular expressions of the paths of the host, and replaces paths by targets",
    phases=(Phase.REWRITE, Phase.REDIRECT, Phase.ACCESS),
    by_path=True,
    by_path_where=lambda settings: settings.target != NO_TARGET,
    filters=path_rewrite_filters,
    annotations={
        "use-regex": Annotation(
            "use_regex",
            parse_boolean,
            values="boolean; false",
            meaning="the paths of the host are regular expressions: fixed to the beginning of a path, in upper and lower"
            " case, the longest text first",
            differs="run by RE2: what looks around, or back to a group, is refused; paths of other namespaces stay as they"
            " are written, but with `--shared-hosts`",
        ),
        "rewrite-target": Annotation(
            "target",
            parse_rewrite_target,
            refused=REFUSED_TARGET,
            instead="the paths of the Ingress answer 503",
            values="path, or http(s) URL, with `$1` to `$9`, names of groups and variables",
            meaning="the whole path is replaced by it, and the query stays; an URL redirects with 302; makes regular"
            " expressions of paths like `use-regex`, but where it is the path itself",
            differs="a path that is replaced by itself stays, also what is below it; what was captured makes no"
            " segment `.` or `..`, and no empty one where it meets a slash; in an URL it stands behind the host alone",
            risk=Risk.MEDIUM,
        ),
    },
)


def is_run(path: str) -> bool:
    """Whether *path*, as a regular expression, is run here."""
    try:
        read_path_expression(path)
    except ExpressionRefused:
        return False
    return True


def capturing_of(path: str, target: RewriteTarget) -> Capturing | None:
    """Return what takes out of paths what *target* is made of; None for an empty *path*, where that is nothing."""
    return Capturing(read_path_expression(path), target.captures) if path else None


def captured_of(capturing: Capturing | None, facts: Facts) -> dict[str, bytes] | None:
    """Return what *capturing* finds in the path of a request; None where its expression matches nowhere."""
    if capturing is None:
        return _NO_CAPTURES
    path = facts.path
    whole = decoded_path(path, facts.target)
    if whole != path and capturing.takes(whole):
        return capturing.captured(whole)
    return capturing.captured(path)


@frozen(cache_hash=True)
class PathRewrite:
    """Asks endpoints for *target*, made of what *path* captures; for an empty *path* of nothing."""

    phase: ClassVar[Phase] = Phase.REWRITE
    name: ClassVar[str] = "path-rewrite"

    path: str
    target: RewriteTarget

    def describe(self) -> str:
        """Say what comes in place of the path."""
        return f"replaces the path by {self.target.text!a}"

    def make(self, services: Services) -> Filter:
        """Make the filter that rewrites."""
        return _PathRewriting(capturing_of(self.path, self.target), Rewriting(self.target))


class _PathRewriting(Filter):
    def __init__(self, capturing: Capturing | None, rewriting: Rewriting) -> None:
        self._capturing = capturing
        self._rewriting = rewriting

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        """Replace the target."""
        captured = captured_of(self._capturing, facts)
        if captured is not None:
            edit.rewrite(target=self._rewriting.target(facts, captured))


@frozen(cache_hash=True)
class RewriteRedirect:
    """Redirects to *target*, an URL made of what *path* captures."""

    phase: ClassVar[Phase] = Phase.REDIRECT
    name: ClassVar[str] = "rewrite-redirect"

    path: str
    target: RewriteTarget

    def describe(self) -> str:
        """Say where requests are sent."""
        return f"redirects to {self.target.text!a}"

    def make(self, services: Services) -> Filter:
        """Make the filter that redirects."""
        capturing, rewriting = capturing_of(self.path, self.target), Rewriting(self.target)

        def judge(facts: Facts) -> Reply | None:
            captured = captured_of(capturing, facts)
            if captured is None:
                return None
            return status_reply(302, (b"Location", rewriting.location(facts, captured)))

        return Judging(judge)


@frozen
class RewriteMissing:
    """Answers 503: what the path is to be replaced by is not known."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "rewrite-missing"

    def describe(self) -> str:
        """Say why nobody gets in."""
        return "answers 503: rewrite-target cannot be honored"

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        return Judging(self.judge)

    def judge(self, request: object) -> Reply | None:
        """Let nothing pass."""
        return status_reply(503, reason="rewrite-target cannot be honored, so the route is closed")


@frozen
class RegexMissing:
    """Answers 503: whether the request is one of the route's is for a regular expression to say that is not run."""

    phase: ClassVar[Phase] = Phase.ACCESS
    name: ClassVar[str] = "regex-missing"

    def describe(self) -> str:
        """Say why nobody gets in."""
        return "answers 503: the path is a regular expression that is not run here"

    def make(self, services: Services) -> Filter:
        """Make the filter that refuses."""
        return Judging(self.judge)

    def judge(self, request: object) -> Reply | None:
        """Let nothing pass."""
        return status_reply(
            503, reason="the path is a regular expression that is not run here, so the route is closed"
        )

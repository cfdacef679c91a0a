"""Snippets as annotations and options: ``configuration-snippet``, ``server-snippet``, and the operator's.

As in ingress-nginx the operator's stand beside those of Ingresses, and before them: ``http-snippet`` around all hosts,
``server-snippet`` in each host, ``location-snippet`` before each path.  Which Ingress has the say about a host by its
``server-snippet`` is for ``ingress.translate.hosts.server_snippets``.
"""

from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Final
from urllib.parse import unquote_to_bytes

from attrs import evolve

from ingress.annotations.access.guards import GuardMissing, snippet_keeps_requests_out
from ingress.annotations.contract.route_constants import route_constants
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.snippet_blocks import (
    EMPTY,
    Break,
    Finding,
    Level,
    Return,
    Rewrite,
    Snippet,
    Sort,
)
from ingress.annotations.contract.values import Annotation, Family, Remark, Risk, ValueRefused
from ingress.annotations.nginx.reading import WHOLE, Place, parse_snippet
from ingress.annotations.requests.path_rewrites import is_run
from ingress.annotations.snippets.answers import AnswerPlan
from ingress.annotations.snippets.filters import (
    AuthVariables,
    PathCaptures,
    PathStatements,
    ServerStatements,
    SnippetAccess,
    SnippetAnswers,
    SnippetEdits,
)
from ingress.annotations.snippets.levels import (
    Layers,
    blocks_of,
    bound,
    captures_of,
    levels_of,
    rewrites,
    searches,
)
from ingress.filters import FilterSpec, Phase
from ingress.model.cluster.problems import Reason
from ingress.model.frozen import frozen

CONFIGURATION_SNIPPET: Final = "configuration-snippet"
SERVER_SNIPPET: Final = "server-snippet"
_GUARD_MISSING: Final = GuardMissing()
_INSTEAD: Final = "the rest of it is honored"
_CLOSED: Final = "the Ingress answers 503 rather than be open"
_CLOSES_HOSTS: Final = (
    f"{_CLOSED}, and so do the paths of its namespace on its hosts, or all paths of those that belong to it"
)
_REFUSED: Final = {
    "stream-snippet": "is not honored: streams are asked for by --tcp-services-configmap and --udp-services-configmap, by routes of the"
    " Gateway API, and by ssl-passthrough",
}


@frozen
class SnippetSettings:
    """The snippets that hold for one Ingress: its own, and the operator's."""

    configuration: Snippet = EMPTY
    server: Snippet = EMPTY
    """What the Ingress asks for its hosts; which of them get it, is decided host by host."""
    stream: Snippet = EMPTY
    operators_http: Snippet = EMPTY
    operators_server: Snippet = EMPTY
    operators_location: Snippet = EMPTY


_NOTHING_ASKED: Final = SnippetSettings()


def snippet_filters(settings: SnippetSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
    """Return what stands before a route, of its own snippets and of those of its host."""
    if settings is _NOTHING_ASKED and facts.host.server_snippet is EMPTY:
        return ()
    server = settings.operators_server.beside(facts.host.server_snippet)
    location = settings.operators_location.beside(settings.configuration)
    http = settings.operators_http
    if server == EMPTY and location == EMPTY and http == EMPTY:
        return ()
    constants = partial(route_constants, facts)
    server = bound(server, constants)
    specs = _specs(
        bound(http, constants),
        server,
        bound(location, constants),
        # How long the text of an expression is says nothing about which locations come before it.
        unquote_to_bytes(facts.path) if server.locations and not facts.is_expression else b"",
        facts.is_exact and bool(server.locations),
        facts.is_relative and bool(location.block.statements),
        _captured(facts, http, server, location),
    )
    # What an Ingress lacks itself is told and closed where it is read.
    operators = (http, settings.operators_server, settings.operators_location)
    return (_GUARD_MISSING, *specs) if any(one.lacks_guard for one in operators) else specs


def _captured(facts: RouteFacts, *snippets: Snippet) -> PathCaptures | None:
    """Return what captures the groups of the path that *snippets* name, or forgets those of expressions that they asked; None where there are none."""
    if not facts.is_expression:
        return None
    if "(" not in facts.path:
        is_asked = any(searches(snippet.block) for snippet in snippets) and any(map(captures_of, snippets))
        return PathCaptures("", ()) if is_asked else None
    names = frozenset(name for snippet in snippets for name in captures_of(snippet))
    return PathCaptures(facts.path, tuple(sorted(names))) if names and is_run(facts.path) else None


@lru_cache(maxsize=1024)
def _specs(
    http: Snippet,
    server: Snippet,
    location: Snippet,
    path: bytes,
    is_exact: bool,
    is_relative: bool,
    captures: PathCaptures | None,
) -> tuple[FilterSpec, ...]:
    blocks = (http.block, *blocks_of(server), location.block)
    levels = tuple(levels_of(blocks))
    statements = any(block.statements for block in blocks) or bool(server.locations)
    layers = Layers(http.block.level.over(server.block.level), location.block.level)
    specs: list[FilterSpec] = []
    if server.block.statements or server.locations:
        specs.append(ServerStatements(server.block, server.locations, path, is_exact))
    if captures is not None:
        specs.append(captures)
    if location.block.statements:
        specs.append(PathStatements(location.block, is_relative))
    if any(level.access or level.by_method or level.kept for level in levels):
        specs.append(SnippetAccess(layers, _is_about_all(layers.level(None), levels)))
    if any(level.from_auth for level in levels):
        specs.append(AuthVariables(layers))
    if rewrites(blocks) or any(level.inputs or level.sent for level in levels):
        specs.append(SnippetEdits(layers))
    if any(level.fields or level.added or level.expires or level.hidden for level in levels):
        is_same = not statements and AnswerPlan(layers.level(None)).changes is not None
        specs.append(SnippetAnswers(layers, is_same))
    return tuple(specs)


def _is_about_all(usual: Level, levels: tuple[Level, ...]) -> bool:
    """Whether rules that end with one for all hold in *usual*, and no other of *levels* has any."""
    having = [one for one in levels if one.access or one.by_method or one.kept]
    return (
        len(having) == 1
        and usual.access == having[0].access
        and bool(usual.access)
        and usual.access[-1].network is None
    )


def _satisfies(spec: FilterSpec) -> bool:
    """Whether ``satisfy`` joins *spec*: what says nothing of some clients must not let them in."""
    return isinstance(spec, SnippetAccess) and spec.is_about_all


def answers_everything(settings: SnippetSettings) -> bool:
    """Whether a ``return`` under no condition answers each request, so that a rule needs no ``http``."""
    for block in (settings.server.block, settings.configuration.block):
        for statement in block.statements:
            if isinstance(statement, Return):
                return True
            if isinstance(statement, (Break, Rewrite)):
                break
    return False


def guards(settings: SnippetSettings) -> bool:
    """Whether anybody is kept out by *settings*."""
    return any(
        one.keeps_out
        for one in (
            settings.configuration,
            settings.server,
            settings.operators_http,
            settings.operators_server,
            settings.operators_location,
        )
    )


def _remarks(settings: SnippetSettings, names: frozenset[str]) -> Iterator[Remark]:
    for name, snippet, closes in (
        (CONFIGURATION_SNIPPET, settings.configuration, _CLOSED),
        (SERVER_SNIPPET, settings.server, _CLOSES_HOSTS),
        ("stream-snippet", settings.stream, _CLOSED),
    ):
        if name in names:
            yield from _told(name, snippet.findings, closes)


def _told(name: str, findings: tuple[Finding, ...], closes: str) -> Iterator[Remark]:
    """Yield one remark for each directive and what is wrong with it, with all the lines where that stands."""
    for (directive, sort), found in _alike(findings):
        first = found[0]
        lines = list(dict.fromkeys(one.line for one in found))
        shown = ", ".join(map(str, lines[:_MOST_LINES]))
        more = f" and {len(lines) - _MOST_LINES} more" if len(lines) > _MOST_LINES else ""
        at = f" (line{'s' if len(lines) > 1 else ''} {shown}{more})" if first.line else ""
        what = (
            ""
            if directive == WHOLE and not first.line and first.message.startswith("is ")
            else f"{directive}{at} "
        )
        end = closes if sort is Sort.GUARD else _INSTEAD if first.line else "the Ingress is served without it"
        message = f"{what}{first.message}" if sort is Sort.NOTE else f"{what}{first.message}; {end}"
        yield Remark(
            name,
            message,
            Reason.ANNOTATION_NOTE if sort is Sort.NOTE else Reason.UNSUPPORTED_ANNOTATION,
            closes=sort is Sort.GUARD,
            closes_hosts=sort is Sort.GUARD and name == SERVER_SNIPPET,
        )


def _alike(findings: tuple[Finding, ...]) -> Iterator[tuple[tuple[str, Sort], list[Finding]]]:
    """Yield *findings* of one name, sort and message together; of one name and sort at most ``_MOST_MESSAGES`` messages."""
    by_directive: dict[tuple[str, Sort], dict[str, list[Finding]]] = {}
    for finding in findings:
        by_message = by_directive.setdefault((finding.directive, finding.sort), {})
        message = finding.message
        if message not in by_message and len(by_message) >= _MOST_MESSAGES:
            message = _OTHERWISE
        by_message.setdefault(message, []).append(evolve(finding, message=message))
    for key, by_message in by_directive.items():
        for found in by_message.values():
            yield key, found


_MOST_LINES: Final = 5
_MOST_MESSAGES: Final = 8
_OTHERWISE: Final = "cannot be honored either, each for a reason of its own"


def _refusing(name: str) -> Annotation:
    def parse(text: str) -> Snippet:
        if not text.strip():
            return EMPTY
        closes = snippet_keeps_requests_out(text)
        return Snippet(findings=(Finding(WHOLE, 0, _REFUSED[name], Sort.GUARD if closes else Sort.REFUSED),))

    return Annotation(
        name.removesuffix("-snippet"),
        parse,
        values="nothing",
        meaning="is refused; where it may keep somebody out, the paths answer 503",
        differs="ingress-nginx pastes it into its configuration",
        risk=Risk.CRITICAL,
    )


def _operators(setting: str, place: Place, meaning: str) -> Annotation:
    """Return the row of what the operator says in *place*.

    A text of which not all is honored is refused, by line; where it comes of a ConfigMap, what can be honored of it is in
    force all the same, and where a guard is missing, everything answers 503.
    """

    def parse(text: str) -> Snippet:
        snippet = parse_snippet(text, place)
        refused = [finding for finding in snippet.findings if finding.sort is not Sort.NOTE]
        if refused:
            told = "; ".join(_shown(finding) for finding in refused[:_MOST_LINES])
            raise ValueRefused(f"has what is not honored: {told}")
        return snippet

    return Annotation(
        setting,
        parse,
        refused=partial(parse_snippet, place=place),
        instead="the rest of it is honored, and where a guard is missing, all paths answer 503",
        values="directives of nginx, as docs/snippets.md has them",
        meaning=meaning,
        risk=Risk.CRITICAL,
    )


def _shown(finding: Finding) -> str:
    at = f" in line {finding.line}" if finding.line else ""
    return f"{finding.directive}{at} {finding.message}"


SNIPPETS: Final = Family(
    name="snippets",
    settings=_NOTHING_ASKED,
    acts="does what directives of nginx say",
    phases=(Phase.SERVER, Phase.REWRITE, Phase.ACCESS, Phase.EDITS, Phase.ANSWER),
    filters=snippet_filters,
    filters_unasked=True,
    by_path=True,
    remarks=_remarks,
    guards=guards,
    answers=answers_everything,
    satisfies=_satisfies,
    annotations={
        CONFIGURATION_SNIPPET: Annotation(
            "configuration",
            partial(parse_snippet, place=Place.LOCATION),
            values="directives of nginx: fields of requests and answers, return, rewrite, if, allow and deny …",
            meaning="does what the directives say, for the paths of the Ingress: [snippets.md](snippets.md)",
            differs="read as data, never executed: what is no such directive is refused by name and line; rewrite goes to the same backend",
            risk=Risk.CRITICAL,
        ),
        SERVER_SNIPPET: Annotation(
            "server",
            partial(parse_snippet, place=Place.SERVER),
            values="what `configuration-snippet` may have, and location",
            meaning="does what the directives say, for the hosts of the Ingress; of several, the oldest one's counts: [snippets.md](snippets.md)",
            differs="read as data, as configuration-snippet is; it reaches paths of other namespaces only where it guards a host of its own, or with --shared-hosts; requests in a location without return go on to their backend, where ingress-nginx answers 404",
            risk=Risk.CRITICAL,
        ),
        "stream-snippet": _refusing("stream-snippet"),
    },
    options={
        "http-snippet": _operators(
            "operators_http", Place.HTTP, "holds for all hosts, unless they have directives of the same name"
        ),
        SERVER_SNIPPET: _operators(
            "operators_server", Place.SERVER, "stands in every host, before server-snippet of Ingresses"
        ),
        "location-snippet": _operators(
            "operators_location",
            Place.LOCATION,
            "stands before every path, before configuration-snippet of Ingresses",
        ),
    },
)

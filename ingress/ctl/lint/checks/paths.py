"""Paths: what quirks make of them, and who takes their requests.

Whoever gets a request is found as the proxy finds it: by asking the table for requests that the path is meant for.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ingress.annotations.contract.values import quoted
from ingress.annotations.requests.path_rewrites import PATH_REWRITES
from ingress.ctl.lint.checks.rewrites import loses_all
from ingress.ctl.lint.finding import Finding
from ingress.ctl.lint.rules import (
    PATH_MADE_EXPRESSION,
    PATH_NEEDS_QUIRK,
    PATH_SHADOWED,
    PATH_TAKEN,
    SLASH_REDIRECT,
    TYPE_MEANS_NOTHING,
)
from ingress.ctl.lint.survey import Subject, Survey
from ingress.routing.paths import rule_path
from ingress.routing.route import Match, Route
from ingress.translate.claims import ROOT, Claim
from ingress.wording import first_of

PROBES: Final = (b"", b"/", b"/x", b"x", b"/x/y")
"""What may follow the literal beginning of a path in a request for it."""
_MOST_SHOWN: Final = 3


def check_paths(survey: Survey, subject: Subject) -> Iterator[Finding]:
    """Yield what is to be said of the paths of an object, on each host."""
    if subject.parsed is None:
        return
    settings = subject.parsed.settings.of(PATH_REWRITES)
    for host, claims in subject.claims_by_host.items():
        made = [(claim, survey.route_of(claim)) for claim in claims]
        expressions = [
            (claim, one) for claim, one in made if one is not None and one.match is Match.EXPRESSION
        ]
        if expressions:
            if settings.makes_regexes(tuple(claim.path for claim in claims)):
                yield from _types(
                    subject, [claim for claim, _ in expressions if not loses_all(claim, settings)]
                )
            else:
                yield from _quirks(survey, subject, host, [claim for claim, _ in expressions])
        if host in survey.with_expressions:
            yield from _taken(survey, subject, host, [(claim, one) for claim, one in made if one is not None])
        yield from _slashes(survey, subject, host, claims)


def _types(subject: Subject, claims: Sequence[Claim]) -> Iterator[Finding]:
    """Yield the paths whose types mean nothing, since their own Ingress makes expressions of them."""
    some = [
        claim
        for claim in claims
        if claim.regex is None and not _takes_all(claim) and (claim.is_prefix or claim.match is Match.EXACT)
    ]
    if some:
        first = some[0]
        kind = "Exact" if first.match is Match.EXACT else "Prefix"
        asks = "use-regex" if subject.says("use-regex") else "rewrite-target"
        yield subject.found(
            TYPE_MEANS_NOTHING,
            f"{_shown(some)}: pathType {kind} means nothing beside {asks}: {_besides(first)}",
            f"{first.field}.pathType",
        )


def _takes_all(claim: Claim) -> bool:
    """Whether *claim* takes every path anyway."""
    return claim.path == ROOT and claim.match is not Match.EXACT


def _is_meant(claim: Claim) -> bool:
    """Whether the path of *claim* was hardly written to be anything but an expression."""
    return claim.regex is not None and claim.regex.is_likely


def _besides(claim: Claim) -> str:
    """Say what *claim*, which is an expression, takes besides its path."""
    others = dict.fromkeys((f"{claim.path}x", claim.path.upper()))
    others.pop(claim.path, None)
    shown = " and ".join(map(quoted, others))
    return f"{shown} {'is' if len(others) == 1 else 'are'} taken, too"


def _quirks(survey: Survey, subject: Subject, host: str, claims: Sequence[Claim]) -> Iterator[Finding]:
    """Yield the paths that another Ingress of *host* makes expressions of."""
    asking = survey.asking(host, subject)
    if asking is None:
        return
    whose = f"{asking.object_id[0]} {asking.object_id[1]}"
    at = f"host {host}" if host else "all hosts"
    meant = [claim for claim in claims if _is_meant(claim)]
    plain = [claim for claim in claims if not _is_meant(claim) and not _takes_all(claim)]
    if meant:
        yield subject.found(
            PATH_NEEDS_QUIRK,
            f"{_shown(meant)} of {at}: a regular expression only because {whose} asks for these there",
            f"{meant[0].field}.path",
            changes=[subject.setting("use-regex", "true")],
        )
    if plain:
        first = plain[0]
        yield subject.found(
            PATH_MADE_EXPRESSION,
            f"{_shown(plain)} of {at}: compared as a regular expression, as {whose} has it for all paths there, so"
            f" {_besides(first)}",
            f"{first.field}.path",
            f"give {whose} a host of its own, or start the controller with --no-quirks",
        )


def _taken(
    survey: Survey, subject: Subject, host: str, made: Sequence[tuple[Claim, Route]]
) -> Iterator[Finding]:
    """Yield the paths whose requests go to expressions of others, by the first such request."""
    for claim, route in made:
        if route.match is Match.BEGINNING:
            continue
        asked = list(dict.fromkeys(requests_for(route)))
        gone = [
            (path, found)
            for path in asked
            if (found := survey.find(host, path)) is not route and found is not None
        ]
        # What the Ingress itself takes by a longer path is meant so, unless nothing is left.
        to_others = [(path, found) for path, found in gone if found.owner != route.owner]
        if to_others:
            path, found = to_others[0]
            whose = "the controller's default backend" if found.owner is None else str(found.owner)
            closed = ", which answers 503" if found.match is Match.BEGINNING else ""
            yield subject.found(
                PATH_TAKEN,
                f"a request for {_text(path)}, as path {quoted(claim.path)} of {f'host {host}' if host else 'all hosts'} is for,"
                f" goes to path {quoted(found.path)} of {whose}{closed}",
                f"{claim.field}.path",
            )
        elif gone and len(gone) == len(asked):
            path, found = gone[0]
            yield subject.found(
                PATH_SHADOWED,
                f"a request for {_text(path)}, as path {quoted(claim.path)} is for, goes to path {quoted(found.path)} of the same {subject.object_id[0]}",
                f"{claim.field}.path",
            )


def requests_for(route: Route) -> Iterator[bytes]:
    """Yield paths in normal form that *route* is meant for, judged by itself."""
    if route.beginnings is None:
        path = rule_path(route.path)
        yield path
        if route.match is Match.PREFIX:
            yield path.rstrip(b"/") + b"/x"
        return
    for beginning in (*route.beginnings.prefixes[:4], *sorted(route.beginnings.whole)[:4]):
        for probe in PROBES:
            path = (
                beginning + probe
                if not (beginning.endswith(b"/") and probe.startswith(b"/"))
                else beginning + probe[1:]
            )
            if path.startswith(b"/") and any(one.takes(path) for one in route.expressions):
                yield path


def _slashes(survey: Survey, subject: Subject, host: str, claims: Sequence[Claim]) -> Iterator[Finding]:
    """Yield the paths with a slash at the end to which requests without it are redirected."""
    redirected = survey.slashed(host)
    some = [
        claim for claim in claims if claim.path.endswith("/") and rule_path(claim.path)[:-1] in redirected
    ]
    some = [claim for claim in some if redirected[rule_path(claim.path)[:-1]] == claim.owner]
    if some:
        first = some[0]
        without = (
            "answered 404, unless another path takes it"
            if first.match is Match.EXACT
            else "served as it came"
        )
        yield subject.found(
            SLASH_REDIRECT,
            f"{_shown(some)}: a request for {quoted(first.path[:-1])} is redirected there (301), as in ingress-nginx; with --no-quirks it is {without}",
            f"{first.field}.path",
        )


def _shown(claims: Sequence[Claim]) -> str:
    paths = list(dict.fromkeys(claim.path for claim in claims))
    return ("paths " if len(paths) > 1 else "path ") + first_of(list(map(quoted, paths)), _MOST_SHOWN)


def _text(path: bytes) -> str:
    return quoted(path.decode("utf-8", "backslashreplace"))

"""Rewrites that send every request to one and the same path, here or in ingress-nginx alone."""

import re
from collections.abc import Iterator
from typing import Final

from attrs import evolve

from ingress.annotations.contract.values import quoted
from ingress.annotations.requests.path_rewrites import PATH_REWRITES, PathRewriteSettings
from ingress.ctl.lint.finding import Change, Finding
from ingress.ctl.lint.rules import REWRITE_TO_ITSELF, REWRITE_TO_ONE_PATH
from ingress.ctl.lint.survey import Subject, Survey
from ingress.routing.route import Match
from ingress.translate.claims import Claim
from ingress.wording import first_of

TARGET: Final = "rewrite-target"
REST: Final = "(/|$)(.*)"
"""What a path ends in of which the second group is what comes behind it."""
_MOST_SHOWN: Final = 3
_SLASHES: Final = ("/|$", "/?", "/", "$|/", "")
"""What groups hold that take nothing but a slash."""
_PLAIN = re.compile(r"(/[A-Za-z0-9._~%-]+)+/?|/").fullmatch
_ENDING = re.compile(
    r"(?P<plain>(?:/[A-Za-z0-9_~%-]+)*)(?:/?\.\*|/?\(\.\*\)|/\?\(\.\*\)|\(/\|\$\)\(\.\*\)|/\(\.\*\)\$?)"
).fullmatch
_SIGNS = re.compile(r"\\.|\[\]?[^\]]*\]|[()]").finditer
_FILE = re.compile(r"/[^/]*\.[a-z0-9]{2,5}").search


def check_rewrites(survey: Survey, subject: Subject) -> Iterator[Finding]:
    """Yield what is to be said of paths whose requests all go to one path."""
    parsed = subject.parsed
    if parsed is None or not subject.says(TARGET):
        return
    settings = parsed.settings.of(PATH_REWRITES)
    target = settings.target
    if target.is_refused or target.origin.parts or _FILE(target.text):
        # A page for everything, as of a single-page application, is meant so.
        return
    claims = [claim for some in subject.claims_by_host.values() for claim in some]
    same = next((claim for claim in claims if _is_sent_to_itself(claim, target.text)), None)
    if same is not None:
        path = same.path
        message = (
            f"{quoted(path)} is the path itself, so nothing is rewritten; ingress-nginx asks for {quoted(path)} where"
            f" {quoted(f'{path}/login')} is meant, and makes regular expressions of all paths of the host"
        )
        advice = (
            f"remove it, or write the path as in {path}/? if all that begins with it is meant to go there"
        )
        yield subject.found(REWRITE_TO_ITSELF, message, subject.field(TARGET), advice)
    lost = [claim for claim in claims if loses_all(claim, settings)]
    if not lost:
        return
    paths = list(dict.fromkeys(_literal(claim.path) for claim in lost))
    shown = first_of(list(map(quoted, paths)), _MOST_SHOWN)
    one = re.sub(r"\$(\d|\w+)", "", target.text) or "/"
    example = paths[0].rstrip("/")
    message = (
        f"every request below {shown} is sent to {quoted(one)} alone: so is {quoted(f'{example}/login')}"
    )
    changes = tuple(_changes(subject, claims, target.text))
    written = {change.field: change.value for change in changes}
    kept = written.get(subject.field(TARGET), "/$2")
    # The root keeps what follows by an odd expression, so another path is the better example.
    shown_one = next((claim for claim in lost if _literal(claim.path).strip("/")), lost[0])
    wanted = written.get(f"{shown_one.field}.path", "" if changes else f"/api{REST}")
    how = f"write it as in {wanted} with" if wanted else "write"
    advice = f"to keep what follows the path, {how} {TARGET}: {kept}"
    yield subject.found(REWRITE_TO_ONE_PATH, message, subject.field(TARGET), advice, changes)


def _is_sent_to_itself(claim: Claim, target: str) -> bool:
    """Whether ingress-nginx, which adds a slash to the path of *claim* before it compares it with *target*, takes them for two."""
    return claim.match is not Match.EXACT and claim.path == target and not target.endswith("/")


def loses_all(claim: Claim, settings: PathRewriteSettings) -> bool:
    """Whether nothing of what follows the path of *claim* comes into its target."""
    path, target = claim.path, settings.target
    if (
        claim.match is Match.EXACT
        or not settings.rewrites(path)
        or (path.endswith("$") and "*" not in path and "+" not in path)
    ):
        return False
    if any(not name.isdigit() for name in target.captures):
        return False
    expression = None if claim.regex is None else claim.regex.expression
    if claim.regex is not None and expression is None:
        # It is not run, and told of.
        return False
    if target.path.variables - target.captures:
        # Such as $uri, of which the path is a part.
        return False
    groups = _groups(path) if claim.regex is not None else []
    return all(int(name) > len(groups) or groups[int(name) - 1] in _SLASHES for name in target.captures)


def _groups(path: str) -> list[str]:
    """Return what the groups of *path* hold, in their order."""
    found: list[str] = []
    # Of each bracket that is open: which group it begins, None for none, and where.
    begun: list[tuple[int | None, int]] = []
    for sign in _SIGNS(path):
        if sign[0] == "(":
            is_group = path[sign.end() : sign.end() + 1] != "?"
            begun.append((len(found) if is_group else None, sign.end()))
            found += [""] if is_group else []
        elif sign[0] == ")" and begun:
            number, at = begun.pop()
            if number is not None:
                found[number] = path[at : sign.start()]
    return found


def _literal(path: str) -> str:
    """Return what *path* begins with as text."""
    return re.split(r"[\[(*|{^$?+.\\]", path, maxsplit=1)[0]


def _changes(subject: Subject, claims: list[Claim], target: str) -> Iterator[Change]:
    """Yield what keeps the rest of each path; nothing where some path is none of the usual forms."""
    written: list[Change] = []
    for claim in claims:
        if claim.match is Match.EXACT:
            return
        ending = _ENDING(claim.path)
        if ending is not None:
            plain = ending["plain"]
        elif _PLAIN(claim.path):
            plain = claim.path.rstrip("/")
        else:
            return
        # Below the root there is no slash to stand before, and yet two groups are needed.
        path = f"{plain}{REST}" if plain else "/()(.*)"
        if path != claim.path:
            written.append(Change(f"{claim.field}.pathType", "ImplementationSpecific"))
            written.append(Change(f"{claim.field}.path", path))
    kept = re.sub(r"\$(\d|\w+)", "", target).rstrip("/")
    if written and all(change.value in ("/()(.*)", "ImplementationSpecific") for change in written):
        # Where there is nothing but the root, one group does.
        written = [evolve(one, value="/(.*)") if one.value == "/()(.*)" else one for one in written]
        yield subject.setting(TARGET, f"{kept}/$1")
        yield from written
        return
    yield subject.setting(TARGET, f"{kept}/$2")
    yield from written

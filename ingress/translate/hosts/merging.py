"""Bringing together what all Ingresses ask for: one claim for each host, path and match.

Hosts are decided one by one, so that a change costs the hosts it is about.

Who comes first decides (``ingress.translate.age``), and who loses is told who won.

A path of a rule (``Claim``) always comes before a default backend.  Then:

1. A host belongs to the Ingresses that name it.  What none of their paths takes goes to
   the default backend of the first of these Ingresses that has one, else to the
   controller's own default backend, else it is 404.  It goes neither to wildcard or
   host-less rules, nor to default backends of Ingresses that do not name the host.
   Where the annotations of an Ingress answer all requests by themselves, its rules without ``http`` are
   such a default backend, of their hosts alone.
2. What no rule's host takes goes to the host-less rules, then to the default backend of
   the first Ingress that has one, with or without rules ("requests that don't match any
   rule", ``IngressSpec.defaultBackend``), else to the controller's own, else it is 404.
   With quirks an Ingress that has rules and annotations of ingress-nginx has no say there:
   that controller serves such a default backend on the hosts of its rules alone.

A default backend becomes a Prefix route for ``/``, so the table knows no special case.
The table lets a host without any route fall to wildcard and host-less routes.  So where
those exist, a host for which nothing usable was asked gets a route that answers 503:
that an Ingress is broken must not hand its host to somebody else's rules.
"""

from collections.abc import Container, Mapping, Sequence

from ingress.annotations.contract.values import quoted
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.routing.paths import rule_path
from ingress.routing.route import Match
from ingress.translate.age import why_first
from ingress.translate.claims import (
    CLAIMS_AT_ONCE,
    DEFAULT_BACKEND_FIELD,
    ROOT,
    Claim,
    ParsedObject,
    claims_to,
    invalid_reference,
)
from ingress.translate.hosts.closing import HostClosing

ALL_HOSTS = ""

_ClaimKey = tuple[Match, bytes] | tuple[Match, bytes, str]
_ROOT_KEY = (Match.PREFIX, b"/")


@frozen
class HostMerge:
    """What became of one host: the claims that won, at most one for each path and match."""

    claims: tuple[Claim, ...]
    is_open: bool
    """Whether nobody took ``/``, which leaves it to the controller's own default backend."""
    problems: tuple[Problem, ...] = ()


def hosts_asked(parsed: ParsedObject) -> tuple[str, ...]:
    """Return the hosts about which *parsed* has a say."""
    if parsed.default_backend is None or parsed.keeps_to_hosts or ALL_HOSTS in parsed.hosts:
        return parsed.hosts
    return (*parsed.hosts, ALL_HOSTS)


def merge_host(host: str, all_parsed: Sequence[ParsedObject], closing: HostClosing) -> Stepwise[HostMerge]:
    """Decide, some claims a step, between *all_parsed*, those that have a say about *host*, sorted oldest first.

    *closing* says what of the host is closed.
    """
    problems: list[Problem] = []
    won: dict[_ClaimKey, Claim] = {}
    count = 0
    for parsed in all_parsed:
        closed = closing.claims.get(parsed.owner)
        for claim in claims_to(parsed, host) if closed is None else closed:
            count += 1
            if not count % CLAIMS_AT_ONCE:
                yield
            winner = won.setdefault(_key(claim), claim)
            # The same path twice in one Ingress, with the same backend, loses nothing.
            same = winner.owner == claim.owner and winner.backend == claim.backend
            if winner is not claim and not same:
                problems.append(_path_conflict(claim, winner))
    rule = won.get(_ROOT_KEY) or _root_expression(won, closing)
    for parsed in all_parsed:
        count += 1
        if not count % CLAIMS_AT_ONCE:
            yield
        wanted = default_claim(parsed, host)
        if wanted is None:
            continue
        is_answered = parsed.default_backend is None
        if rule is not None:
            # Rules took every path, so no request is left, which is as it should be:
            # only an Ingress that has nothing but a default backend gets nothing at all.
            if not parsed.has_rules or (is_answered and rule.owner != parsed.owner):
                problems.append(_default_conflict(wanted, rule, has_rules=False))
            continue
        winner = won.setdefault(_ROOT_KEY, wanted)
        if winner is not wanted:
            problems.append(_default_conflict(wanted, winner, has_rules=parsed.has_rules))
    return HostMerge(tuple(won.values()), rule is None and _ROOT_KEY not in won, tuple(problems))


def falls(host: str, served: Container[str]) -> bool:
    """Whether *host*, if it has no route, falls to one of the hosts *served*, those with routes of their own."""
    if host == ALL_HOSTS:
        return False
    return ALL_HOSTS in served or ("." in host and "*" + host[host.find(".") :] in served)


def block(host: str, all_parsed: Sequence[ParsedObject]) -> Claim:
    """Return the claim that keeps *host*, for which *all_parsed* ask in vain, from falling to others."""
    first = all_parsed[0]
    return Claim(first.owner, host, ROOT, Match.PREFIX, invalid_reference(first.owner), first.rules_field, "")


def _key(claim: Claim) -> _ClaimKey:
    if claim.beginnings is not None:
        # An expression has no other spelling.  Each realm has its own, among which its longest text comes first.
        return claim.match, claim.path.encode("utf-8", "surrogatepass"), claim.beginnings.realm
    return claim.match, rule_path(claim.path)


def _root_expression(won: Mapping[_ClaimKey, Claim], closing: HostClosing) -> Claim | None:
    if not closing.claims:
        return None
    taking = (claim for claim in won.values() if claim.path == ROOT and claim.match is Match.EXPRESSION)
    return next(taking, None)


def default_claim(parsed: ParsedObject, host: str) -> Claim | None:
    """Return the claim to what no rule of *host* takes, None where *parsed* does not want it."""
    owner, backend, field = parsed.owner, parsed.default_backend, DEFAULT_BACKEND_FIELD
    if backend is None:
        if host not in parsed.answered:
            return None
        backend, field = invalid_reference(owner), parsed.rules_field
    backend = parsed.protocols.reference_for(host, backend)
    return Claim(owner, host, ROOT, Match.PREFIX, backend, field, field)


def _path_conflict(loser: Claim, winner: Claim) -> Problem:
    hosts = f"host {loser.host}" if loser.host else "all hosts"
    what = f"{loser.match.value} path {quoted(loser.path)} of {hosts}"
    if winner.owner == loser.owner:
        message = f"{what} stands in this {winner.owner.kind} twice; the one at {winner.field} is used"
    else:
        why = why_first(winner.owner, loser.owner)
        message = f"{what} belongs to {winner.owner}, {why}"
    return _problem(loser, Reason.PATH_CONFLICT, message)


def _default_conflict(loser: Claim, winner: Claim, *, has_rules: bool) -> Problem:
    if winner.field == loser.field:
        why = why_first(winner.owner, loser.owner)
    else:
        why = f"whose {winner.field} takes every path"
    if loser.field != DEFAULT_BACKEND_FIELD:
        # A rule without paths, which annotations answer: it stands for all paths, and is no default backend.
        asked = f"host {loser.host}" if loser.host else "all hosts"
        message = f"it has no path of {asked}, so what it asks for there, such as a redirect, has no effect"
        return _problem(loser, Reason.PATH_CONFLICT, f"{message}: requests go to {winner.owner}, {why}")
    hosts = f"host {loser.host}, where no rule takes them," if loser.host else "hosts that no rule names"
    message = f"requests for {hosts} go to {winner.owner}, {why}"
    if has_rules and not loser.host:
        message += "; this default backend serves only hosts of its own rules"
    return _problem(loser, Reason.DEFAULT_BACKEND_CONFLICT, message)


def _problem(claim: Claim, reason: Reason, message: str) -> Problem:
    return claim.owner.problem(reason, message, claim.field)

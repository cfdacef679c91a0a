"""Bringing together what all Ingresses ask for: one claim for each host, path and match.

Who comes first decides (``ingress.translate.age``), and who loses is told who won.

A path of a rule (``Claim``) always comes before a default backend.  Then:

1. A host belongs to the Ingresses that name it.  What none of their paths takes goes to
   the default backend of the first of these Ingresses that has one, else to the
   controller's own default backend, else it is 404.  It goes neither to wildcard or
   host-less rules, nor to default backends of Ingresses that do not name the host.
2. What no rule's host takes goes to the host-less rules, then to the default backend of
   the first Ingress that has one, with or without rules ("requests that don't match any
   rule", ``IngressSpec.defaultBackend``), else to the controller's own, else it is 404.

A default backend becomes a Prefix route for ``/``, so the table knows no special case.
The table lets a host without any route fall to wildcard and host-less routes.  So where
those exist, a host for which nothing usable was asked gets a route that answers 503:
that an Ingress is broken must not hand its host to somebody else's rules.
"""

from collections.abc import Iterable, Sequence

from attrs import frozen

from ingress.model.backends import BackendReference
from ingress.model.objects import Ingress
from ingress.model.problems import Problem, Reason
from ingress.policy.values import quoted
from ingress.routing.paths import rule_path
from ingress.routing.route import Match
from ingress.translate.age import why_first
from ingress.translate.rules import ROOT, Claim, IngressReading, invalid_reference

ALL_HOSTS = ""

_ClaimKey = tuple[str, Match, bytes]


@frozen
class Merged:
    """The claims that won: at most one for each host, path and match."""

    claims: tuple[Claim, ...]
    unserved: tuple[str, ...]
    """Hosts for which nobody took ``/``: left to the controller's own default backend."""
    problems: tuple[Problem, ...]


def merge(readings: Sequence[IngressReading], *, has_global_default: bool) -> Merged:
    """Decide between *readings*, which are sorted oldest first.

    *has_global_default* says that whatever is left unserved has a default backend.
    """
    problems: list[Problem] = []
    won: dict[_ClaimKey, Claim] = {}
    for reading in readings:
        for claim in reading.claims:
            winner = won.setdefault(_key(claim.host, claim.path, claim.match), claim)
            # The same path twice in one Ingress, with the same backend, loses nothing.
            same = winner.ingress is claim.ingress and winner.backend == claim.backend
            if winner is not claim and not same:
                problems.append(_path_conflict(claim, winner))
    rule_hosts = dict.fromkeys(host for reading in readings for host in reading.hosts)
    rule_hosts.setdefault(ALL_HOSTS)
    defaults = _default_claims(readings, won, problems)
    unserved: list[str] = []
    for host in rule_hosts:
        root = _key(host, ROOT, Match.PREFIX)
        if root in won:
            continue
        if host in defaults:
            won[root] = defaults[host]
        else:
            unserved.append(host)
    if not has_global_default:
        won.update(_blocks(readings, won))
    return Merged(tuple(won.values()), tuple(unserved), tuple(problems))


def _key(host: str, path: str, match: Match) -> _ClaimKey:
    return (host, match, rule_path(path))


def _default_claims(
    readings: Iterable[IngressReading], won: dict[_ClaimKey, Claim], problems: list[Problem]
) -> dict[str, Claim]:
    """Return the default backend of each host that has one, and report those that come too late."""
    defaults: dict[str, Claim] = {}
    for reading in readings:
        if reading.default_backend is None:
            continue
        for host in dict.fromkeys((*reading.hosts, ALL_HOSTS)):
            claim = _default_claim(reading.ingress, host, reading.default_backend)
            rule = won.get(_key(host, ROOT, Match.PREFIX))
            if rule is not None:
                # Rules took every path, so no request is left, which is as it should be:
                # only an Ingress that has nothing but a default backend gets nothing at all.
                if not reading.ingress.rules:
                    problems.append(_default_conflict(claim, rule))
                continue
            winner = defaults.setdefault(host, claim)
            if winner is not claim:
                problems.append(_default_conflict(claim, winner))
    return defaults


def _blocks(readings: Iterable[IngressReading], won: dict[_ClaimKey, Claim]) -> dict[_ClaimKey, Claim]:
    """Return claims that keep hosts without any route from falling to less precise hosts."""
    served = {host for host, _, _ in won}
    blocks: dict[_ClaimKey, Claim] = {}
    for reading in readings:
        for host in reading.hosts:
            wildcard = "*" + host[host.find(".") :] if "." in host else ALL_HOSTS
            falls = host != ALL_HOSTS and (ALL_HOSTS in served or wildcard in served)
            if falls and host not in served:
                backend = invalid_reference(reading.ingress)
                claim = Claim(reading.ingress, host, ROOT, Match.PREFIX, backend, "spec.rules", "")
                blocks.setdefault(_key(host, ROOT, Match.PREFIX), claim)
    return blocks


def _default_claim(ingress: Ingress, host: str, backend: BackendReference) -> Claim:
    field = "spec.defaultBackend"
    return Claim(ingress, host, ROOT, Match.PREFIX, backend, field, field)


def _path_conflict(loser: Claim, winner: Claim) -> Problem:
    hosts = f"host {loser.host}" if loser.host else "all hosts"
    what = f"{loser.match.value} path {quoted(loser.path)} of {hosts}"
    if winner.ingress is loser.ingress:
        message = f"{what} stands in this Ingress twice; the one at {winner.field} is used"
    else:
        why = why_first(winner.ingress, loser.ingress)
        message = f"{what} belongs to Ingress {winner.ingress.key}, {why}"
    return _problem(loser, Reason.PATH_CONFLICT, message)


def _default_conflict(loser: Claim, winner: Claim) -> Problem:
    if winner.field == loser.field:
        why = why_first(winner.ingress, loser.ingress)
    else:
        why = f"whose {winner.field} takes every path"
    hosts = f"host {loser.host}, where no rule takes them," if loser.host else "hosts that no rule names"
    message = f"requests for {hosts} go to Ingress {winner.ingress.key}, {why}"
    if loser.ingress.rules and not loser.host:
        message += "; this default backend serves only hosts of its own rules"
    return _problem(loser, Reason.DEFAULT_BACKEND_CONFLICT, message)


def _problem(claim: Claim, reason: Reason, message: str) -> Problem:
    key = claim.ingress.key
    return Problem("Ingress", key.namespace, key.name, reason, message, claim.field)

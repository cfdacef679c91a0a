"""Further hosts: those that annotations of an object add to the hosts of its rules, as aliases or as redirects.

A further host is as good as a rule for it, with these bounds:

- A rule for the very host takes it away, of the same namespace or of an older object; whoever asked for it is told by a note.
  With ``--shared-hosts`` any rule does, as in ingress-nginx.  A younger stranger's rule is one beside those of the alias, as on any host.
- Of several objects that ask for it, the oldest gets it.  Another one that asks for the same in the same namespace loses
  nothing; all others are told.
- An alias has what the namespace of whoever asks for it has on its target; with ``--shared-hosts`` what all have there, as in ingress-nginx.
- A host that is redirected has nothing but the redirect: no other annotation holds there.

What is found here goes the way of all hosts from there on: whose it is, its certificates, its routes.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from attrs import evolve

from ingress.annotations.annotations import settings_of
from ingress.annotations.hosts.further_hosts import FURTHER_HOSTS, FurtherHostSettings
from ingress.annotations.redirects.https_redirect import REDIRECTS
from ingress.model.cluster.problems import Problem, Reason
from ingress.routing.route import Match
from ingress.translate.age import by_age, why_first
from ingress.translate.claims import (
    NO_HOSTS,
    ROOT,
    Claim,
    FurtherHost,
    ParsedObject,
    claims_to,
    invalid_reference,
)
from ingress.translate.ownership import is_stranger


class Heard(NamedTuple):
    """Who has a say about a host, sorted oldest first, and what those are told who would like to."""

    all_parsed: Sequence[ParsedObject]
    problems: Iterable[Problem] = ()
    """Made as they are taken, once: there may be thousands, of which whoever looks for the owner alone needs none."""
    alias: FurtherHost | None = None
    """What makes an alias of the host, if it is one."""

    def canaries(
        self, host: str, canaries_of: Callable[[str], Sequence[ParsedObject]]
    ) -> Sequence[ParsedObject]:
        """Return the canaries of *host*, sorted oldest first: of an alias, those of its target as well.

        *canaries_of* returns those that name a host.
        """
        own = canaries_of(host)
        wish = self.alias
        if wish is None:
            return own
        beside = [
            evolve(parsed, canary_claims=_moved(parsed, parsed.canary_claims, wish))
            for parsed in canaries_of(wish.target)
            if parsed not in own
        ]
        return sorted((*own, *beside), key=lambda parsed: by_age(parsed.owner))


def hear(
    host: str,
    naming: Sequence[ParsedObject],
    askers: Sequence[ParsedObject],
    naming_of: Callable[[str], Sequence[ParsedObject]],
    *,
    is_shared: bool,
) -> Heard:
    """Decide who has a say about *host*.

    *naming* have a rule for it, *askers* ask for it as a further host, and *naming_of* returns who has a rule for another host; all
    of them are sorted oldest first.
    """
    if not askers:
        return Heard(naming)
    first = askers[0]
    taking = [one for one in naming if is_shared or not _is_younger_stranger(one, first)]
    if taking:
        return Heard(naming, (_taken(host, asker, taking[0]) for asker in askers))
    wish = _wish(first, host)
    problems = (
        _lost(host, asker, first)
        for asker in askers[1:]
        if not _is_same(_wish(asker, host), wish)
        or not (is_shared or not is_stranger(asker.owner, first.owner))
    )
    if wish.is_redirect:
        found = [_redirected(first, wish)]
    else:
        found = [
            _aliased(parsed, wish)
            for parsed in naming_of(wish.target)
            if is_shared or not is_stranger(parsed.owner, first.owner)
        ]
    all_parsed = sorted((*found, *naming), key=lambda parsed: by_age(parsed.owner))
    return Heard(all_parsed, problems, None if wish.is_redirect else wish)


def further_hosts(parsed: ParsedObject | None) -> dict[str, None]:
    """Return the further hosts that *parsed* asks for, each once."""
    return {} if parsed is None else {one.host: None for one in parsed.further}


def further_targets(parsed: ParsedObject | None) -> dict[str, None]:
    """Return the hosts of its rules that the further hosts of *parsed* go by, each once."""
    return {} if parsed is None or not parsed.further else dict.fromkeys(parsed.by_host.further_by_target)


def _is_younger_stranger(parsed: ParsedObject, first: ParsedObject) -> bool:
    return is_stranger(parsed.owner, first.owner) and by_age(parsed.owner) > by_age(first.owner)


def _wish(parsed: ParsedObject, host: str) -> FurtherHost:
    return parsed.by_host.further[host]


def _is_same(one: FurtherHost, another: FurtherHost) -> bool:
    return (one.target, one.is_redirect) == (another.target, another.is_redirect)


def _aliased(parsed: ParsedObject, wish: FurtherHost) -> ParsedObject:
    """Return what *parsed* would be, had it for the further host what it has for the target."""
    host = wish.host
    claims = _moved(parsed, claims_to(parsed, wish.target), wish)
    answered = frozenset((host,)) if wish.target in parsed.answered else NO_HOSTS
    return evolve(parsed, hosts=(host,), claims=claims, answered=answered, further=())


def _moved(parsed: ParsedObject, claims: Iterable[Claim], wish: FurtherHost) -> tuple[Claim, ...]:
    host, reference_for = wish.host, parsed.protocols.reference_for
    return tuple(
        evolve(claim, host=host, backend=reference_for(host, claim.backend))
        for claim in claims
        if claim.host == wish.target
    )


def _redirected(parsed: ParsedObject, wish: FurtherHost) -> ParsedObject:
    """Return an object that only sends the further host to the target."""
    owner, usual = parsed.owner, parsed.settings.of(REDIRECTS)
    settings = FurtherHostSettings(
        redirects_to=wish.target, status=usual.status, keeps_slash=usual.preserve_trailing_slash
    )
    claim = Claim(owner, wish.host, ROOT, Match.PREFIX, invalid_reference(owner), wish.field, "")
    return ParsedObject(
        owner, parsed.source, (claim,), (wish.host,), None, settings_of((FURTHER_HOSTS, settings)), ()
    )


def _taken(host: str, asker: ParsedObject, naming: ParsedObject) -> Problem:
    message = f"host {host} has a rule of its own, in {naming.owner}, and is served by that"
    return asker.owner.problem(Reason.ANNOTATION_NOTE, message, _wish(asker, host).field)


def _lost(host: str, asker: ParsedObject, first: ParsedObject) -> Problem:
    message = f"host {host} is a further host of {first.owner}, {why_first(first.owner, asker.owner)}"
    return asker.owner.problem(Reason.HOST_CONFLICT, message, _wish(asker, host).field)

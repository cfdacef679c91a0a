"""Further hosts: those that annotations of an object add to the hosts of its rules, as aliases or as redirects.

A further host is as good as a rule for it, with these bounds:

- A rule for the very host takes it away, of the same namespace or of an older object; whoever asked for it is told by a note.
  With ``--shared-hosts`` any rule does, as in ingress-nginx.  A younger stranger's rule is one beside those of the alias, as on any host.
- Of several objects that ask for it, the oldest gets it.  Another one that asks for the same in the same namespace loses
  nothing; all others are told.
- An alias has what the namespace of whoever asks for it has on its target; with ``--shared-hosts`` what all have there, as in ingress-nginx.
- A host that is redirected has nothing but the redirect: no other annotation holds there.
- The aliases that one object asks for are served in its order, as long as their routes are no more than ``MOST_ALIASED``, or what older
  objects of its namespace leave (``alias_budgets``): a few bytes of an annotation ask for all routes of a host over again.

What is found here goes the way of all hosts from there on: whose it is, its certificates, its routes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from typing import Final, NamedTuple

from attrs import evolve

from ingress.annotations.annotations import settings_of
from ingress.annotations.hosts.further_hosts import ALIASES, FURTHER_HOSTS, FurtherHostSettings
from ingress.annotations.redirects.https_redirect import REDIRECTS
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import Stepwise, in_order
from ingress.routing.route import Match
from ingress.translate.age import SORTED_AT_ONCE, by_age, why_first
from ingress.translate.claims import (
    NO_HOSTS,
    ROOT,
    Claim,
    FurtherHost,
    ParsedObject,
    claims_to,
    invalid_reference,
)
from ingress.translate.hosts.alias_budgets import (
    MOST_ALIASED,
    MOST_OF_NAMESPACE,
    NO_LIMITS,
    aliases_of,
)
from ingress.translate.ownership import is_stranger

_CLAIMS_AT_ONCE: Final = 500


class Heard(NamedTuple):
    """Who has a say about a host, sorted oldest first, and what those are told who would like to."""

    all_parsed: Sequence[ParsedObject]
    problems: Iterable[Problem] = ()
    """Made as they are taken, once: there may be thousands, of which whoever looks for the owner alone needs none."""
    alias: FurtherHost | None = None
    """What makes an alias of the host, if it is one."""

    beside: Sequence[ParsedObject] = ()
    """Of an alias, the canaries of its target, as they stand there."""

    def canaries(self, own: Sequence[ParsedObject]) -> Stepwise[Sequence[ParsedObject]]:
        """Return the canaries of the host, sorted oldest first, in steps: its *own*, and of an alias those of its target as well."""
        wish = self.alias
        if wish is None:
            return own
        found = list(own)
        for parsed in self.beside:
            if parsed not in own:
                claims = yield from _moved(parsed, parsed.canary_claims, wish)
                found.append(evolve(parsed, canary_claims=claims))
        return (yield from _by_age(found))


def hear(
    host: str,
    naming: Sequence[ParsedObject],
    askers: Sequence[ParsedObject],
    naming_of: Callable[[str], Stepwise[Sequence[ParsedObject]]],
    canaries_of: Callable[[str], Stepwise[Sequence[ParsedObject]]],
    *,
    is_shared: bool,
    is_whole: bool = True,
    limits: Callable[[str], Mapping[Owner, int]] = lambda namespace: NO_LIMITS,
) -> Stepwise[Heard]:
    """Decide who has a say about *host*, in steps.

    *naming* have a rule for it, *askers* ask for it as a further host, *naming_of* finds in steps who has a rule for another host, and *canaries_of*
    its canaries; all of them are sorted oldest first.  Where it *is_whole*, those who come along to an alias have their claims there; who
    only looks for the owner needs none.  *limits* says by namespace how many routes the aliases may have of objects that get fewer than others.
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
        return Heard((yield from _by_age((_redirected(first, wish), *naming))), problems)
    named = _of_ours((yield from naming_of(wish.target)), first.owner, is_shared=is_shared)
    beside = _of_ours((yield from canaries_of(wish.target)), first.owner, is_shared=is_shared)
    limit = limits(first.owner.key.namespace).get(first.owner)
    if _is_too_much(first, wish, named, beside, MOST_ALIASED if limit is None else limit):
        return Heard(naming, chain((_left_out(host, first, limit),), problems))
    found: list[ParsedObject] = []
    for parsed in named:
        moved = parsed
        if is_whole:
            moved = yield from _aliased(parsed, wish)
        found.append(moved)
    return Heard((yield from _by_age((*found, *naming))), problems, wish, beside)


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


def _by_age(all_parsed: Iterable[ParsedObject]) -> Stepwise[Sequence[ParsedObject]]:
    return (yield from in_order(all_parsed, lambda parsed: by_age(parsed.owner), SORTED_AT_ONCE))


def _of_ours(all_parsed: Iterable[ParsedObject], owner: Owner, *, is_shared: bool) -> Sequence[ParsedObject]:
    """Return those that come along to an alias that *owner* asks for."""
    return [parsed for parsed in all_parsed if is_shared or not is_stranger(parsed.owner, owner)]


def _is_too_much(
    asker: ParsedObject,
    wish: FurtherHost,
    named: Iterable[ParsedObject],
    canaries: Iterable[ParsedObject],
    limit: int,
) -> bool:
    """Whether this alias of *asker*, and those before it, would have more than *limit* routes."""
    most = limit // (aliases_of(asker).index(wish.host) + 1)
    claims = chain(
        *(claims_to(parsed, wish.target) for parsed in named),
        *((claim for claim in parsed.canary_claims if claim.host == wish.target) for parsed in canaries),
    )
    return next(islice(claims, most, None), None) is not None


def _aliased(parsed: ParsedObject, wish: FurtherHost) -> Stepwise[ParsedObject]:
    """Return what *parsed* would be, had it for the further host what it has for the target."""
    host = wish.host
    claims = yield from _moved(parsed, claims_to(parsed, wish.target), wish)
    answered = frozenset((host,)) if wish.target in parsed.answered else NO_HOSTS
    return evolve(parsed, hosts=(host,), claims=claims, answered=answered, further=())


def _moved(parsed: ParsedObject, claims: Iterable[Claim], wish: FurtherHost) -> Stepwise[tuple[Claim, ...]]:
    host, reference_for = wish.host, parsed.protocols.reference_for
    found: list[Claim] = []
    for number, claim in enumerate(claims, 1):
        if claim.host == wish.target:
            found.append(evolve(claim, host=host, backend=reference_for(host, claim.backend)))
        if not number % _CLAIMS_AT_ONCE:
            yield
    return tuple(found)


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


def _left_out(host: str, asker: ParsedObject, limit: int | None) -> Problem:
    message = f"{ALIASES}: host {host} is left out, for with it the aliases of this Ingress would have more than {MOST_ALIASED if limit is None else limit} routes"
    if limit is not None:
        message += f", which is what those of older Ingresses of the namespace leave of {MOST_OF_NAMESPACE}"
    return asker.owner.problem(Reason.INVALID_ANNOTATION, message, _wish(asker, host).field)

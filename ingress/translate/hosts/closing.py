"""What of a host is closed, since this controller does not honor what an Ingress asks for.

An Ingress whose guard is missing answers 503 on all of its paths.  A guard in a ``server-snippet`` is one of the whole
host, so it closes the paths of other Ingresses there, too: those of its own namespace; and those of all, if its namespace
has the oldest rule for the host.

Paths that are regular expressions, of which some may have to be closed, are decided about besides
(``ingress.translate.hosts.expressions``).
"""

from collections.abc import Mapping, Sequence
from typing import Final

from attrs import Factory, evolve

from ingress.annotations.redirects.url_redirects import URL_REDIRECTS
from ingress.annotations.requests.path_rewrites import PATH_REWRITES
from ingress.annotations.snippets.family import SERVER_SNIPPET
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.translate.claims import CLAIMS_AT_ONCE, Claim, ParsedObject
from ingress.translate.hosts.expressions import host_expressions
from ingress.translate.ownership import is_stranger, owner_of


@frozen
class HostClosing:
    """What of one host is closed.  ``NOTHING_CLOSED`` for most."""

    claims: Mapping[Owner, tuple[Claim, ...]] = Factory(dict)
    """The claims to the host of those Ingresses where they are others than were read."""
    guarded: frozenset[Owner] = frozenset()
    """The Ingresses that answer 503 here because of another one's guard."""
    guards_all: bool = False
    """Whether that holds for whatever the host has."""
    problems: tuple[Problem, ...] = ()

    def lacks_guard(self, parsed: ParsedObject) -> bool:
        """Whether *parsed* must let nobody in here."""
        return parsed.settings.lacks_guard or parsed.owner in self.guarded


NOTHING_CLOSED: Final = HostClosing()


def close_host(
    host: str, all_parsed: Sequence[ParsedObject], *, is_shared: bool, quirks: bool
) -> Stepwise[HostClosing]:
    """Decide, in steps, what of *host* is closed; *all_parsed* have a say about it, and are sorted oldest first.

    Where hosts are shared, all namespaces are one; without *quirks*, each Ingress speaks for its own paths alone.
    """
    has_others = len(all_parsed) > 1
    for number, parsed in enumerate(all_parsed):
        if number and not number % CLAIMS_AT_ONCE:
            yield
        if (
            parsed.has_regexes
            or parsed.settings.guards_hosts
            or parsed.settings.asks(PATH_REWRITES)
            or (has_others and parsed.settings.of(URL_REDIRECTS).app_root)
        ):
            return (yield from _Closing(host, all_parsed, is_shared=is_shared).decide(quirks=quirks))
    return NOTHING_CLOSED


class _Closing:
    """The decision about one host."""

    def __init__(self, host: str, all_parsed: Sequence[ParsedObject], *, is_shared: bool) -> None:
        self._host = host
        self._is_shared = is_shared
        self._shown = f"host {host}" if host else "all hosts"
        self._parsed = all_parsed
        self._problems: list[Problem] = []

    def decide(self, *, quirks: bool) -> Stepwise[HostClosing]:
        guarded, guards_all = yield from self._guards()
        closing = HostClosing({}, guarded, guards_all)
        paths = yield from host_expressions(
            self._host, self._parsed, closing.lacks_guard, is_shared=self._is_shared, quirks=quirks
        )
        return evolve(closing, claims=paths.claims, problems=(*self._problems, *paths.problems))

    def _guards(self) -> Stepwise[tuple[frozenset[Owner], bool]]:
        """Find who is closed by a guard of another Ingress, and whether everybody is."""
        naming = [one for one in self._parsed if self._host in one.hosts]
        guards = [one.owner for one in naming if one.settings.guards_hosts]
        if not guards:
            return frozenset(), False
        owner = owner_of(self._host, naming)
        of_all = next((one for one in guards if self._is_shared or not is_stranger(one, owner)), None)
        # Of each namespace the oldest one.
        by_namespace = {one.key.namespace: one for one in reversed(guards)}
        guarded = set()
        for number, parsed in enumerate(self._parsed, 1):
            if not number % CLAIMS_AT_ONCE:
                yield
            asked_by = parsed.owner
            own = by_namespace.get(asked_by.key.namespace, of_all)
            if own is None or parsed.settings.lacks_guard:
                continue
            guarded.add(asked_by)
            message = (
                f"requests for {self._shown} answer 503: {SERVER_SNIPPET} of {own} guards"
                " all of its paths, and is not honored by this controller"
            )
            self._report(asked_by, parsed.rules_field, Reason.UNSUPPORTED_ANNOTATION, message)
        return frozenset(guarded), of_all is not None

    def _report(self, owner: Owner, field: str, reason: Reason, message: str) -> None:
        self._problems.append(owner.problem(reason, message, field))

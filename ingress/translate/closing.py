"""What of a host is closed, since this controller does not honor what an Ingress asks for.

- **Guards.**  An Ingress whose guard is missing answers 503 on all of its paths.  A guard in a
  ``server-snippet`` is one of the whole host, so it closes the paths of other Ingresses there, too: those of its own
  namespace; and those of all, if its namespace has the oldest rule for the host.
- **Regular expressions.**  ``use-regex`` or ``rewrite-target`` of one Ingress makes expressions of all paths that its
  namespace has on the host (in ingress-nginx: of all that anybody has there).  A path that means something else as
  an expression is then a route of its *beginnings*, which answers 503; so is such a path of an
  Ingress whose guard is missing, whether anybody asks for expressions or not.
- **Both.**  A plain path is compared as ever, although ingress-nginx would take it for an expression: that
  is told.  Where its guard is missing, its beginning is closed besides, in upper and lower case.

What nobody asked to be an expression is compared as it is written, as in ingress-nginx.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attrs import Factory, evolve, frozen

from ingress.annotations.regexes import REGEXES
from ingress.annotations.snippets.family import SERVER_SNIPPET
from ingress.annotations.values import quoted
from ingress.model.objects import Owner
from ingress.model.problems import Problem, Reason
from ingress.routing.beginnings import EVERYBODY, Beginnings, literal_beginnings
from ingress.routing.paths import rule_path
from ingress.routing.route import Match
from ingress.translate.age import why_first
from ingress.translate.claims import ROOT, Claim, ParsedObject, claims_to
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


def close_host(host: str, all_parsed: Sequence[ParsedObject], *, is_shared: bool = False) -> HostClosing:
    """Decide what of *host* is closed; *all_parsed* have a say about it, and are sorted oldest first.

    Where hosts are shared, all namespaces are one.
    """
    for parsed in all_parsed:
        settings = parsed.settings
        if (
            parsed.has_regexes
            or settings.guards_hosts
            or settings.of(REGEXES).use_regex
            or settings.of(REGEXES).rewrite_target
        ):
            return _Closing(host, all_parsed, is_shared=is_shared).decide()
    return NOTHING_CLOSED


class _Closing:
    """The decision about one host."""

    def __init__(self, host: str, all_parsed: Sequence[ParsedObject], *, is_shared: bool) -> None:
        self._host = host
        self._is_shared = is_shared
        self._shown = f"host {host}" if host else "all hosts"
        self._parsed = all_parsed
        self._problems: list[Problem] = []
        # By namespace: the Ingress that makes expressions of its paths.
        self._regex_of: dict[str, Owner] = {}
        # The prefixes of those that were looked at, which are older, in lower case and without slash at the end.
        self._older: dict[bytes, list[Claim]] = {}

    def decide(self) -> HostClosing:
        guarded, guards_all = self._guards()
        for parsed in self._parsed:
            paths = tuple(claim.path for claim in claims_to(parsed, self._host))
            if parsed.settings.of(REGEXES).makes_regexes(paths):
                self._regex_of.setdefault(self._scope(parsed.owner), parsed.owner)
        claims = {}
        for parsed in self._parsed:
            read = tuple(claims_to(parsed, self._host))
            found = tuple(
                self._claims(parsed, read, lacks_guard=parsed.settings.lacks_guard or parsed.owner in guarded)
            )
            for claim in found:
                if claim.match is Match.PREFIX:
                    self._older.setdefault(rule_path(claim.path).lower().rstrip(b"/"), []).append(claim)
            if found != read:
                claims[parsed.owner] = found
        return HostClosing(claims, guarded, guards_all, tuple(self._problems))

    def _scope(self, owner: Owner) -> str:
        """Return the namespace of *owner*, or what stands for all of them where hosts are shared."""
        return EVERYBODY if self._is_shared else owner.key.namespace

    def _guards(self) -> tuple[frozenset[Owner], bool]:
        """Return who is closed by a guard of another Ingress, and whether everybody is."""
        naming = [one for one in self._parsed if self._host in one.hosts]
        guards = [one.owner for one in naming if one.settings.guards_hosts]
        if not guards:
            return frozenset(), False
        owner = owner_of(self._host, naming)
        of_all = next((one for one in guards if self._is_shared or not is_stranger(one, owner)), None)
        guarded = set()
        for parsed in self._parsed:
            asked_by = parsed.owner
            own = next((one for one in guards if one.key.namespace == asked_by.key.namespace), of_all)
            if own is None or parsed.settings.lacks_guard:
                continue
            guarded.add(asked_by)
            message = (
                f"requests for {self._shown} answer 503: {SERVER_SNIPPET} of {own} guards"
                " all of its paths, and is not honored by this controller"
            )
            self._report(asked_by, parsed.rules_field, Reason.UNSUPPORTED_ANNOTATION, message)
        return frozenset(guarded), of_all is not None

    def _claims(self, parsed: ParsedObject, read: Sequence[Claim], *, lacks_guard: bool) -> Iterator[Claim]:
        """Yield what becomes of the claims of one Ingress."""
        asking = self._regex_of.get(self._scope(parsed.owner))
        untold = asking is not None
        for claim in read:
            regex = claim.regex
            if regex is None:
                yield claim
                if asking is not None and lacks_guard:
                    why = f"path {quoted(claim.path)} lacks its guard on a host whose paths are regular expressions"
                    yield from self._beginning(claim, literal_beginnings(rule_path(claim.path)), why)
                elif asking is not None and untold and claim.path != ROOT:
                    untold = False
                    self._tell_plain(claim, asking)
            elif asking is not None or lacks_guard:
                why = _regex_reason(claim, asking)
                yield from self._beginning(claim, regex.beginnings, why)
            elif regex.fault is not None:
                message = f"path {quoted(claim.path)} {regex.fault}; the path is ignored"
                self._report(claim.owner, f"{claim.field}.path", Reason.INVALID_PATH, message)
            else:
                yield claim
                if regex.is_likely:
                    message = f"path {quoted(claim.path)} looks like a regular expression; it is compared as it is written"
                    self._report(claim.owner, f"{claim.field}.path", Reason.INVALID_PATH, message)

    def _beginning(self, claim: Claim, beginnings: Beginnings, why: str) -> Iterator[Claim]:
        """Yield the claim that keeps *beginnings* closed, as far as no older Ingress of another namespace has them."""
        namespace = self._scope(claim.owner)
        kept, winner = self._without_older(beginnings, namespace)
        if kept.prefixes or kept.whole or winner is None:
            message = f"{why}; requests for {kept}, in upper or lower case, answer 503"
            self._report(claim.owner, f"{claim.field}.path", Reason.UNSUPPORTED_PATH, message)
        yield evolve(claim, match=Match.BEGINNING, beginnings=kept)
        if winner is not None:
            message = f"{why}; requests for {quoted(winner.path)} of {self._shown} go to {winner.owner}, {why_first(winner.owner, claim.owner)}"
            self._report(claim.owner, f"{claim.field}.path", Reason.PATH_CONFLICT, message)

    def _without_older(self, beginnings: Beginnings, namespace: str) -> tuple[Beginnings, Claim | None]:
        """Return what of *beginnings* is free, and one of the claims by which another part of them is not."""
        winner: Claim | None = None

        def is_free(text: bytes) -> bool:
            nonlocal winner
            for older in self._older.get(text.rstrip(b"/\n"), ()):
                if self._scope(older.owner) != namespace:
                    winner = older
                    return False
            return True

        prefixes = tuple(filter(is_free, beginnings.prefixes))
        whole = frozenset(filter(is_free, beginnings.whole))
        own_prefixes = tuple(one for one in beginnings.prefixes if one not in prefixes)
        return Beginnings(prefixes, whole, namespace, own_prefixes, beginnings.whole - whole), winner

    def _tell_plain(self, claim: Claim, asking: Owner) -> None:
        message = (
            f"path {quoted(claim.path)} of {self._shown} is compared as its pathType says; in ingress-nginx"
            f" {asking} makes regular expressions of all paths there, so that they would match in upper"
            " and lower case, whatever follows them, and the longest first"
        )
        self._report(claim.owner, f"{claim.field}.path", Reason.UNSUPPORTED_PATH, message)

    def _report(self, owner: Owner, field: str, reason: Reason, message: str) -> None:
        self._problems.append(owner.problem(reason, message, field))


def _regex_reason(claim: Claim, asking: Owner | None) -> str:
    if asking is None:
        return f"path {quoted(claim.path)} looks like a regular expression, and the guard of its Ingress is missing"
    by = "" if asking == claim.owner else f", as {asking} has it"
    return f"path {quoted(claim.path)} is a regular expression{by}; these are not honored by this controller"

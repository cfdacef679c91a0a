"""Which paths of a host are regular expressions, and what becomes of them.

``use-regex`` or ``rewrite-target`` of one Ingress makes expressions of all paths of the host, in all Ingresses of its
namespace, or of all namespaces where hosts are shared: those are one *realm*.  Without quirks each Ingress is a realm of
its own.  Within a realm, as in ingress-nginx, the longest text is asked first, whatever the types of paths.  An Ingress without paths
asks for its realm where it is the oldest there and nobody has ``/``; and ``app-root`` comes before all expressions, and before a ``/`` that is another one's there.
Of several the one of the longest path comes first, where one realm has all of the host.

- An expression that is not run here is closed: it becomes a route of its *beginnings*, which answers 503.
- So does a path with signs of an expression whose Ingress lacks its guard, in a realm where nobody asks for expressions.
- What another realm has on the host stays as it is written; between realms, the beginning of an expression counts as
  a path would (``ingress.routing.expression_routes``), and both sides are told.

What nobody asked to be an expression is compared as it is written, as in ingress-nginx.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from attrs import evolve

from ingress.annotations.contract.values import quoted
from ingress.annotations.redirects.url_redirects import APP_ROOT, URL_REDIRECTS
from ingress.annotations.requests.path_rewrites import PATH_REWRITES
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.model.text.expressions import ExpressionRefused
from ingress.model.text.path_expressions import PathExpression, read_path_expression
from ingress.routing.beginnings import EVERYBODY, Beginnings, regex_beginnings
from ingress.routing.paths import rule_path
from ingress.routing.route import Match
from ingress.translate.age import why_first
from ingress.translate.claims import CLAIMS_AT_ONCE, ROOT, Claim, ParsedObject, claims_to
from ingress.translate.hosts.app_roots import AppRoots, Place, place_of
from ingress.translate.ownership import OPTION

NO_QUIRKS: Final = "--no-quirks"
GUARD_IS_MISSING: Final = "the guard of its Ingress is missing"
"""Said of a path that is closed for that alone."""
_Order = tuple[int, int]
"""Which Ingress of the host, counted from the oldest, and which of the paths of that."""


@frozen
class HostExpressions:
    """What became of the paths of one host."""

    claims: Mapping[Owner, tuple[Claim, ...]]
    """The claims to the host of those Ingresses where they are others than were read."""
    problems: tuple[Problem, ...]


def host_expressions(
    host: str,
    all_parsed: Sequence[ParsedObject],
    lacks_guard: Callable[[ParsedObject], bool],
    *,
    is_shared: bool,
    quirks: bool,
) -> Stepwise[HostExpressions]:
    """Decide, some paths a step, about those of *host*; *all_parsed* have a say about it, and are sorted oldest first."""
    reading = _Reading(host, is_shared=is_shared, quirks=quirks)
    yield from reading.begin(all_parsed)
    claims = {}
    decided = 0
    for order, parsed in enumerate(all_parsed):
        # One without any claim may be told something.
        decided += 1
        if not decided % CLAIMS_AT_ONCE:
            yield
        read = tuple(claims_to(parsed, host))
        becoming: list[Claim] = []
        for claim in reading.claims(parsed, read, order, lacks_guard=lacks_guard(parsed)):
            becoming.append(claim)
            decided += 1
            if not decided % CLAIMS_AT_ONCE:
                yield
        found = tuple(becoming)
        reading.note_older(parsed, found)
        if found != read:
            claims[parsed.owner] = found
    for number, (owner, kept) in enumerate(reading.without_lost_roots(), 1):
        claims[owner] = kept
        if not number % CLAIMS_AT_ONCE:
            yield
    return HostExpressions(claims, tuple(reading.problems))


class _Reading:
    """The reading of the paths of one host, oldest Ingress first."""

    def __init__(self, host: str, *, is_shared: bool, quirks: bool) -> None:
        self._host = host
        self._is_shared = is_shared
        self._quirks = quirks
        self._shown = f"host {host}" if host else "all hosts"
        self.problems: list[Problem] = []
        # By realm: the Ingress that makes expressions of its paths.
        self._asking: dict[str, ParsedObject] = {}
        # The exact paths of realms with expressions, and those that ingress-nginx has once for another reason.
        self._exact: set[tuple[str, str]] = set()
        self._single: set[tuple[str, str]] = set()
        # The oldest prefix ``/`` of each realm with expressions, which comes before an Exact one, however old that is.
        self._roots: dict[str, Claim] = {}
        # By realm and path as it is written, but for Exact ones: the first claim, and for which path it is now.
        self._first: dict[tuple[str, str], tuple[Claim, str]] = {}
        # One claim of each realm in which nobody makes expressions.
        self._plain: list[Claim] = []
        # Those that ingress-nginx looks at: one of their paths there is no older one's.
        self._present: set[Owner] = set()
        # The prefixes of those that were looked at, which are older, in lower case and without slash at the end: of each
        # realm the oldest claim.
        self._older: dict[bytes, dict[str, Claim]] = {}
        # The oldest one of the host, if it wrote no path there and no other of its realm wrote ``/``: nginx has that for it.
        self._pathless: Owner | None = None
        # The oldest claim to every path, which keeps / from the app-root of other realms that are younger, ...
        self._every: Claim | None = None
        # ... and the first such claim that an Exact / was left to which is older than all of them, with who has left it.
        self._left: tuple[Claim, Owner] | None = None
        # The Exact paths / in rules that are compared as they are written, oldest first, each with all claims of its Ingress.
        self._exact_roots: list[tuple[Claim, tuple[Claim, ...]]] = []
        self._exact_root_realms: set[str] = set()
        # The realms that app-root has added / for, which would be behind those of others that are older.
        self._added_root_realms: set[str] = set()
        # Those of app-root; asked where one realm has all of the host.
        self._all_app_roots = AppRoots()
        self._is_one_realm = False
        # Whether there is an Exact path / in a rule.
        self._has_exact_root = False
        # By realm: the first claim to / of an app-root, and how many of those it comes before, though they are older.
        self._app_roots: dict[str, tuple[Claim, int]] = {}

    def begin(self, all_parsed: Sequence[ParsedObject]) -> Iterator[None]:
        """Find out, some Ingresses a step, in which realms paths are expressions, and of which paths there is one alone."""
        realms: set[str] = set()
        plain: dict[str, Claim] = {}
        had: set[tuple[str, str, bool]] = set()
        # By realm: who makes expressions, and by its number which Ingress of the host that is; and who has the host first.
        asking: dict[str, tuple[int, ParsedObject]] = {}
        oldest: dict[str, tuple[int, ParsedObject]] = {}
        for number, parsed in enumerate(all_parsed, 1):
            if not number % CLAIMS_AT_ONCE:
                yield
            claims = _written(claims_to(parsed, self._host))
            realm = self._realm(parsed.owner)
            realms.add(realm)
            # As in ingress-nginx, a path that an older one has with the same type asks for nothing.
            own = {(realm, one.path, one.match is Match.EXACT) for one in claims} - had
            had |= own
            if own:
                self._present.add(parsed.owner)
                if parsed.settings.of(URL_REDIRECTS).app_root:
                    places = (place_of(path, is_exact=is_exact) for _, path, is_exact in own)
                    self._all_app_roots.note(parsed.owner, places)
            self._has_exact_root = self._has_exact_root or (realm, ROOT, True) in own
            if parsed.settings.of(PATH_REWRITES).makes_regexes(tuple(path for _, path, _ in own)):
                asking.setdefault(realm, (number, parsed))
            if self._host in parsed.hosts:
                oldest.setdefault(realm, (number, parsed))
            if claims:
                plain.setdefault(realm, claims[0])
        for realm, (number, parsed) in oldest.items():
            if (realm, ROOT, False) not in had and self._is_at_root(parsed):
                asking[realm] = number, parsed
        self._is_one_realm = len(realms) == 1
        first = next((parsed for parsed in all_parsed if self._host in parsed.hosts), None)
        if first is not None and (self._realm(first.owner), ROOT, False) not in had:
            self._pathless = first.owner
            if first.settings.of(URL_REDIRECTS).app_root and not _written(claims_to(first, self._host)):
                self._all_app_roots.note(first.owner, (place_of(ROOT, is_exact=False),))
        in_their_order = sorted(asking.items(), key=lambda item: item[1][0])
        self._asking = {realm: parsed for realm, (_, parsed) in in_their_order}
        self._plain = [claim for realm, claim in plain.items() if realm not in self._asking]
        for number, parsed in enumerate(all_parsed if self._asking else (), 1):
            if not number % CLAIMS_AT_ONCE:
                yield
            realm = self._realm(parsed.owner)
            for claim in _written(claims_to(parsed, self._host)):
                if claim.match is Match.EXACT:
                    self._exact.add((realm, claim.path))
                    continue
                if claim.path == ROOT and realm in self._asking:
                    self._roots.setdefault(realm, claim)
                if not claim.is_prefix or not _is_double(parsed, claim):
                    self._single.add((realm, claim.path))
        if self._quirks:
            self._tell_both_sides()

    def _is_at_root(self, parsed: ParsedObject) -> bool:
        """Whether *parsed*, the oldest Ingress of the host, makes expressions without a path.

        Where no rule has ``/`` as a prefix, nginx has it with all that this one asks for.
        """
        if not (self._quirks and self._host) or any(True for _ in claims_to(parsed, self._host)):
            return False
        return parsed.settings.of(PATH_REWRITES).makes_regex(ROOT)

    def _has_app_root(self, parsed: ParsedObject, written: Sequence[Claim]) -> bool:
        """Whether *parsed* redirects ``/``, which is a path of its own and becomes an expression, before any path is looked at."""
        if parsed.owner not in self._present or not parsed.settings.of(URL_REDIRECTS).app_root:
            return False
        if self._app_root_before(parsed.owner) is not None:
            return False
        return any(claim.path == ROOT for claim in written)

    def _app_root_before(self, owner: Owner) -> tuple[Place, Owner] | None:
        """Return whose ``app-root`` comes before that of *owner*, whoever is older, with the path that it does by."""
        return self._all_app_roots.before(owner) if self._is_one_realm else None

    def _lost_root(self, written: Sequence[Claim], realm: str) -> bool:
        """Whether all that is *written* of ``/`` is its prefix, and an older Ingress of *realm* has that."""
        matches = {claim.match for claim in written if claim.path == ROOT}
        # The oldest claim comes first, and has the path.
        return matches == {Match.PREFIX} and next(iter(self._older.get(b"", ())), None) == realm

    def _realm(self, owner: Owner) -> str:
        """Return whose paths are expressions together with those of *owner*."""
        if not self._quirks:
            return str(owner)
        return EVERYBODY if self._is_shared else owner.key.namespace

    def _lost_exact_root(self, written: Sequence[Claim], realm: str) -> bool:
        """Whether *written* has no ``/`` of type Exact, and older Ingresses of *realm*, and of no other, have it."""
        if any(map(_is_exact_root, written)):
            return False
        return self._has_all_exact_roots(realm)

    def _younger_has_exact_root(self, written: Sequence[Claim]) -> bool:
        """Whether *written* has no ``/`` of type Exact, nor has an older Ingress, and a younger one has it."""
        has_older = self._exact_roots or any(map(_is_exact_root, written))
        return self._is_one_realm and self._has_exact_root and not has_older

    def _has_all_exact_roots(self, realm: str) -> bool:
        """Whether there are Exact paths ``/`` so far, and nobody else's, be it of ``app-root``: that one would have what they lack then."""
        return self._exact_root_realms == {realm} and self._added_root_realms <= {realm}

    def without_lost_roots(self) -> Iterator[tuple[Owner, tuple[Claim, ...]]]:
        """Yield whose claims lack an Exact ``/``, with those that are left.

        ingress-nginx looks at ``app-root`` before any path, also where an older Ingress has ``/`` itself.
        """
        for winner, number in self._app_roots.values():
            for root, claims in self._exact_roots[:number]:
                if root.owner == winner.owner:
                    continue
                message = f"requests for {quoted(ROOT)} of {self._shown} go to {winner.owner}, whose {APP_ROOT} comes before the paths of its namespace"
                self._report(root.owner, f"{root.field}.path", Reason.PATH_CONFLICT, message)
                yield root.owner, tuple(claim for claim in claims if not _is_exact_root(claim))

    def note_older(self, parsed: ParsedObject, claims: tuple[Claim, ...]) -> None:
        """Note the paths of an Ingress for those that are younger."""
        for claim in claims:
            if _is_exact_root(claim):
                realm = self._realm(claim.owner)
                if claim.is_added or self._has_app_root(parsed, claims):
                    # Where another realm has the path, too, age decides.
                    number = len(self._exact_roots) if self._has_all_exact_roots(realm) else 0
                    self._app_roots.setdefault(realm, (claim, number))
                if claim.is_added:
                    self._added_root_realms.add(realm)
                else:
                    self._exact_roots.append((claim, claims))
                    self._exact_root_realms.add(realm)
            if self._every is None and _takes_all(claim):
                self._every = claim
            if claim.match is Match.PREFIX:
                text = rule_path(claim.path).lower().rstrip(b"/")
                self._older.setdefault(text, {}).setdefault(self._realm(claim.owner), claim)

    def claims(
        self, parsed: ParsedObject, read: Sequence[Claim], order: int, *, lacks_guard: bool
    ) -> Iterator[Claim]:
        """Yield what becomes of the claims of one Ingress."""
        owner = parsed.owner
        realm = self._realm(owner)
        written = _written(read)
        added = len(written) < len(read)
        every = self._every_of_others(realm)
        # In ingress-nginx an Ingress that has none of its paths has no say, nor one without any that is not the oldest.
        has_say = owner in self._present if written else not self._quirks or owner == self._pathless
        asks_root = has_say and bool(parsed.settings.of(URL_REDIRECTS).app_root)
        if asks_root and (first := self._app_root_before(owner)) is not None:
            self._tell_later(read, *first)
        elif has_say and added:
            for claim in read:
                if claim.is_added and every is None:
                    yield claim
                elif claim.is_added and every is not None:
                    self._tell_every(claim, every, f"{APP_ROOT} asks for / without having that path")
        read = written
        asking = self._asking.get(realm)
        if asking is not None:
            if not parsed.settings.of(PATH_REWRITES).makes_regexes(tuple(claim.path for claim in read)):
                self._tell_reached(read, asking.owner)
            is_root = not added and self._has_app_root(parsed, read)
            if is_root:
                if every is None:
                    yield _exact_root(read)
                else:
                    self._tell_every(_exact_root(read), every, f"{APP_ROOT} asks for / alone")
            for place, claim in enumerate(read):
                root = self._roots.get(realm) if claim.path == ROOT and claim.match is Match.EXACT else None
                if root is None:
                    yield self._expression(parsed, claim, realm, (order, place))
                else:
                    self._tell_twice(claim, root, "the prefix comes first")
                    if not is_root and self._every is None and self._left is None:
                        self._left = root, owner
            return
        if (
            not added
            and every is None
            and self._has_app_root(parsed, read)
            and (
                self._lost_root(read, realm)
                or self._lost_exact_root(read, realm)
                or self._younger_has_exact_root(read)
            )
        ):
            yield _exact_root(read)
        for place, claim in enumerate(read):
            regex = claim.regex
            if regex is None:
                yield claim
            elif lacks_guard:
                why = f"path {quoted(claim.path)} looks like a regular expression, and {GUARD_IS_MISSING}"
                yield self._closed(claim, regex.beginnings, (order, place), why)
            elif regex.fault is not None:
                message = f"path {quoted(claim.path)} {regex.fault}; the path is ignored"
                self._report(claim.owner, f"{claim.field}.path", Reason.INVALID_PATH, message)
            else:
                yield claim
                if regex.is_likely:
                    message = f"path {quoted(claim.path)} looks like a regular expression; it is compared as it is written"
                    self._report(claim.owner, f"{claim.field}.path", Reason.INVALID_PATH, message)

    def _expression(self, parsed: ParsedObject, claim: Claim, realm: str, order: _Order) -> Claim:
        """Return what becomes of a path that is an expression."""
        path = claim.path
        texts: tuple[str, ...] = (path,)
        is_exacts = (realm, path) in self._exact
        # What is only read as a prefix takes the same with both texts, but where one of them is another one's.
        is_double = (claim.is_prefix or is_exacts) and _is_double(parsed, claim)
        if is_double:
            slashed = f"{path}/"
            texts = (slashed,) if is_exacts else (slashed, path)
            if is_exacts or ((realm, path) in self._single and (realm, slashed) not in self._exact):
                # The text without slash is another one's, too, or alone; nobody has the other one.
                path = slashed
        beginnings = regex_beginnings(texts[-1]) if claim.regex is None else claim.regex.beginnings
        refusal = "" if claim.regex is None else claim.regex.refusal
        expressions: tuple[PathExpression, ...] = ()
        read = (
            None
            if claim.regex is None or len(texts) > 1 or texts[0] != claim.path
            else claim.regex.expression
        )
        if read is not None:
            expressions = (read,)
        elif not refusal:
            try:
                expressions = tuple(map(read_path_expression, texts))
            except ExpressionRefused as refused:
                refusal = str(refused)
        if not refusal:
            refusal = parsed.settings.of(PATH_REWRITES).refusal_of(
                claim.path, lambda: parsed.by_host.group_names
            )
        if refusal:
            return self._closed(claim, beginnings, order, f"path {quoted(claim.path)} {refusal}")
        if claim.match is not Match.EXACT:
            self._tell_taken(claim, path)
        kept, winner = self._placed(claim, beginnings, order)
        if is_double:
            kept = evolve(kept, text=claim.path)
        if winner is not None:
            self._tell_winner(claim, winner, f"path {quoted(claim.path)} is a regular expression")
        return Claim(
            claim.owner,
            claim.host,
            path,
            Match.EXPRESSION,
            claim.backend,
            claim.field,
            claim.backend_field,
            claim.regex,
            kept,
            expressions,
            claim.is_prefix,
        )

    def _closed(self, claim: Claim, beginnings: Beginnings, order: _Order, why: str) -> Claim:
        """Return the claim that keeps *beginnings* closed, as far as no older Ingress of another realm has them."""
        kept, winner = self._placed(claim, beginnings, order)
        if kept.prefixes or kept.whole or winner is None:
            message = f"{why}; requests for {kept}, in upper or lower case, answer 503"
            self._report(claim.owner, f"{claim.field}.path", Reason.UNSUPPORTED_PATH, message)
        if winner is not None:
            self._tell_winner(claim, winner, why)
        return evolve(claim, match=Match.BEGINNING, beginnings=kept)

    def _placed(self, claim: Claim, beginnings: Beginnings, order: _Order) -> tuple[Beginnings, Claim | None]:
        """Return *beginnings* with what of them is free, and one of the claims by which another part of them is not."""
        winner: Claim | None = None
        realm = self._realm(claim.owner)
        number, place = order
        if not self._older:
            return Beginnings(beginnings.prefixes, beginnings.whole, realm, order=number, place=place), None

        def is_free(text: bytes) -> bool:
            nonlocal winner
            for its_realm, older in self._older.get(text.rstrip(b"/\n"), {}).items():
                if its_realm != realm:
                    winner = older
                    return False
            return True

        prefixes = tuple(filter(is_free, beginnings.prefixes))
        whole = frozenset(filter(is_free, beginnings.whole))
        own = tuple(one for one in beginnings.prefixes if one not in prefixes)
        return Beginnings(prefixes, whole, realm, own, beginnings.whole - whole, number, place), winner

    def _every_of_others(self, realm: str) -> Claim | None:
        """Return the claim to every path which keeps ``/`` from the app-root of *realm*, None where that may have it."""
        every = self._every
        if every is None and self._left is not None:
            every, _ = self._left
            # These are in the order of their age: where its own comes first, the path is its own all the same.
            if realm in self._roots and self._first_root(realm, self._realm(every.owner)) == realm:
                return None
        return None if every is None or self._realm(every.owner) == realm else every

    def _first_root(self, one: str, other: str) -> str:
        return next(realm for realm in self._roots if realm in (one, other))

    # Who is told what

    def _tell_winner(self, claim: Claim, winner: Claim, why: str) -> None:
        self._tell_of(claim, winner, why, why_first(winner.owner, claim.owner))

    def _tell_every(self, claim: Claim, every: Claim, why: str) -> None:
        since = self._left[1] if self._left is not None and every is self._left[0] else every.owner
        first = why_first(since, claim.owner)
        self._tell_of(
            claim, every, why, first if since == every.owner else f"to which {since} leaves them, {first}"
        )

    def _tell_later(self, claims: Sequence[Claim], place: Place, first: Owner) -> None:
        """Tell of the ``app-root`` of an Ingress that has *claims*, where that of *first* comes before."""
        root = next((claim for claim in claims if claim.path == ROOT), None)
        if root is None:
            return
        message = (
            f"{APP_ROOT} redirects nothing of {self._shown}: that of {first} comes first,"
            f" by its path {quoted(place.path)}"
        )
        field = root.field if root.is_added else f"{root.field}.path"
        self._report(root.owner, field, Reason.PATH_CONFLICT, message)

    def _tell_of(self, claim: Claim, winner: Claim, why: str, first: str) -> None:
        message = f"{why}; requests for {quoted(winner.path)} of {self._shown} go to {winner.owner}, {first}"
        self._report(claim.owner, f"{claim.field}.path", Reason.PATH_CONFLICT, message)

    def _tell_taken(self, claim: Claim, path: str) -> None:
        """Tell of a claim, for *path* now, that an older or earlier one has with another type, and so all that it would take.

        Who has the same path is told where claims are brought together.
        """
        winner, its_path = self._first.setdefault((self._realm(claim.owner), claim.path), (claim, path))
        if its_path != path:
            self._tell_twice(claim, winner, why_first(winner.owner, claim.owner))

    def _tell_twice(self, claim: Claim, winner: Claim, why: str) -> None:
        """Tell of a claim whose requests all go to *winner*, of the same path and another type; *why*, where that is another Ingress's."""
        if winner.owner != claim.owner:
            what, who = f"belongs to {winner.owner}", why
        elif winner.backend != claim.backend:
            what, who = f"stands in this {claim.owner.kind} twice", f"the one at {winner.field} is used"
        else:
            return
        message = f"path {quoted(claim.path)} of {self._shown} {what}, with two types, which mean nothing beside regular expressions; {who}"
        self._report(claim.owner, claim.field, Reason.PATH_CONFLICT, message)

    def _tell_reached(self, claims: Sequence[Claim], asking: Owner) -> None:
        """Tell an Ingress whose paths another one made expressions of, by the first that means something else now."""
        claim = next((one for one in claims if one.path != ROOT), None)
        if claim is not None:
            message = (
                f"path {quoted(claim.path)} of {self._shown} is compared as a regular expression, in upper and lower case"
                f" and whatever follows it, as {asking} has it for all paths there; {NO_QUIRKS} keeps it as it is written"
            )
            self._report(claim.owner, f"{claim.field}.path", Reason.ANNOTATION_NOTE, message)

    def _tell_both_sides(self) -> None:
        """Tell of namespaces whose paths stay as they are written although another one asks for expressions there."""
        if not self._plain:
            return
        others = ", ".join(sorted(claim.owner.key.namespace for claim in self._plain)[:4])
        first: Owner | None = None
        for asking in self._asking.values():
            first = first or asking.owner
            message = (
                f"paths of {self._shown} are regular expressions in namespace {asking.owner.key.namespace} alone, and those"
                f" of {others} stay as they are written, unless the controller is started with {OPTION}"
            )
            self._report(asking.owner, asking.rules_field, Reason.HOST_CONFLICT, message)
        for claim in self._plain if first is not None else ():
            message = (
                f"path {quoted(claim.path)} of {self._shown} stays as it is written, although {first} makes regular"
                f" expressions of paths there, unless the controller is started with {OPTION}"
            )
            self._report(claim.owner, f"{claim.field}.path", Reason.HOST_CONFLICT, message)

    def _report(self, owner: Owner, field: str, reason: Reason, message: str) -> None:
        self.problems.append(owner.problem(reason, message, field))


def _written(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Return those of *claims* whose paths stand in rules."""
    return tuple(claim for claim in claims if not claim.is_added)


def _takes_all(claim: Claim) -> bool:
    """Whether there is no path that is not meant."""
    if claim.match is Match.PREFIX:
        return claim.path == ROOT
    return claim.beginnings is not None and claim.beginnings.takes_all


def _is_exact_root(claim: Claim) -> bool:
    """Whether ``/`` alone is meant."""
    return claim.match is Match.EXACT and claim.path == ROOT


def _exact_root(written: Sequence[Claim]) -> Claim:
    """Return the claim to ``/`` alone, of an Ingress that has that path."""
    root = next(claim for claim in written if claim.path == ROOT)
    return evolve(root, match=Match.EXACT, regex=None, is_prefix=False, is_added=True)


def _is_double(parsed: ParsedObject, claim: Claim) -> bool:
    """Whether ingress-nginx has the path of *claim* twice, with a slash and without, both in the place of its text."""
    if claim.match is Match.EXACT or claim.path.endswith("/"):
        return False
    return not parsed.settings.of(PATH_REWRITES).makes_regex(claim.path)

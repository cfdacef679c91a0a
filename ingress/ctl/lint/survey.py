"""What rules look at: the route objects of one layer with what they ask for, and what became of that."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Final, NamedTuple

from attrs import Factory, evolve

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.redirects.slash_redirect import SlashRedirect
from ingress.annotations.requests.path_rewrites import PATH_REWRITES, RewriteMissing
from ingress.ctl.inputs.input import Input, Place
from ingress.ctl.inputs.unknown_fields import UnknownField
from ingress.ctl.lint.finding import Change, Finding
from ingress.ctl.lint.rules import Rule
from ingress.ctl.suggestions.suggested_classes import SuggestedClasses
from ingress.model.cluster.objects import ClusterObject, Kind, ObjectId, ObjectKey, Owner
from ingress.model.cluster.problems import Problem
from ingress.model.frozen import frozen
from ingress.model.text.lookup_budget import found_at_last
from ingress.model.upstream.upstream_tls import ProtocolRefused
from ingress.routing.expression_routes import PathTooLong
from ingress.routing.paths import rule_path
from ingress.routing.route import Match, Route
from ingress.translate.age import by_age
from ingress.translate.claims import ROOT, Claim, ParsedObject
from ingress.translate.options import TranslateOptions
from ingress.translate.ownership import wildcard_of
from ingress.translate.readers.gateway.objects.gateways import gateway_classes_of
from ingress.translate.readers.gateway.objects.names import GATEWAY_CLASS
from ingress.translate.readers.ingress.classes import controller_of
from ingress.translate.readers.ingress.objects import Ingress
from ingress.translate.readers.reader import Readers, Verdict
from ingress.translate.readers.route_kinds import ROUTE_KINDS
from ingress.translate.snapshot import Snapshot

MOST_SEARCHES: Final = 400_000
"""How many expressions of one host are searched for, at most, to see whose requests they take."""


@frozen(eq=False, slots=False)
class Subject:
    """One route object, and all that became of it.

    *parsed* is what it asks for; None of an object that is not served by this controller.
    """

    object_id: ObjectId
    value: ClusterObject
    verdict: Verdict
    parsed: ParsedObject | None
    prefix: str
    """The annotations prefix, with its slash."""
    place: Place
    problems: tuple[Problem, ...] = ()
    """Those that can be told by what is known."""
    routes: tuple[Route, ...] = ()
    strays: Mapping[str, str] = Factory(dict)
    """Its annotations of other prefixes, by full name, that are called as those of ingress-nginx are."""
    unknown: tuple[UnknownField, ...] = ()
    """Its fields that there are not."""
    is_classless: bool = False
    """Whether it names no class, and is judged as if it were ours all the same."""

    @cached_property
    def annotations(self) -> Mapping[str, str]:
        """Its annotations of the prefix, without it, in the order in which they were written; of other kinds none."""
        if not isinstance(self.value, Ingress):
            return {}
        return {
            name.removeprefix(self.prefix): value
            for name, value in self.value.annotations.items()
            if name.startswith(self.prefix)
        }

    @cached_property
    def is_closed(self) -> bool:
        """Whether any of its routes answers 503 for what it asks for."""
        return any(
            isinstance(route.backend.protocol, ProtocolRefused)
            or any(isinstance(spec, GuardMissing | RewriteMissing) for spec in route.filters)
            for route in self.routes
        )

    def says(self, name: str) -> bool:
        """Whether it says anything by the annotation *name*."""
        return bool(self.annotations.get(name, "").strip())

    def field(self, name: str) -> str:
        """Return the field of the annotation *name*."""
        return f"metadata.annotations[{self.prefix}{name}]"

    def setting(self, name: str, value: str | None) -> Change:
        """Return the change that sets the annotation *name*, or removes it."""
        return Change(self.field(name), value)

    def found(
        self, rule: Rule, message: str, at: str = "", advice: str = "", changes: Iterable[Change] = ()
    ) -> Finding:
        """Return a finding about it."""
        return Finding(
            rule.level,
            rule.name,
            self.object_id,
            message,
            at,
            advice or rule.advice,
            self.place,
            tuple(changes),
        )

    @cached_property
    def claims_by_host(self) -> Mapping[str, tuple[Claim, ...]]:
        """Return the claims of its rules by host; those that annotations add are not among them."""
        found: dict[str, list[Claim]] = {}
        for claim in () if self.parsed is None else self.parsed.claims:
            if not claim.is_added:
                found.setdefault(claim.host, []).append(claim)
        return {host: tuple(some) for host, some in found.items()}


class _Begun(NamedTuple):
    """What the expressions of a host begin with, and the lengths of these texts."""

    counts: Counter[bytes]
    lengths: list[int]

    def count(self, path: bytes) -> int:
        """Return how many expressions may be searched for in *path*, at least one."""
        return 1 + sum(self.counts[path[:length]] for length in self.lengths if length <= len(path))


class Survey:
    """All route objects of a layer, and what they have to do with each other.

    *is_told* says whether enough is known to tell a problem.
    """

    def __init__(self, given: Input, is_told: Callable[[Problem], bool]) -> None:
        asked = given.options
        # Who names no class is judged as if it were ours: whether its class is the default is for the cluster to say.
        served = evolve(asked, watch_without_class=True)
        readers = Readers(ROUTE_KINDS, served)
        objects: list[tuple[ObjectId, Verdict]] = []
        classless: set[ObjectId] = set()
        for object_id, verdict in given.route_objects():
            if not verdict.is_ours:
                kind, key = object_id
                before, verdict = verdict, readers[kind].judge(given.state.of(kind)[key], given.state)
                if verdict.is_ours or verdict.problems != before.problems:
                    classless.add(object_id)
            objects.append((object_id, verdict))
        self.given = _with(given, served) if classless else given
        routes: dict[ObjectId, list[Route]] = {}
        for route in self.given.snapshot.routes():
            if route.owner is not None:
                routes.setdefault(route.owner.id, []).append(route)
        self.classes = SuggestedClasses(given.state, given.options)
        prefix = given.options.annotations_prefix + "/"
        self._left: dict[str, int] = {}
        self.subjects: dict[ObjectId, Subject] = {}
        for object_id, verdict in objects:
            kind, key = object_id
            value = given.state.of(kind)[key]
            self.subjects[object_id] = Subject(
                object_id,
                value,
                verdict,
                readers[kind].read(value, verdict.related) if verdict.is_ours else None,
                prefix,
                given.place(object_id),
                tuple(filter(is_told, self.given.problems_of.get(object_id, ()))),
                tuple(routes.get(object_id, ())),
                given.strays.get(object_id, {}),
                given.unknown.get(object_id, ()),
                object_id in classless,
            )

    def is_class_of_nobody(self, name: str) -> bool:
        """Whether the class *name*, which is not ours, is nobody's as far as is known: in a cluster all classes have to be seen for that."""
        given = self.given
        is_seen = given.options.from_manifests or given.coverage.knows(Kind.INGRESS_CLASS, "")
        return is_seen and controller_of(name, given.state) is None

    def gateway_classes(self, name: str) -> Sequence[str]:
        """Return the GatewayClasses of ours, if that of this *name* is none as far as is known; in a cluster all have to be seen for that."""
        given = self.given
        is_seen = given.options.from_manifests or given.coverage.knows(GATEWAY_CLASS, "")
        classes = gateway_classes_of(given.state)
        if not is_seen or ObjectKey("", name) in classes:
            return ()
        return sorted(
            key.name
            for key, one in classes.items()
            if one.controller == given.options.gateway.controller_name
        )

    @property
    def snapshot(self) -> Snapshot:
        """What would be served."""
        return self.given.snapshot

    @cached_property
    def by_host(self) -> Mapping[str, tuple[Subject, ...]]:
        """Those with rules for each host, the oldest first; under the empty text those for all hosts."""
        found: dict[str, list[tuple[ParsedObject, Subject]]] = {}
        for subject in self.subjects.values():
            if subject.parsed is not None:
                for host in subject.parsed.hosts:
                    found.setdefault(host, []).append((subject.parsed, subject))
        return {
            host: tuple(subject for _, subject in sorted(some, key=lambda one: by_age(one[0].owner)))
            for host, some in found.items()
        }

    @cached_property
    def parents(self) -> frozenset[str]:
        """What stands behind the first label of the hosts of rules, with its dot: what wildcards are of."""
        return frozenset(host[host.index(".") :] for host in self.by_host if "." in host)

    @cached_property
    def _tls(self) -> frozenset[str]:
        """The hosts for which any object asks for TLS, wildcards as themselves."""
        found: set[str] = set()
        for subject in self.subjects.values():
            parsed = subject.parsed
            for entry in () if parsed is None else parsed.certificates:
                found.update(host.lower() for host in entry.hosts or (() if parsed is None else parsed.hosts))
        return frozenset(found - {""})

    def has_tls(self, host: str) -> bool:
        """Whether any object asks for TLS of *host*, by its name, by the wildcard above it or by a certificate that covers it."""
        asked = self._tls
        return host in asked or (wildcard_of(host) or "") in asked or host in self.snapshot.certificates.exact

    def first_by_namespace(self, host: str) -> Mapping[str, Owner]:
        """Return the oldest with a rule for *host* in each namespace, the oldest of all first."""
        return self._firsts.get(host, {})

    @cached_property
    def _firsts(self) -> Mapping[str, Mapping[str, Owner]]:
        found: dict[str, dict[str, Owner]] = {}
        for host, some in self.by_host.items():
            firsts = found.setdefault(host, {})
            for subject in some:
                if subject.parsed is not None:
                    firsts.setdefault(subject.parsed.owner.key.namespace, subject.parsed.owner)
        return found

    @cached_property
    def with_expressions(self) -> Mapping[str, "_Begun"]:
        """The hosts on which paths are regular expressions, each with what those begin with."""
        found: dict[str, _Begun] = {}
        for host, some in self.snapshot.table.by_host():
            begun = Counter(
                text
                for route in some.routes
                if route.beginnings is not None
                for text in route.beginnings.prefixes
            )
            if any(route.beginnings is not None for route in some.routes):
                found[host] = _Begun(begun, sorted({len(text) for text in begun}))
        return found

    def find(self, host: str, path: bytes) -> Route | None:
        """Return the route that has *path* on *host*; None also where too much was asked about the host before.

        A thousand expressions that begin alike are a thousand searches for each request.
        """
        left = self._left.get(host, MOST_SEARCHES)
        begun = self.with_expressions.get(host)
        self._left[host] = left - (0 if begun is None else begun.count(path.lower()))
        routes = self.snapshot.table.get(host)
        try:
            return None if routes is None or left <= 0 else found_at_last(partial(routes.find, path))
        except PathTooLong:
            return None

    @property
    def hosts_not_searched(self) -> tuple[str, ...]:
        """The hosts for whose paths there were too many expressions to ask for all."""
        return tuple(sorted(host for host, left in self._left.items() if left <= 0))

    @cached_property
    def _askers(self) -> Mapping[str, tuple[Subject, ...]]:
        found: dict[str, list[Subject]] = {}
        for host in self.with_expressions:
            without_paths = []
            for subject in self.by_host.get(host, ()):
                parsed = subject.parsed
                paths = tuple(one.path for one in subject.claims_by_host.get(host, ()))
                if parsed is None:
                    continue
                if parsed.settings.of(PATH_REWRITES).makes_regexes(paths):
                    found.setdefault(host, []).append(subject)
                elif not paths and parsed.settings.of(PATH_REWRITES).makes_regex(ROOT):
                    without_paths.append(subject)
            # Without paths the oldest one alone does, so that it counts where nobody does by a path.
            found.setdefault(host, []).extend(without_paths)
        return {host: tuple(some) for host, some in found.items()}

    def asking(self, host: str, subject: Subject) -> Subject | None:
        """Return the oldest that makes regular expressions of the paths that *subject* has on *host*."""
        is_shared, namespace = self.given.options.shared_hosts, subject.object_id[1].namespace
        some = self._askers.get(host, ())
        return next((one for one in some if is_shared or one.object_id[1].namespace == namespace), None)

    def slashed(self, host: str) -> Mapping[bytes, Owner]:
        """Return the paths of *host* that are redirected to themselves with a slash, each with whose that is."""
        return self._slashed.get(host, {})

    @cached_property
    def _slashed(self) -> Mapping[str, Mapping[bytes, Owner]]:
        found: dict[str, dict[bytes, Owner]] = {}
        for route in self.snapshot.routes():
            if route.match is not Match.EXACT or route.owner is None:
                continue
            if any(isinstance(spec, SlashRedirect) for spec in route.filters):
                found.setdefault(route.host, {})[rule_path(route.path)] = route.owner
        return found

    @cached_property
    def _routes(self) -> Mapping[tuple[Owner, str, str], tuple[Route, ...]]:
        found: dict[tuple[Owner, str, str], list[Route]] = {}
        for route in self.snapshot.routes():
            if route.owner is not None:
                found.setdefault((route.owner, route.host, route.path.rstrip("/")), []).append(route)
        return {key: tuple(some) for key, some in found.items()}

    def route_of(self, claim: Claim) -> Route | None:
        """Return the route that *claim* became; None for one that others have, or nobody."""
        some = self._routes.get((claim.owner, claim.host, claim.path.rstrip("/")), ())
        own = [route for route in some if route.path == claim.path and _is_alike(route, claim)]
        return next(iter(own or [route for route in some if route.match is Match.EXPRESSION]), None)


def _is_alike(route: Route, claim: Claim) -> bool:
    return route.match in (claim.match, Match.EXPRESSION, Match.BEGINNING)


def _with(given: Input, options: TranslateOptions) -> Input:
    return evolve(given, settings=evolve(given.settings, translate=options))

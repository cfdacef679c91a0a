"""The annotation reader: the one table of the annotations that are honored.

Each family brings its part of the table.  A value that a family does not accept is
refused with a ``Problem`` that names object, annotation, value and reason, and the
default stays in force, or what the family says where that would be less safe.  A name
below our prefix that no family knows gets a ``Problem`` too: whoever wrote it believes
that it works; and where it would keep requests out, the Ingress is not served at all
(``ingress.annotations.access.guards``).  A family is added by a row in ``FAMILIES``, in whose order filters of one phase stand.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from attrs import Factory, evolve, field

from ingress.annotations.access.address_ranges import ADDRESS_RANGES
from ingress.annotations.access.blocking import BLOCKING
from ingress.annotations.access.guards import HOST_SNIPPET, keeps_requests_out, may_keep_requests_out
from ingress.annotations.access.satisfy import SATISFY, joined
from ingress.annotations.answers.answer_rates import ANSWER_RATES
from ingress.annotations.answers.answer_rewrites import ANSWER_REWRITES
from ingress.annotations.answers.compression import COMPRESSION
from ingress.annotations.answers.configured_fields import CUSTOM_HEADERS, OPERATOR_FIELDS
from ingress.annotations.answers.cors import CORS
from ingress.annotations.answers.custom_errors import CUSTOM_ERRORS
from ingress.annotations.client_certificates.family import CLIENT_CERTIFICATES
from ingress.annotations.contract.references import NOWHERE, Found, Reference
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import Annotation, Family, ValueRefused, placeholder_hint, quoted
from ingress.annotations.external_auth.family import EXTERNAL_AUTH
from ingress.annotations.firewall.family import FIREWALL
from ingress.annotations.hosts import passthrough
from ingress.annotations.hosts.ciphers import CIPHERS
from ingress.annotations.hosts.further_hosts import FURTHER_HOSTS
from ingress.annotations.hosts.passthrough import PASSTHROUGH
from ingress.annotations.observability.access_logs import ACCESS_LOGS
from ingress.annotations.observability.tracing import TRACING
from ingress.annotations.passwords.family import PASSWORDS
from ingress.annotations.passwords.signing_in import with_sign_in
from ingress.annotations.policy import EVERYTHING, AnnotationPolicy
from ingress.annotations.rate_limits.family import RATE_LIMITS
from ingress.annotations.redirects.https_redirect import REDIRECTS
from ingress.annotations.redirects.url_redirects import URL_REDIRECTS
from ingress.annotations.requests.bodies import BODIES
from ingress.annotations.requests.buffers import BUFFERS
from ingress.annotations.requests.mirrors import MIRRORS
from ingress.annotations.requests.path_rewrites import PATH_REWRITES
from ingress.annotations.requests.upstream_requests import UPSTREAM_REQUESTS
from ingress.annotations.snippets.ending import ending
from ingress.annotations.snippets.family import SNIPPETS
from ingress.annotations.unhonored import asks_for_nothing
from ingress.annotations.unknown_names import OF_INGRESS_NGINX, shown_together, told_of
from ingress.annotations.upstream import canaries
from ingress.annotations.upstream.affinity import AFFINITY
from ingress.annotations.upstream.backend_protocols import UPSTREAMS
from ingress.annotations.upstream.balancing import BALANCING
from ingress.annotations.upstream.canaries import CANARIES
from ingress.annotations.upstream.cluster_ips import CLUSTER_IPS
from ingress.annotations.upstream.retries import RETRIES
from ingress.annotations.upstream.timeouts import TIMEOUTS
from ingress.filters import FilterSpec
from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise, finished
from ingress.model.upstream.backends import BackendReference

S = TypeVar("S")

FAMILIES: tuple[Family[Any], ...] = (
    FURTHER_HOSTS,
    UPSTREAM_REQUESTS,
    ANSWER_REWRITES,
    SNIPPETS,
    URL_REDIRECTS,
    PATH_REWRITES,
    REDIRECTS,
    CORS,
    BODIES,
    CIPHERS,
    UPSTREAMS,
    CLIENT_CERTIFICATES,
    PASSTHROUGH,
    BALANCING,
    AFFINITY,
    RETRIES,
    TIMEOUTS,
    BUFFERS,
    CLUSTER_IPS,
    ACCESS_LOGS,
    TRACING,
    CANARIES,
    RATE_LIMITS,
    ANSWER_RATES,
    BLOCKING,
    ADDRESS_RANGES,
    FIREWALL,  # Behind what costs less, and before anybody is asked who it is, as in nginx.
    PASSWORDS,
    EXTERNAL_AUTH,
    SATISFY,
    COMPRESSION,
    MIRRORS,
    CUSTOM_HEADERS,
    OPERATOR_FIELDS,
    CUSTOM_ERRORS,  # The last row sees answers first; the others see what came of them.
)


@frozen
class AnnotationSettings:
    """What the annotations of one Ingress ask for, family by family.  They hold for all of its paths."""

    asked: frozenset[tuple[str, object]] = frozenset()
    """The settings of each family that something was asked of, by its name."""
    lacks_guard: bool = False
    """Whether it asks for a guard that is not honored; nobody may be let in then."""
    guards_hosts: bool = False
    """Whether that guard is one of its hosts, so that it stands before the paths of others, too."""
    _by_name: dict[str, Any] = field(
        init=False, eq=False, repr=False, default=Factory(lambda self: dict(self.asked), takes_self=True)
    )

    def of(self, family: Family[S]) -> S:
        """Return the settings of *family*."""
        found: S = self._by_name.get(family.name, family.settings)
        return found

    def asks(self, family: Family[S]) -> bool:
        """Whether anything was asked of *family*."""
        return family.name in self._by_name

    def but(self, others: Iterable[tuple[Family[Any], object]]) -> "AnnotationSettings":
        """Return these with *others* in place of those of the same families; themselves where that is no difference."""
        by_name = dict(self._by_name)
        for family, settings in others:
            if settings != family.settings:
                by_name[family.name] = settings
            else:
                by_name.pop(family.name, None)
        return self if by_name == self._by_name else evolve(self, asked=frozenset(by_name.items()))


def settings_of(*asked: tuple[Family[Any], object]) -> AnnotationSettings:
    """Return what asks for these settings of families."""
    return AnnotationSettings(frozenset((family.name, settings) for family, settings in asked))


DEFAULTS: Final = AnnotationSettings()
_NOT_HONORED: Final = "is not honored by this controller"
_NO_SNIPPETS: Final = "is not honored: the operator allows no snippets (allow-snippet-annotations)"


class Annotated(Protocol):
    """An object with annotations."""

    @property
    def owner(self) -> Owner:
        """Who is told of problems."""

    @property
    def annotations(self) -> Mapping[str, str]:
        """Values by full name."""

    @property
    def unreadable(self) -> Iterable[str]:
        """The full names of those that could not be kept, and were told of."""


class AnnotationReader:
    """Reads the annotations below *prefix* (``nginx.ingress.kubernetes.io``, without the slash).

    With *passes_tls*, the operator turned on what ``ssl-passthrough`` asks for.  *families* are honored besides
    those that always are.  *usual* is what the operator has for whoever does not say anything else, annotation
    by annotation.
    """

    def __init__(
        self,
        prefix: str,
        *,
        passes_tls: bool = False,
        families: tuple[Family[Any], ...] = (),
        usual: AnnotationSettings = DEFAULTS,
        policy: AnnotationPolicy = EVERYTHING,
    ) -> None:
        self._policy = policy
        self.usual: Final = usual
        """What holds where nothing is asked for."""
        self._passes_tls = passes_tls
        self._below = prefix + "/"
        all_families = (*FAMILIES, *families)
        self._table: dict[str, tuple[Family[Any], Annotation]] = {
            name: (family, annotation)
            for family in all_families
            for name, annotation in family.annotations.items()
        }
        self._filtering = tuple(
            (family, family.filters) for family in all_families if family.filters is not None
        )
        # Nearly all Ingresses are told by what is usual, or by it and a few annotations.
        self._usual_filtering = tuple(row for row in self._filtering if _filters(row[0], usual))
        self._asking = tuple(
            (family, family.backends) for family in all_families if family.backends is not None
        )
        self._names = self._table.keys() | OF_INGRESS_NGINX
        needing = (name for name, (_, annotation) in self._table.items() if annotation.needs_value)
        self._may_be_blank = self._names - frozenset(needing)
        self._guarding = tuple(
            (family, family.guards) for family in all_families if family.guards is not None
        )
        self._answering = tuple(
            (family, family.answers) for family in all_families if family.answers is not None
        )
        self._exempt = usual.of(EXTERNAL_AUTH).exempt
        self._by_path = tuple(family for family in all_families if family.by_path)
        self._referring = tuple(
            (family, family.references) for family in all_families if family.references is not None
        )
        self._refers_unasked = any(family.filters_unasked for family, _ in self._referring)
        self._naming = frozenset(
            self._below + name for family, _ in self._referring for name in family.annotations
        )

    def field(self, name: str) -> str:
        """Return the field of the annotation *name*, for a problem."""
        return f"metadata.annotations[{self._below}{name}]"

    def full_name(self, name: str) -> str:
        """Return the annotation *name* with its prefix."""
        return self._below + name

    def names_objects(self, annotations: Mapping[str, str]) -> bool:
        """Whether any of *annotations*, by full name, may name a Secret or a ConfigMap by its family's ``references``."""
        return not self._naming.isdisjoint(annotations)

    def references(self, settings: AnnotationSettings, asking: ObjectKey) -> tuple[Reference, ...]:
        """Return what *settings* of the object *asking* refer to, in the order of families."""
        if settings is DEFAULTS and not self._refers_unasked:
            return ()
        return tuple(
            reference
            for family, references in self._referring
            if family.filters_unasked or settings.asks(family)
            for reference in references(settings.of(family), asking)
        )

    @property
    def references_of_operator(self) -> tuple[Reference, ...]:
        """What the operator's own settings refer to."""
        return tuple(
            reference
            for family, references in self._referring
            for reference in references(self.usual.of(family), NOWHERE)
            if reference.is_operators
        )

    def operator_content_problems(self, found: Found) -> Iterator[Problem]:
        """Yield what families have to say of the content that the operator refers to, each of the object that has it."""
        for family, references in self._referring:
            settings = self.usual.of(family)
            by_name = {one.annotation: one for one in references(settings, NOWHERE) if one.is_operators}
            if family.contents is None or not by_name:
                continue
            for remark in family.contents(settings, NOWHERE, found):
                named = None if remark is None else by_name.get(remark.annotation)
                if remark is not None and named is not None and found.has(named):
                    message = f"{remark.annotation}: {remark.message}"
                    yield Problem(named.kind, *named.key, remark.reason, message)

    def content_problems(
        self, owner: Owner, settings: AnnotationSettings, found: Found
    ) -> Iterator[Problem | None]:
        """Yield what families have to say of the content that *settings* of *owner* refer to, and that was *found*.

        None is the end of a step.
        """
        for family, references in self._referring:
            if family.contents is None or not settings.asks(family):
                continue
            if not all(found.has(one) for one in references(settings.of(family), owner.key)):
                continue
            for remark in family.contents(settings.of(family), owner.key, found):
                if remark is None:
                    yield None
                    continue
                message = f"{remark.annotation}: {remark.message}"
                yield owner.problem(remark.reason, message, self.field(remark.annotation))

    def has_any(self, ingress: Annotated) -> bool:
        """Whether *ingress* has an annotation of the prefix, of whatever name."""
        return any(name.startswith(self._below) for name in ingress.annotations)

    def filters(self, settings: AnnotationSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
        """Return the filters that *settings* ask for before a route, in the order of families."""
        is_exempt = facts.path.startswith(self._exempt)
        if settings is self.usual:
            filtering = self._usual_filtering
        else:
            filtering = tuple(row for row in self._filtering if _filters(row[0], settings))
        asked: Sequence[tuple[FilterSpec, bool]] = [
            (spec, family.satisfies(spec) if callable(family.satisfies) else family.satisfies)
            for family, filters in filtering
            if not (is_exempt and family.authenticates)
            for spec in filters(settings.of(family), facts)
        ]
        if settings.asks(PASSWORDS):
            asked = with_sign_in(asked)
        specs = joined(asked) if settings.of(SATISFY).is_any else tuple(spec for spec, _ in asked)
        return ending(specs) if settings.asks(SNIPPETS) else specs

    def unmatched_filters(self, settings: AnnotationSettings, facts: RouteFacts) -> tuple[FilterSpec, ...]:
        """Return those of them that stand before what no route of a host matches, too."""
        return tuple(
            spec
            for family, filters in self._filtering
            if family.holds_unmatched and settings.asks(family)
            for spec in filters(settings.of(family), facts)
        )

    def backends(
        self, settings: AnnotationSettings, facts: RouteFacts
    ) -> tuple[tuple[str, BackendReference], ...]:
        """Return the Services that these filters ask, each with the field that names it, empty for the operator's."""
        if settings is DEFAULTS:
            return ()
        return tuple(
            (self.field(named.annotation) if named.annotation else "", named.reference)
            for family, backends in self._asking
            if settings.asks(family)
            for named in backends(settings.of(family), facts)
        )

    def differ_by_path(self, settings: AnnotationSettings) -> bool:
        """Whether the filters of *settings* may be others for another path or backend of the same owner and host."""
        return settings is not DEFAULTS and any(
            settings.asks(family)
            and (family.by_path_where is None or family.by_path_where(settings.of(family)))
            for family in self._by_path
        )

    def answers(self, settings: AnnotationSettings) -> bool:
        """Whether filters that *settings* ask for answer each request, so that a route needs nothing behind it."""
        return settings is not DEFAULTS and any(
            answers(settings.of(family)) for family, answers in self._answering
        )

    def guards(self, settings: AnnotationSettings) -> bool:
        """Whether *settings* keep anybody out whom TLS that is not terminated here would let in."""
        return settings is not DEFAULTS and any(
            guards(settings.of(family)) for family, guards in self._guarding
        )

    def read(self, ingress: Annotated) -> tuple[AnnotationSettings, tuple[Problem, ...]]:
        """Return what *ingress* asks for, and what it asks for in vain.  Never raises."""
        return finished(self.reading(ingress))

    def reading(
        self, ingress: Annotated, *, tells_unknown: bool = True
    ) -> Stepwise[tuple[AnnotationSettings, tuple[Problem, ...]]]:
        """Return in steps what *ingress* asks for, and what it asks for in vain.  Never raises.

        What is said about names that mean nothing takes the longest; who does not need it does without (*tells_unknown*).
        """
        if not ingress.annotations and not ingress.unreadable:
            return self.usual, ()
        asked: dict[Family[Any], dict[str, object]] = {}
        named: dict[Family[Any], set[str]] = {}
        problems: list[Problem] = []
        unknown: list[str] = []
        lacks_guard = guards_hosts = False
        without_effect = self._without_effect(ingress.annotations)
        if without_effect:
            field = self._below + canaries.ANNOTATION
            message = f"{canaries.ANNOTATION}: {canaries.PRIMARY_SAYS} {shown_together(sorted(without_effect), _shown)}"
            problems.append(_problem(ingress, field, Reason.ANNOTATION_NOTE, message))
        for number, (full_name, value) in enumerate(ingress.annotations.items(), 1):
            if not number % _READ_AT_ONCE:
                yield
            if not full_name.startswith(self._below):
                continue
            name = full_name.removeprefix(self._below)
            if name in without_effect or (not value.strip() and name in self._may_be_blank):
                # As in ingress-nginx, nothing is asked for by saying nothing.
                continue
            known = self._table.get(name) if self._policy.allows(name) else None
            if known is None:
                if name not in OF_INGRESS_NGINX:
                    unknown.append(name)
                    continue
                if asks_for_nothing(name, value):
                    continue
                guards = keeps_requests_out(name, value)
                instead = "the Ingress is served without it"
                if guards:
                    lacks_guard = True
                    instead = "the Ingress answers 503 rather than be open"
                if guards and name == HOST_SNIPPET:
                    guards_hosts = True
                    instead += ", and so do the paths of its namespace on its hosts, or all paths of those that belong to it"
                why = _NOT_HONORED if self._policy.allows(name) else _NO_SNIPPETS
                message = f"{_shown(name)} {why}; {instead}"
                problems.append(_problem(ingress, full_name, Reason.UNSUPPORTED_ANNOTATION, message))
                continue
            family, annotation = known
            forbidden = "" if self._policy is EVERYTHING else self._policy.refusal(annotation.risk, value)
            if forbidden:
                # As in ingress-nginx, there is no such Ingress for that.
                lacks_guard = True
                message = f"{name} {forbidden}; the Ingress answers 503"
                problems.append(_problem(ingress, full_name, Reason.UNSUPPORTED_ANNOTATION, message))
            if family.remarks is not None:
                named.setdefault(family, set()).add(name)
            try:
                parsed = asked.setdefault(family, {})[annotation.setting] = annotation.read(value)
                if annotation.unhonored and parsed:
                    message = f"{name} {_NOT_HONORED}; {annotation.unhonored}"
                    problems.append(_problem(ingress, full_name, Reason.UNSUPPORTED_ANNOTATION, message))
            except ValueRefused as refusal:
                message = f"{name}: {quoted(value)} {refusal}; {annotation.instead}{placeholder_hint(value)}"
                problems.append(_problem(ingress, full_name, Reason.INVALID_ANNOTATION, message))
                if annotation.refused is not None:
                    asked.setdefault(family, {})[annotation.setting] = annotation.refused
        for full_name in ingress.unreadable:
            name = full_name.removeprefix(self._below)
            known = self._table.get(name) if name not in without_effect else None
            if known is not None and known[1].refused is not None:
                asked.setdefault(known[0], {})[known[1].setting] = known[1].refused
                named.setdefault(known[0], set()).add(name)
            elif may_keep_requests_out(name):
                lacks_guard = True
                guards_hosts = guards_hosts or name == HOST_SNIPPET
        for some in told_of(sorted(unknown), self._names) if unknown and tells_unknown else ():
            # To look for what is meant takes a millisecond.
            yield
            message = f"{shown_together(some.names, _shown)}: {some.message}"
            problems.append(
                _problem(ingress, self._below + some.names[0], Reason.UNKNOWN_ANNOTATION, message)
            )
        if not self._passes_tls and asked.get(PASSTHROUGH, {}).pop("passes_tls", False):
            message = f"{passthrough.ANNOTATION} is off, so TLS is terminated here; {passthrough.OPTION} turns it on"
            field = self._below + passthrough.ANNOTATION
            problems.append(_problem(ingress, field, Reason.UNSUPPORTED_ANNOTATION, message))
        told = [(family, evolve(self.usual.of(family), **settings)) for family, settings in asked.items()]
        if named:
            for family, settings in told:
                for remark in (
                    () if family.remarks is None else family.remarks(settings, frozenset(named[family]))
                ):
                    message = f"{remark.annotation}: {remark.message}"
                    problems.append(
                        _problem(ingress, self._below + remark.annotation, remark.reason, message)
                    )
                    lacks_guard = lacks_guard or remark.closes
                    guards_hosts = guards_hosts or remark.closes_hosts
        found = self.usual.but(told)
        if lacks_guard:
            found = evolve(found, lacks_guard=lacks_guard, guards_hosts=guards_hosts)
        return found, tuple(problems)

    def _without_effect(self, annotations: Mapping[str, str]) -> frozenset[str]:
        """Return the names of annotations of a canary that are for its primary to say; none of an Ingress that is none."""
        said = annotations.get(self._below + canaries.ANNOTATION)
        if said is None or not canaries.is_canary(said):
            return frozenset()
        names = (name.removeprefix(self._below) for name in annotations if name.startswith(self._below))
        return frozenset(names) - canaries.SAID_BY_CANARIES


_READ_AT_ONCE: Final = 200
"""Annotations that are read in one step."""


def _filters(family: Family[Any], settings: AnnotationSettings) -> bool:
    """Whether filters of *family* may stand before routes of whoever has *settings*."""
    return family.filters_unasked or settings.asks(family)


def _problem(ingress: Annotated, name: str, reason: Reason, message: str) -> Problem:
    return ingress.owner.problem(reason, message, f"metadata.annotations[{_shown(name)}]")


def _shown(name: str) -> str:
    """Return the name of an annotation for a message: as it is, unless that could spoil a log line."""
    shown = quoted(name)
    return name if shown == f'"{name}"' else shown

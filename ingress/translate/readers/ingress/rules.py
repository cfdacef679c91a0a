"""What one Ingress asks for: paths of hosts, a default backend, settings, each checked by itself.

This module reads one Ingress at a time and knows of no other; what several Ingresses
ask for is brought together by ``ingress.translate.hosts.merging``.

What cannot be used costs as little as possible, and never widens what is left:

- a rule whose host is invalid is dropped; it must not become a rule for all hosts;
- a path that no request can match is dropped, and only that path;
- a path that means something else as a regular expression is kept with what it means: whether it is one is
  for ``ingress.translate.hosts.closing`` to say;
- a path that can be matched, but whose type or backend makes no sense, keeps its
  place and answers 503, so that no shorter path serves in its stead;
- a rule without ``http`` claims its host and leaves every path to the default backend, or to annotations that
  answer by themselves;
- a canary claims nothing, and wants a part of what others claim.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from ingress.annotations.annotations import AnnotationReader, AnnotationSettings
from ingress.annotations.client_certificates.family import CLIENT_CERTIFICATES, SECRET_ANNOTATION
from ingress.annotations.contract.host_facts import HostFacts
from ingress.annotations.contract.route_facts import RouteFacts
from ingress.annotations.contract.values import placeholder_hint, quoted
from ingress.annotations.external_auth.family import EXTERNAL_AUTH, visitors_choose
from ingress.annotations.hosts.further_hosts import ALIASES, FURTHER_HOSTS, WWW, FurtherHostSettings
from ingress.annotations.redirects.https_redirect import ACME_CHALLENGES
from ingress.annotations.redirects.url_redirects import APP_ROOT, URL_REDIRECTS, leads_to_itself
from ingress.annotations.upstream.backend_protocols import UPSTREAMS
from ingress.annotations.upstream.canaries import CANARIES
from ingress.annotations.upstream.cluster_ips import CLUSTER_IPS
from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import Stepwise
from ingress.model.upstream.backends import BackendReference
from ingress.routing.beginnings import has_regex_signs
from ingress.routing.hosts import check_rule_host
from ingress.routing.paths import check_rule_path
from ingress.routing.route import Match
from ingress.translate.claims import (
    DEFAULT_BACKEND_FIELD,
    INVALID_KIND,
    NO_HOSTS,
    ROOT,
    SERVICE_KIND,
    CertificateRequest,
    Claim,
    FurtherHost,
    ParsedObject,
    RegexPath,
    invalid_reference,
)
from ingress.translate.protocols import NOTHING_ASKED, ProtocolReading, read_protocols
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
)

_HIGHEST_PORT = 65535
_CHARACTERS_A_STEP = 16_384
"""Some milliseconds of the strangest paths; long ones take as long as they are."""
_CHARACTERS_EACH = 100
"""What a host or a path costs besides."""
_ENTRIES_A_STEP = 200
_LIKELY_REGEX = re.compile(r"[\[(*|{^$]")
_is_strict = re.compile(r"/[A-Za-z0-9._\-/]*").fullmatch
_STRICT = ("Exact", "Prefix")
_MATCHES = {"Exact": Match.EXACT, "Prefix": Match.PREFIX, "ImplementationSpecific": Match.PREFIX}


_MANY_ANNOTATIONS: Final = 1000
"""To look through so many takes half a millisecond each time."""


def read_ingress(
    ingress: Ingress,
    annotations: AnnotationReader,
    *,
    has_global_default: bool = False,
    strict_path_types: bool = False,
    quirks: bool = True,
) -> Stepwise[ParsedObject]:
    """Read rules, default backend and annotations of *ingress*, a large one in steps; never raises."""
    settings, problems = yield from annotations.reading(ingress)
    if len(ingress.annotations) > _MANY_ANNOTATIONS:
        yield
    problems += _alone_about_clients(ingress, settings, annotations)
    if settings.of(CANARIES).is_canary:
        return (yield from _read_canary(ingress, settings, problems))
    settings = settings if settings is annotations.usual else _shared(settings)
    owner = ingress.owner
    protocols = read_protocols(owner, settings.of(UPSTREAMS), annotations)
    redirect = settings.of(URL_REDIRECTS)
    is_answered = annotations.answers(settings)
    reader = _RulesReader(
        owner,
        protocols,
        settings.of(CLUSTER_IPS).by_cluster_ip,
        is_answered,
        strict_path_types=strict_path_types,
    )
    reader.problems += problems
    reader.problems += protocols.problems
    default: BackendReference | None = None
    if ingress.default_backend is not None:
        default = reader.backend(ingress.default_backend, DEFAULT_BACKEND_FIELD)
    for index, rule in enumerate(ingress.rules):
        yield from reader.rule(rule, index, has_default=default is not None or has_global_default)
        if redirect.app_root and reader.hosts:
            reader.root(reader.hosts[-1], annotations.field(APP_ROOT))
    further: tuple[FurtherHost, ...] = ()
    if reader.hosts:
        further = yield from reader.further(settings.of(FURTHER_HOSTS), annotations)
    looped = leads_to_itself(redirect, reader.hosts)
    if looped is not None:
        name, message = looped
        reader.report(annotations.field(name), Reason.ANNOTATION_NOTE, message)
    certificates = yield from _certificate_requests(ingress)
    has_annotations = annotations.has_any(ingress)
    keeps_to_hosts = quirks and bool(ingress.rules) and has_annotations
    asked = reader.hosts if default is None or keeps_to_hosts else (*reader.hosts, "")
    fault = visitors_choose(settings.of(EXTERNAL_AUTH), asked)
    if fault:
        reader.report(annotations.field("auth-url"), Reason.INVALID_ANNOTATION, fault)
    if protocols.lacks_name((*asked, *(one.host for one in further if not one.is_redirect))):
        message = (
            "proxy-ssl-name: says the host of the rule, and not each has one without a wildcard, nor has a default backend"
            " for all hosts; there certificates have to be for the address of the endpoint"
        )
        reader.report(annotations.field("proxy-ssl-name"), Reason.INVALID_ANNOTATION, message)
    if not ingress.rules and default is None:
        reader.report("spec", Reason.INVALID_RULE, "there are neither rules nor a defaultBackend")
    return ParsedObject(
        owner,
        ingress,
        tuple(reader.claims),
        tuple(dict.fromkeys(reader.hosts)),
        default,
        settings,
        tuple(reader.problems),
        bool(ingress.rules),
        certificates,
        protocols=protocols,
        beside=annotations.backends(settings, RouteFacts(HostFacts(), owner)),
        answered=frozenset(reader.answered) if reader.answered else NO_HOSTS,
        further=further,
        needs_backends=not is_answered or reader.solves_challenges,
        has_annotations=has_annotations,
        keeps_to_hosts=keeps_to_hosts,
        has_regexes=any(claim.regex is not None for claim in reader.claims),
    )


def _read_canary(
    ingress: Ingress, settings: AnnotationSettings, problems: tuple[Problem, ...]
) -> Stepwise[ParsedObject]:
    """Read a canary: what its rules name is not claimed, but wanted a part of."""
    reader = _RulesReader(ingress.owner, NOTHING_ASKED, None, is_answered=False)
    reader.problems += problems
    for index, rule in enumerate(ingress.rules):
        yield from reader.rule(rule, index, has_default=True)
    if ingress.default_backend is not None:
        reader.default(ingress.default_backend)
    if not reader.claims:
        message = "the canary names no path and no defaultBackend, so it gets no requests"
        reader.report("spec.rules", Reason.CANARY_WITHOUT_PRIMARY, message)
    return ParsedObject(
        ingress.owner,
        ingress,
        (),
        (),
        None,
        settings,
        tuple(reader.problems),
        has_rules=False,
        canary_claims=tuple(reader.claims),
    )


def _certificate_requests(ingress: Ingress) -> Stepwise[tuple[CertificateRequest, ...]]:
    found: list[CertificateRequest] = []
    for index, entry in enumerate(ingress.tls):
        secret = ObjectKey(ingress.key.namespace, entry.secret_name) if entry.secret_name else None
        found.append(CertificateRequest(entry.hosts, secret, *_tls_fields(index), ingress.issued_by))
        if not len(found) % _ENTRIES_A_STEP:
            yield
    return tuple(found)


def _alone_about_clients(
    ingress: Ingress, settings: AnnotationSettings, annotations: AnnotationReader
) -> tuple[Problem, ...]:
    """Tell of annotations about client certificates without the one that has them asked for."""
    if not ingress.annotations or settings.of(CLIENT_CERTIFICATES).secret is not None:
        return ()
    names = {name.rpartition("/")[2] for name in ingress.annotations}
    if SECRET_ANNOTATION in names or names.isdisjoint(CLIENT_CERTIFICATES.annotations):
        return ()
    message = (
        f"{SECRET_ANNOTATION}: without {SECRET_ANNOTATION} the other annotations about client certificates"
        " have no effect"
    )
    field = annotations.field(SECRET_ANNOTATION)
    return (ingress.owner.problem(Reason.INVALID_ANNOTATION, message, field),)


@lru_cache(maxsize=1024)
def _shared(settings: AnnotationSettings) -> AnnotationSettings:
    """Return the one object for all Ingresses that ask for the same."""
    return settings


@lru_cache(maxsize=4096)
def _path_fields(rule: int, path: int) -> tuple[str, str]:
    """The fields of a path and of its backend: a few texts that all Ingresses share."""
    at = f"spec.rules[{rule}].http.paths[{path}]"
    return at, f"{at}.backend"


@lru_cache(maxsize=256)
def _tls_fields(index: int) -> tuple[str, str, str]:
    at = f"spec.tls[{index}]"
    return at, f"{at}.hosts", f"{at}.secretName"


class _RulesReader:
    """Collects claims, hosts and problems of one Ingress."""

    def __init__(
        self,
        owner: Owner,
        protocols: ProtocolReading,
        by_cluster_ip: bool | None,
        is_answered: bool,
        *,
        strict_path_types: bool = False,
    ) -> None:
        """With *is_answered*, annotations answer all requests by themselves."""
        self.strict_path_types = strict_path_types
        self.owner = owner
        self.is_answered = is_answered
        self.answered: list[str] = []
        """Hosts of rules whose paths annotations answer."""
        self.solves_challenges = False
        """Whether a path is one of ACME challenges, which annotations do not answer."""
        self.protocols = protocols
        self.host = ""
        """That of the rule that is read."""
        self.by_cluster_ip = by_cluster_ip
        self.claims: list[Claim] = []
        self.hosts: list[str] = []
        self.problems: list[Problem] = []
        # Of the first claims, so many: the first of each host, and the hosts of which one takes the root.
        self._known = 0
        self._first: dict[str, Claim] = {}
        self._rooted: set[str] = set()
        self._since_step = 0

    def report(self, field: str, reason: Reason, message: str) -> None:
        self.problems.append(self.owner.problem(reason, message, field))

    def rule(self, rule: IngressRule, number: int, *, has_default: bool) -> Iterator[None]:
        """Read one rule, in steps that bound how much is read in each."""
        if self._is_enough(rule.host):
            yield
        fault = check_rule_host(rule.host)
        if fault is not None:
            message = f"host {quoted(rule.host)} {fault}; the rule is ignored{placeholder_hint(rule.host)}"
            self.report(f"spec.rules[{number}].host", Reason.INVALID_HOST, message)
            return
        host = rule.host if rule.host.islower() else rule.host.lower()
        self.hosts.append(host)
        self.host = host
        if rule.paths is None:
            if self.is_answered:
                self.answered.append(host)
            elif not has_default:
                message = "the rule has no http, and there is no default backend to serve its host"
                self.report(f"spec.rules[{number}]", Reason.INVALID_RULE, message)
            return
        for index, path in enumerate(rule.paths):
            self._path(path, host, *_path_fields(number, index))
            if self._is_enough(path.path):
                yield

    def _is_enough(self, text: str) -> bool:
        """Whether a step is full when *text* is read."""
        self._since_step += len(text) + _CHARACTERS_EACH
        if self._since_step < _CHARACTERS_A_STEP:
            return False
        self._since_step = 0
        return True

    def further(
        self, settings: FurtherHostSettings, annotations: AnnotationReader
    ) -> Stepwise[tuple[FurtherHost, ...]]:
        """Find, in steps, the further hosts that annotations add to those of the rules."""
        aliases = settings.aliases.hosts
        if not aliases and not settings.from_to_www:
            return ()
        found: dict[str, FurtherHost] = {}
        hosts = frozenset(self.hosts)
        targets = sorted(host for host in hosts if host)
        # Nobody is sent to a wildcard.
        named = dict.fromkeys(host for host in self.hosts if host and not host.startswith("*"))
        pointless = ALIASES if aliases and not targets else WWW if settings.from_to_www and not named else ""
        if pointless:
            message = f"{pointless}: no rule names a host, so there is none that others could lead to"
            self.report(annotations.field(pointless), Reason.ANNOTATION_NOTE, message)
        for alias in aliases if targets else ():
            fault = check_rule_host(alias)
            if fault is not None:
                message = f"{ALIASES}: host {quoted(alias)} {fault}; it is left out{placeholder_hint(alias)}"
                self.report(annotations.field(ALIASES), Reason.INVALID_ANNOTATION, message)
            elif alias not in hosts:
                # Where nginx has the same name for several hosts, the first in the alphabet counts.
                found[alias] = FurtherHost(alias, targets[0], False, annotations.field(ALIASES))
        for host in named if settings.from_to_www else ():
            if self._is_enough(host):
                yield
            other = host.removeprefix("www.") if host.startswith("www.") else f"www.{host}"
            if other in hosts:
                message = f"{WWW}: {host} and {other} both have rules here, so neither is sent to the other"
                self.report(annotations.field(WWW), Reason.ANNOTATION_NOTE, message)
                break
            if check_rule_host(other) is None:
                if other in found and not found[other].is_redirect:
                    message = f"{ALIASES}: {other} is sent to {host}, as {WWW} asks for"
                    self.report(annotations.field(ALIASES), Reason.ANNOTATION_NOTE, message)
                    del found[other]
                found.setdefault(other, FurtherHost(other, host, True, annotations.field(WWW)))
        return tuple(found.values())

    def default(self, backend: IngressBackend) -> None:
        """Claim for *backend* what no rule takes."""
        field = DEFAULT_BACKEND_FIELD
        self.claims.append(
            Claim(self.owner, "", ROOT, Match.PREFIX, self.backend(backend, field), field, field)
        )

    def root(self, host: str, field: str) -> None:
        """Claim ``/`` itself of *host* for what *field* asks, unless a path of the Ingress takes it."""
        for place in range(self._known, len(self.claims)):
            claim = self.claims[place]
            self._first.setdefault(claim.host, claim)
            if claim.path == ROOT:
                self._rooted.add(claim.host)
        if host not in self._rooted:
            self._rooted.add(host)
            first = self._first.get(host)
            backend = invalid_reference(self.owner) if first is None else first.backend
            at = "" if first is None else first.backend_field
            self.claims.append(Claim(self.owner, host, ROOT, Match.EXACT, backend, field, at, is_added=True))
        self._known = len(self.claims)

    def _path(self, path: IngressPath, host: str, at: str, backend_at: str) -> None:
        match = _MATCHES.get(path.path_type)
        text = path.path
        if not text and path.path_type in ("", "ImplementationSpecific"):
            # The API lets a path be absent only where the controller says what that means: every path.
            text = ROOT
        fault = check_rule_path(text, match or Match.PREFIX)
        regex: RegexPath | None = None
        if has_regex_signs(text):
            # What it means depends on who else names the host, and what it leaves to others on that.
            # Half of a surrogate pair, which no request can hold, must not keep the path from being closed.
            text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
            regex = RegexPath(text, fault, _LIKELY_REGEX.search(text) is not None)
        elif fault is not None:
            shown = (
                f"path {quoted(text)} {fault}"
                if text
                else f"there is no path, which the type {path.path_type} requires"
            )
            self.report(
                f"{at}.path", Reason.INVALID_PATH, f"{shown}; the path is ignored{placeholder_hint(text)}"
            )
            return
        backend = self.backend(path.backend, backend_at)
        if match is None and path.path_type:
            kinds = "Exact, Prefix or ImplementationSpecific"
            message = f"pathType {quoted(path.path_type)} is not {kinds}; the path answers 503"
            self.report(f"{at}.pathType", Reason.INVALID_PATH, message)
            backend = invalid_reference(self.owner, backend.name)
        elif match is None:
            message = "pathType is missing; ImplementationSpecific is assumed, which is read as Prefix"
            self.report(f"{at}.pathType", Reason.MISSING_PATH_TYPE, message)
        elif self.strict_path_types and path.path_type in _STRICT and not _is_strict(text):
            message = (
                f"path {quoted(text)} of type {path.path_type} holds anything but letters, digits and . _ - /, which"
                " --strict-validate-path-type keeps for ImplementationSpecific; the path answers 503"
            )
            self.report(f"{at}.path", Reason.INVALID_PATH, message)
            backend = invalid_reference(self.owner, backend.name)
        match = match or Match.PREFIX
        self.solves_challenges = self.solves_challenges or text.startswith(ACME_CHALLENGES.decode())
        is_prefix = path.path_type == "Prefix"
        self.claims.append(
            Claim(self.owner, host, text, match, backend, at, backend_at, regex, is_prefix=is_prefix)
        )

    def backend(self, backend: IngressBackend | None, at: str) -> BackendReference:
        """Return the reference that *backend* makes; an invalid one leads to 503 and is reported."""
        namespace = self.owner.key.namespace
        if backend is None:
            return self._refused(at, "", "there is no backend")
        names_resource = bool(backend.resource_kind or backend.resource_name)
        if backend.service and names_resource:
            return self._refused(at, backend.service, "the backend names both a service and a resource")
        if names_resource:
            if not backend.resource_kind or not backend.resource_name:
                return self._refused(at, backend.resource_name, "the resource lacks its kind or its name")
            kind = backend.resource_kind
            # A resource is never a Service, nor our own mark, whatever it calls itself.
            kind = kind if kind not in (SERVICE_KIND, INVALID_KIND) else f"{kind}.core"
            return BackendReference(namespace, backend.resource_name, kind=kind)
        if not backend.service:
            return self._refused(at, "", "the backend names neither a service nor a resource")
        port = backend.port
        if bool(port.name) == bool(port.number):
            has = "both a name and a number" if port.name else "neither a name nor a number"
            return self._refused(f"{at}.service.port", backend.service, f"the port has {has}")
        if not port.name and not 0 < port.number <= _HIGHEST_PORT:
            return self._refused(f"{at}.service.port", backend.service, f"{port.number} is not a port")
        wanted = port.name or port.number
        protocol = self.protocols.usual_for(self.host, backend.service)
        known = self.claims[-1].backend if self.claims else None
        if (
            known is not None
            and (known.name, known.port) == (backend.service, wanted)
            and known.kind == SERVICE_KIND
            and known.protocol is protocol
        ):
            # Most paths of an Ingress lead where the one before leads.
            return known
        return BackendReference(
            namespace, backend.service, wanted, SERVICE_KIND, protocol, self.by_cluster_ip
        )

    def _refused(self, field: str, name: str, message: str) -> BackendReference:
        if not self.is_answered:
            self.report(field, Reason.INVALID_BACKEND, f"{message}; requests for it are answered 503")
        return invalid_reference(self.owner, name)

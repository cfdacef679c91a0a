"""Filters of rules and of backends: from what was written to specs, and to what is wrong with it.

The filters of a rule are read once, and asked for the specs of each path that the rule matches, since a prefix is replaced by
another text for each.  A filter that is not known, contradicts another or makes no sense refuses the requests of its rule, or of its
backend; one whose mirror cannot be resolved is left out, as the API says.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from attrs import evolve

from ingress.filters import FilterSpec
from ingress.gateway_filters.cross_origin import (
    CrossOrigin,
    Listed,
    cross_origin_filters,
    read_list,
    read_origins,
)
from ingress.gateway_filters.field_edits import (
    AnswerFieldEdits,
    FieldEdits,
    RequestFieldEdits,
    read_field_edits,
)
from ingress.gateway_filters.mirrors import BackendMirror
from ingress.gateway_filters.paths import NewPath, NewPathError, full_path, new_prefix
from ingress.gateway_filters.redirects import SCHEMES, STATUSES, RouteRedirect
from ingress.gateway_filters.refusals import BAD_FILTER
from ingress.gateway_filters.rewrites import RouteRewrite
from ingress.model.cluster.objects import Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.frozen import frozen
from ingress.model.upstream.backends import BackendReference
from ingress.routing.paths import rule_path
from ingress.translate.readers.gateway.objects.names import GRPC_ROUTE
from ingress.translate.readers.gateway.objects.routes import (
    CORS,
    BackendObject,
    FilterEntry,
    HeaderEdits,
    PathEdit,
    PathMatch,
    RequestMirror,
    RequestRedirect,
    URLRewrite,
)

Resolve = Callable[[BackendObject, str], BackendReference | Problem]
"""Finds what requests for a backend go to; or says, of the field that names it, why none do."""

_OF_GRPC: Final = frozenset(("RequestHeaderModifier", "ResponseHeaderModifier", "RequestMirror"))
_ONCE: Final = frozenset(
    ("RequestHeaderModifier", "ResponseHeaderModifier", "RequestRedirect", "URLRewrite", "CORS")
)
_PREFIX: Final = "PathPrefix"
_is_hostname = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*").fullmatch
_MOST_HOSTNAME: Final = 253
_MOST_FILTERS: Final = 16


@frozen(cache_hash=True)
class _Prefixed:
    """A filter that replaces the prefix that a rule matches by *text*."""

    spec: RouteRedirect | RouteRewrite
    text: str


_Step = FilterSpec | _Prefixed


@frozen
class ReadFilters:
    """What the filters of a rule, or of one of its backends, come to."""

    problems: tuple[Problem, ...] = ()
    beside: tuple[tuple[str, BackendReference], ...] = ()
    """Backends that they ask, with the fields that name them."""
    answers: bool = False
    """Whether they answer each request, so that none gets to a backend."""
    _steps: tuple[_Step, ...] = ()

    def specs(self, path: PathMatch | None = None) -> tuple[FilterSpec, ...]:
        """Return them for what *path* of the rule matches; the same tuple for the same filters."""
        is_prefix = path is not None and path.type == _PREFIX
        return _specs(self._steps, rule_path(path.value) if path is not None and is_prefix else b"/")


NO_FILTERS: Final = ReadFilters()


class _Refused(Exception):  # noqa: N818 - it is a verdict on a filter, no failure
    """The filter cannot be honored: the reason, and what follows its type."""

    def __init__(self, reason: Reason, message: str, field: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.field = field


def read_filters(
    entries: Sequence[FilterEntry], owner: Owner, resolve: Resolve, paths: Sequence[PathMatch] = ()
) -> ReadFilters:
    """Read the *entries* of a rule of *owner*, or of a backend of it; *paths* are all that the rule matches."""
    if not entries:
        return NO_FILTERS
    reading = _Reading(owner, resolve, paths)
    try:
        reading.check_together(entries)
        for entry in entries:
            reading.read(entry)
    except _Refused as refused:
        reading.problems.append(owner.problem(refused.reason, str(refused), refused.field))
        return ReadFilters(tuple(reading.problems), (), True, (BAD_FILTER,))
    answers = any(isinstance(_spec_of(step), RouteRedirect) for step in reading.steps)
    return ReadFilters(tuple(reading.problems), tuple(reading.beside), answers, tuple(reading.steps))


class _Reading:
    """The filters of one list."""

    def __init__(self, owner: Owner, resolve: Resolve, paths: Sequence[PathMatch]) -> None:
        self._owner = owner
        self._resolve = resolve
        self._paths = paths
        self.problems: list[Problem] = []
        self.beside: list[tuple[str, BackendReference]] = []
        self.steps: list[_Step] = []

    def check_together(self, entries: Sequence[FilterEntry]) -> None:
        """Refuse what contradicts each other, and what is repeated that may stand once."""
        if len(entries) > _MOST_FILTERS:
            raise _Refused(
                Reason.UNSUPPORTED_VALUE,
                f"there are more than {_MOST_FILTERS} filters",
                entries[_MOST_FILTERS].field,
            )
        seen: dict[str, FilterEntry] = {}
        for entry in entries:
            if entry.type in _ONCE and entry.type in seen:
                raise _Refused(
                    Reason.INCOMPATIBLE_FILTERS, f"{entry.type} may stand once; requests get 500", entry.field
                )
            seen[entry.type] = entry
        if "RequestRedirect" in seen and "URLRewrite" in seen:
            later = max(seen["RequestRedirect"], seen["URLRewrite"], key=entries.index)
            message = "a request that is redirected is not rewritten: RequestRedirect and URLRewrite exclude each other, and requests get 500"
            raise _Refused(Reason.INCOMPATIBLE_FILTERS, message, later.field)

    def read(self, entry: FilterEntry) -> None:
        """Read one of them."""
        if self._owner.kind == GRPC_ROUTE and entry.type not in _OF_GRPC:
            raise _unknown(entry)
        match written := entry.filter:
            case HeaderEdits():
                self._edits(entry, written)
            case RequestRedirect():
                self._redirect(entry, written)
            case URLRewrite():
                self._rewrite(entry, written)
            case RequestMirror():
                self._mirror(entry, written)
            case CORS():
                self._cors(entry, written)
            case _:
                raise _unknown(entry)

    def _edits(self, entry: FilterEntry, written: HeaderEdits) -> None:
        of_requests = entry.type == "RequestHeaderModifier"
        edits = read_field_edits(written.put, written.add, written.drop, of_requests=of_requests)
        if isinstance(edits, str):
            raise _unsupported(entry, edits)
        self.steps.append(RequestFieldEdits(edits) if of_requests else AnswerFieldEdits(edits))

    def _redirect(self, entry: FilterEntry, written: RequestRedirect) -> None:
        if written.scheme and written.scheme not in SCHEMES:
            raise _unsupported(entry, f"scheme {written.scheme[:64]!a} is none of {', '.join(SCHEMES)}")
        if written.status not in STATUSES:
            raise _unsupported(entry, f"status {written.status} is none of {', '.join(map(str, STATUSES))}")
        if not 0 <= written.port <= 65535:
            raise _unsupported(entry, f"{written.port} is no port")
        spec = RouteRedirect(
            written.scheme.encode(), _hostname(entry, written.hostname), written.port, None, written.status
        )
        self._with_path(entry, spec, written.path)

    def _rewrite(self, entry: FilterEntry, written: URLRewrite) -> None:
        self._with_path(entry, RouteRewrite(_hostname(entry, written.hostname)), written.path)

    def _with_path(
        self, entry: FilterEntry, spec: RouteRedirect | RouteRewrite, edit: PathEdit | None
    ) -> None:
        if edit is None:
            self.steps.append(spec)
            return
        try:
            if edit.type == "ReplaceFullPath":
                self.steps.append(evolve(spec, path=full_path(edit.value)))
            elif edit.type == "ReplacePrefixMatch":
                new_prefix(edit.value, b"/")
                if any(path.type != _PREFIX for path in self._paths):
                    message = f"ReplacePrefixMatch is for matches of type {_PREFIX} alone"
                    raise _unsupported(entry, message)
                self.steps.append(_Prefixed(spec, edit.value))
            else:
                raise _unsupported(entry, f"{edit.type[:64]!a} is no way to replace a path")
        except NewPathError as refused:
            raise _unsupported(entry, f"the path {edit.value[:64]!a} {refused}") from None

    def _mirror(self, entry: FilterEntry, written: RequestMirror) -> None:
        if not 0 <= written.numerator <= written.denominator or written.denominator < 1:
            raise _unsupported(
                entry, f"{written.numerator} of {written.denominator} requests is no share of them"
            )
        field = f"{entry.field}.requestMirror.backendRef"
        found = self._resolve(written.backend, field)
        if isinstance(found, Problem):
            self.problems.append(found)
            return
        if written.numerator:
            self.beside.append((field, found))
            self.steps.append(BackendMirror(found, written.numerator, written.denominator))

    def _cors(self, entry: FilterEntry, written: CORS) -> None:
        origins = read_origins(written.origins)
        if isinstance(origins, str):
            raise _unsupported(entry, f"allowOrigins: {origins}")
        methods = _listed(entry, "allowMethods", written.methods)
        fields = _listed(entry, "allowHeaders", written.headers)
        exposed = _listed(entry, "exposeHeaders", written.exposed)
        if written.max_age < 1:
            raise _unsupported(entry, f"maxAge: {written.max_age} is no number of seconds from 1")
        self.steps += cross_origin_filters(
            CrossOrigin(origins, methods, fields, exposed, written.credentials, written.max_age)
        )


def _unsupported(entry: FilterEntry, message: str) -> _Refused:
    text = f"{entry.type}: {message}; requests get 500"
    return _Refused(Reason.UNSUPPORTED_VALUE, text, entry.field)


def _unknown(entry: FilterEntry) -> _Refused:
    shown = entry.type[:64]
    if entry.type == "ExtensionRef":
        message = "ExtensionRef refers to an object of a kind that is not known; requests get 500"
        return _Refused(Reason.INVALID_KIND, message, entry.field)
    return _Refused(
        Reason.UNSUPPORTED_VALUE,
        f"a filter of type {shown!a} is not honored; requests get 500",
        entry.field,
    )


def _hostname(entry: FilterEntry, text: str) -> bytes:
    if text and (len(text) > _MOST_HOSTNAME or _is_hostname(text) is None):
        raise _unsupported(entry, f"{text[:64]!a} is no hostname")
    return text.encode()


def _listed(entry: FilterEntry, name: str, texts: Sequence[str]) -> Listed:
    listed = read_list(texts)
    if isinstance(listed, str):
        raise _unsupported(entry, f"{name}: {listed}")
    return listed


def _spec_of(step: _Step) -> FilterSpec:
    return step.spec if isinstance(step, _Prefixed) else step


@lru_cache(maxsize=4096)
def _specs(steps: tuple[_Step, ...], prefix: bytes) -> tuple[FilterSpec, ...]:
    found: list[FilterSpec] = []
    edits, rewrite = FieldEdits(), RouteRewrite()
    for step in steps:
        spec = step if not isinstance(step, _Prefixed) else _replacing(step, prefix)
        if isinstance(spec, RequestFieldEdits):
            edits = spec.edits
        elif isinstance(spec, RouteRewrite):
            rewrite = spec
        elif isinstance(spec, BackendMirror):
            spec = evolve(spec, edits=edits, rewrite=rewrite)
        found.append(spec)
    return tuple(found)


def _replacing(step: _Prefixed, prefix: bytes) -> FilterSpec:
    path: NewPath = new_prefix(step.text, prefix)
    return evolve(step.spec, path=path)

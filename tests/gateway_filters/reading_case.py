"""Filters of routes of the Gateway API, from what was written to answers: read, and served by a proxy in memory."""

from __future__ import annotations

from collections.abc import Sequence

from ingress.filters import FilterSpec
from ingress.model.cluster.objects import ObjectKey, Owner
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.upstream.backends import BackendReference
from ingress.translate.readers.gateway.objects.names import HTTP_ROUTE, ObjectReference
from ingress.translate.readers.gateway.objects.routes import (
    CORS,
    BackendObject,
    FilterEntry,
    HeaderEdits,
    PathMatch,
    RequestMirror,
    RequestRedirect,
    RouteFilter,
    UnreadFilter,
    URLRewrite,
)
from ingress.translate.readers.gateway.routes.filter_reading import ReadFilters, read_filters
from tests.proxy.filter_case import FilterCase
from tests.proxy.playing import ONE

OWNER = Owner(HTTP_ROUTE, ObjectKey("demo", "route"), "2026-01-01T00:00:00Z")
ANY = PathMatch()

_TYPES: dict[type, str] = {
    RequestRedirect: "RequestRedirect",
    URLRewrite: "URLRewrite",
    RequestMirror: "RequestMirror",
    CORS: "CORS",
    HeaderEdits: "RequestHeaderModifier",
}


class OfAnswers:
    """Marks edits that are meant for answers."""

    def __init__(self, edits: HeaderEdits) -> None:
        self.edits = edits


Written = RouteFilter | OfAnswers


def entries(*filters: Written) -> tuple[FilterEntry, ...]:
    """Return the entries of a rule with these filters."""
    found = []
    for at, written in enumerate(filters):
        field = f"spec.rules[0].filters[{at}]"
        if isinstance(written, OfAnswers):
            found.append(FilterEntry("ResponseHeaderModifier", written.edits, field))
        elif isinstance(written, UnreadFilter):
            found.append(FilterEntry(written.type, written, field))
        else:
            found.append(FilterEntry(_TYPES[type(written)], written, field))
    return tuple(found)


def backend(name: str = "mirror") -> BackendObject:
    """Return a reference to a Service."""
    return BackendObject(ObjectReference("", "Service", "", name), 8080)


def resolve(wanted: BackendObject, field: str) -> BackendReference | Problem:
    """Find every Service but that called ``missing``."""
    if wanted.target.name == "missing":
        return OWNER.problem(Reason.SERVICE_NOT_FOUND, "there is none", field)
    return BackendReference("demo", wanted.target.name, wanted.port)


def read(*filters: Written, paths: Sequence[PathMatch] = (ANY,), owner: Owner = OWNER) -> ReadFilters:
    """Read the filters of a rule."""
    return read_filters(entries(*filters), owner, resolve, paths)


def specs(*filters: Written, prefix: str = "/") -> tuple[FilterSpec, ...]:
    """Return the specs of filters that are fine."""
    path = PathMatch("PathPrefix", prefix)
    found = read(*filters, paths=(path,))
    assert not found.problems, found.problems
    return found.specs(path)


class RuleCase(FilterCase):
    """A stage with one route, which has the filters of a rule."""

    def rule(self, *filters: Written, prefix: str = "/", **more: object) -> None:
        """Serve them from now on."""
        self.stage.publish((ONE,), filters=specs(*filters, prefix=prefix), **more)  # type: ignore[arg-type]

"""Mirrors: ``RequestMirror`` (``HTTPRequestMirrorFilter``).  Another backend gets a copy of requests, or of some of them.

A copy is what came, with the edits that stand before the mirror in the object.  It goes to one endpoint of the backend.
"""

from typing import ClassVar

from ingress.filter_parts.mirroring import SECONDS, Mirroring
from ingress.filters import Facts, Filter, Phase, Services, SubRequest
from ingress.gateway_filters.field_edits import FieldEdits
from ingress.gateway_filters.rewrites import RouteRewrite
from ingress.model.frozen import frozen
from ingress.model.upstream.backends import BackendReference

_NOTHING = FieldEdits()
_AS_IT_CAME = RouteRewrite()


@frozen(cache_hash=True)
class BackendMirror:
    """Sends copies of *numerator* of *denominator* requests to *backend*."""

    phase: ClassVar[Phase] = Phase.EDITS
    name: ClassVar[str] = "backend-mirror"

    backend: BackendReference
    numerator: int = 1
    denominator: int = 1
    edits: FieldEdits = _NOTHING
    rewrite: RouteRewrite = _AS_IT_CAME

    def describe(self) -> str:
        """Say where copies go."""
        share = "each request" if self.is_for_all else f"{self.numerator} of {self.denominator} requests"
        return f"sends a copy of {share} to {self.backend}"

    @property
    def is_for_all(self) -> bool:
        """Whether every request is copied."""
        return self.numerator >= self.denominator

    def make(self, services: Services) -> Filter:
        """Make the filter that copies."""

        def is_meant() -> bool:
            return services.random() * self.denominator < self.numerator

        return Mirroring(self.copy, services, is_meant=None if self.is_for_all else is_meant)

    def copy(self, facts: Facts, body: bytes) -> SubRequest:
        """Return what is sent of a request."""
        path, edits, backend = self.rewrite.path, self.edits, self.backend
        gone = (*edits.drop, *(name.lower() for name, _ in edits.put))
        return SubRequest(
            # By which those are counted that are under way to this backend.
            f"http://{backend.name}.{backend.namespace}.svc",
            target=facts.target if path is None else path.target(facts.path, facts.target),
            authority=self.rewrite.hostname or facts.authority,
            lines=facts.lines + facts.proxys_lines,
            without=tuple(name.lower() for name in gone),
            fields=(*edits.put, *edits.add),
            method=facts.method,
            body=body,
            seconds=SECONDS,
            wants_body=False,
            backend=backend,
            trace=facts.trace,
        )

"""Rewrites: ``URLRewrite`` (``HTTPURLRewriteFilter``).  What endpoints are asked for, and as which host.

``X-Forwarded-Host`` is still the host that was asked for, and routes, logs and redirects go by what came.
"""

from typing import ClassVar

from ingress.filters import Facts, Filter, Phase, RequestEdit, Services
from ingress.gateway_filters.paths import NewPath
from ingress.model.frozen import frozen


@frozen(cache_hash=True)
class RouteRewrite:
    """Asks endpoints for another path, as another host, or both."""

    phase: ClassVar[Phase] = Phase.REWRITE
    name: ClassVar[str] = "route-rewrite"

    hostname: bytes = b""
    """Empty for that of the request."""
    path: NewPath | None = None

    def describe(self) -> str:
        """Say what is asked for."""
        host = f"as host {self.hostname.decode()}" if self.hostname else ""
        path = "" if self.path is None else f"for path {self.path}"
        return f"asks endpoints {' '.join(filter(None, (path, host))) or 'for what was asked for'}"

    def make(self, services: Services) -> Filter:
        """Make the filter that rewrites."""
        return _Rewriting(self)


class _Rewriting(Filter):
    def __init__(self, spec: RouteRewrite) -> None:
        self._authority = spec.hostname or None
        self._path = spec.path

    def on_upstream(self, facts: Facts, edit: RequestEdit) -> None:
        target = None if self._path is None else self._path.target(facts.path, facts.target)
        edit.rewrite(target, self._authority)

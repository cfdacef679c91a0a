"""Redirects: ``RequestRedirect`` (``HTTPRequestRedirectFilter``).

What the filter does not name is that of the request.  The port is the one that the filter names; else the usual one of the scheme that
it names; else that of the listener.  The usual port of a scheme is not written (80 of http, 443 of https).  A proxy before us
that took the request in another scheme than it came to us with did so on a port that our listener knows nothing of: it
is taken for the usual one then.

The query goes on, whatever becomes of the path.
"""

from typing import ClassVar, Final

from ingress.filter_parts.judging import Judging
from ingress.filter_parts.redirecting import MAX_LOCATION, NO_HOST, TOO_LONG, redirect
from ingress.filters import Facts, Filter, Phase, Reply, Services
from ingress.gateway_filters.paths import NewPath
from ingress.model.frozen import frozen

STATUSES: Final = (301, 302, 303, 307, 308)
SCHEMES: Final = ("http", "https")

_USUAL_PORTS: Final = {b"http": 80, b"https": 443}


@frozen(cache_hash=True)
class RouteRedirect:
    """Answers every request with a redirect; empty, None or 0 keep what the request has."""

    phase: ClassVar[Phase] = Phase.REDIRECT
    name: ClassVar[str] = "route-redirect"

    scheme: bytes = b""
    hostname: bytes = b""
    port: int = 0
    path: NewPath | None = None
    status: int = 302

    def describe(self) -> str:
        """Say where requests are sent."""
        scheme, host = self.scheme.decode() or "the scheme", self.hostname.decode() or "the host"
        port = f", port {self.port}" if self.port else ""
        path = "" if self.path is None else f", path {self.path}"
        return f"answers {self.status} to {scheme}, {host}{port}{path}"

    def make(self, services: Services) -> Filter:
        """Make the filter that redirects."""
        return Judging(self.judge)

    def judge(self, facts: Facts) -> Reply:
        """Send a request elsewhere."""
        host = self.hostname or facts.public_host
        if not host:
            return NO_HOST
        scheme = self.scheme or facts.scheme
        port = self._port(facts, scheme)
        shown = b"" if port == _USUAL_PORTS.get(scheme) else b":%d" % port
        # A request for no path in particular (``OPTIONS *``) has none that could stand behind a host.
        asked = facts.target if facts.target.startswith(b"/") else b"/"
        target = asked if self.path is None else self.path.target(facts.path, asked)
        location = b"%b://%b%b%b" % (scheme, host, shown, target)
        if len(location) > MAX_LOCATION:
            return TOO_LONG
        return redirect(self.status, location)

    def _port(self, facts: Facts, scheme: bytes) -> int:
        if self.port:
            return self.port
        usual = _USUAL_PORTS.get(scheme, facts.port)
        if self.scheme or facts.is_secure is not (scheme == b"https"):
            return usual
        return facts.port

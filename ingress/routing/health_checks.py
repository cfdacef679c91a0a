"""Health checks of load balancers: they ask at the ports of the traffic, for no host in particular, whether anybody is there.

As in ingress-nginx, ``/healthz`` is answered for all hosts that no rule names, before any default backend: Services of
many clusters have that path as the one that their load balancer asks.
"""

from typing import Final

from ingress.model.exchanges.reply import Reply
from ingress.model.upstream.backends import BackendReference
from ingress.routing.route import Match, Route
from ingress.routing.table import HostRoutes, RouteTable

HEALTH_CHECK_PATH: Final = b"/healthz"
HEALTH_CHECK_REPLY: Final = Reply(200, ((b"Content-Type", b"text/plain; charset=utf-8"),), b"ok\n")
HEALTH_CHECK_ROUTE: Final = Route(
    "", HEALTH_CHECK_PATH.decode(), Match.EXACT, None, BackendReference("", ""), is_logged=False
)
"""What the record has of such requests, which get no line in the access log."""


def is_health_check(table: RouteTable, host: bytes, path: bytes, route: Route | None) -> bool:
    """Whether a request for *host* and *path*, which takes *route*, is one; a rule for just that path has it instead."""
    return (
        path == HEALTH_CHECK_PATH
        and (route is None or (not route.host and route.path != HEALTH_CHECK_ROUTE.path))
        and not table.host_of(host)
    )


class UnroutedHealthChecks:
    """Tells health checks for which no route need be looked for, since they are such whatever that would be: it may be dear to find."""

    def __init__(self) -> None:
        # What was looked through last, and what was found: that takes as long as there are routes.
        self._of_all_hosts: HostRoutes | None = None
        self._has_path = False

    def are(self, table: RouteTable, host: bytes, path: bytes) -> bool:
        """Whether a request for *host* and *path* is one; where it is not, its route may say otherwise (``is_health_check``)."""
        if path != HEALTH_CHECK_PATH or table.host_of(host):
            return False
        routes = table.get("")
        if routes is not self._of_all_hosts:
            self._of_all_hosts = routes
            self._has_path = routes is not None and any(
                one.path == HEALTH_CHECK_ROUTE.path for one in routes.routes
            )
        return not self._has_path

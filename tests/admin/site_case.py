"""A case that asks the pages of the admin port over HTTP, without a socket."""

from typing import Any

from treq.testing import StubTreq
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.server import Site

from ingress.admin.site import NO_WORKERS, Workers, admin_site
from ingress.metrics.metrics import Metrics
from ingress.translate.snapshot import Snapshot


class SiteCase(SynchronousTestCase):
    """Has a site; *missing* and *snapshot* are what it shows."""

    def setUp(self) -> None:
        self.missing: tuple[str, ...] = ()
        self.snapshot = Snapshot()
        self.metrics = Metrics()
        self.clock = MemoryReactorClock()
        self.site = self.site_of()

    def site_of(self, workers: Workers = NO_WORKERS, *, only_probes: bool = False) -> Site:
        """Return the site of a controller with these *workers*."""
        return admin_site(
            lambda: self.missing,
            lambda: self.snapshot,
            self.metrics,
            self.clock,
            only_probes=only_probes,
            workers=workers,
        )

    def ask(
        self, path: str, method: str = "GET", host: str = "10.0.0.7:10254"
    ) -> tuple[int, dict[str, str], str]:
        """Return status, fields by lower-case name, and body."""
        client: Any = StubTreq(self.site.resource)
        asked = client.request(method, f"http://{host}{path}")
        while self.clock.getDelayedCalls():
            self.clock.advance(0)
        client.flush()
        response = self.successResultOf(asked)
        body = self.successResultOf(client.content(response)).decode()
        fields = {
            name.decode().lower(): values[0].decode() for name, values in response.headers.getAllRawHeaders()
        }
        return response.code, fields, body

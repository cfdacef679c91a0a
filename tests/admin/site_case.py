"""A case that asks the pages of the admin port over HTTP, without a socket."""

from typing import Any

from attrs import evolve
from treq.testing import StubTreq
from twisted.internet.testing import MemoryReactorClock
from twisted.trial.unittest import SynchronousTestCase
from twisted.web.server import Site

from ingress.admin.contract.page_sources import NO_WORKERS, PageSources, Published, Workers
from ingress.admin.port.site import admin_site
from ingress.history.rings import Rings
from ingress.metrics.metrics import Metrics
from ingress.translate.snapshot import Snapshot
from tests.admin.listed import NOW


class SiteCase(SynchronousTestCase):
    """Has a site; *missing* and *snapshot*, of that *number*, are what it shows."""

    def setUp(self) -> None:
        self.missing: tuple[str, ...] = ()
        self.snapshot = Snapshot()
        self.number = 1
        self.metrics = Metrics()
        self.clock = MemoryReactorClock()
        self.rings = Rings()
        self.site = self.site_of()

    def known(self) -> PageSources:
        """Return what the pages are made of."""
        return PageSources(
            lambda: self.missing,
            lambda: Published(self.snapshot, self.number, NOW),
            self.metrics,
            now=lambda: NOW,
            rings=self.rings,
        )

    def site_of(self, workers: Workers = NO_WORKERS, *, only_probes: bool = False) -> Site:
        """Return the site of a controller with these *workers*."""
        return admin_site(evolve(self.known(), workers=workers), self.clock, only_probes=only_probes)

    def ask(
        self, path: str, method: str = "GET", host: str = "10.0.0.7:10254", **given: str
    ) -> tuple[int, dict[str, str], str]:
        """Return status, fields by lower-case name, and body; the request has fields by the names of what is *given*."""
        client: Any = StubTreq(self.site.resource)
        asked = client.request(
            method,
            f"http://{host}{path}",
            headers={name.replace("_", "-"): [value] for name, value in given.items()},
        )
        while any(call.getTime() <= self.clock.seconds() for call in self.clock.getDelayedCalls()):
            self.clock.advance(0)
        client.flush()
        response = self.successResultOf(asked)
        body = self.successResultOf(client.content(response)).decode()
        fields = {
            name.decode().lower(): values[0].decode() for name, values in response.headers.getAllRawHeaders()
        }
        return response.code, fields, body

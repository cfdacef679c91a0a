"""What tests of statuses share: a writer with a store, on a clock, and the requests that it made."""

from collections.abc import Callable
from datetime import UTC, datetime

from attrs import evolve
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_thread import Outcome
from ingress.cluster.store import Store
from ingress.metrics.series.status import StatusMetrics
from ingress.model.cluster.object_meta import Address, ObjectMeta
from ingress.model.cluster.objects import Kind, ObjectKey, Projection, Service
from ingress.model.reporting.reporting import Reporting
from ingress.status.refusals import Refusals
from ingress.status.report_writer import Sending
from ingress.status.statuses import BOUNDS, Statuses
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress
from ingress.translate.readers.route_kinds import REPORTED_KINDS
from ingress.translate.reports import ReportedKind
from tests.status.questions import Questions

NOW = datetime(2026, 11, 20, tzinfo=UTC)


US = "txingress/ours/ingress-leader"


SERVICE = ObjectKey("ours", "txingress")


ONE = Address("192.0.2.1")


TWO = Address("192.0.2.2")


def key(name: str) -> ObjectKey:
    return ObjectKey("shop", name)


class WriterCase(SynchronousTestCase):
    """A writer with a store, on a clock."""

    settings = Reporting(publish_addresses=(ONE,))
    bounds = evolve(BOUNDS, under_way=1)
    kinds: tuple[ReportedKind, ...] = REPORTED_KINDS

    def setUp(self) -> None:
        self.clock = Clock()
        self.random: Callable[[], float] = lambda: 0.0
        self.store = Store()
        self.questions = Questions()
        self.metrics = StatusMetrics()
        self.make_writer()
        self.addCleanup(self.check_clean)

    def make_writer(self) -> None:
        """Make the writer, with what the attributes say."""
        self.writer = Statuses(
            Sending(self.clock, self.ask, (2.0, 3.0), self.clock.seconds, self.random, Refusals()),
            self.store.state,
            self.settings,
            TranslateOptions(),
            US,
            self.metrics,
            lambda: NOW,
            kinds=self.kinds,
            bounds=self.bounds,
        )

    def ask(self, request: ApiRequest, done: Callable[[Outcome], None]) -> None:
        self.questions.ask(request, done)

    def check_clean(self) -> None:
        self.writer.follow()
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def put(
        self,
        name: str,
        *addresses: Address,
        class_name: str = "nginx",
        writer: str = "",
        namespace: str = "shop",
    ) -> None:
        """Let the watch show an Ingress."""
        where = ObjectKey(namespace, name)
        meta = ObjectMeta(f"uid-of-{name}", addresses, (), writer)
        projection = Projection(Ingress(where, class_name=class_name), (), meta)
        self.writer.objects_changed(self.store.changed({(Kind.INGRESS, where): projection}))

    def put_service(self, meta: ObjectMeta) -> None:
        value = Service(SERVICE, "LoadBalancer")
        changes = self.store.changed({(Kind.SERVICE, SERVICE): Projection(value, (), meta)})
        self.writer.objects_changed(changes)

    def turn(self, seconds: float = 0.0) -> None:
        self.clock.advance(seconds)

    def written(self) -> list[tuple[str, list[str] | None]]:
        """What was asked so far: the names of Ingresses with their addresses."""
        found = []
        for request in self.questions.asked:
            assert request.body is not None
            entries = request.body["status"]["loadBalancer"]["ingress"]
            addresses = None if entries is None else ["".join(entry.values()) for entry in entries]
            found.append((request.path.split("/")[-2], addresses))
        return found

    def answer_all(self, limit: int = 1000) -> None:
        """Answer as long as something is asked, without time passing."""
        for _ in range(limit):
            self.turn()
            if not self.questions.is_open:
                return
            self.questions.answer()

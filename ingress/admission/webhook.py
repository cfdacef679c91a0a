"""The webhook put together: what it judges by, and how it is spoken to."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from ingress.admin.port.connections import AdminConnections
from ingress.admission.judging import Knows, judging, projected
from ingress.admission.key_files import KeyFiles
from ingress.admission.review import AdmissionRequest
from ingress.admission.reviews import Reviews
from ingress.admission.site import admission_site
from ingress.metrics.series.admission import AdmissionMetrics
from ingress.model.cluster.objects import Kind
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.stepwise import Stepwise
from ingress.proxy.listening.listeners import ServerTLSFactory
from ingress.proxy.transport.handshake_queue import HandshakeQueue
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress
from ingress.translate.readers.reader import RouteKind


@frozen(eq=False)
class Judged:
    """What Ingresses are judged by."""

    state: Callable[[], ClusterState]
    options: Callable[[], TranslateOptions]
    now: Callable[[], datetime]
    knows: Knows
    kinds: Sequence[RouteKind]
    reads: Callable[[str], bool]
    """Whether the objects of a namespace are read."""

    def problems(self, asked: AdmissionRequest) -> Stepwise[Sequence[Problem] | None]:
        """Find the problems that an Ingress would have; None for one that is not ours."""
        kind = next((row for row in self.kinds if row.kind is Kind.INGRESS), None)
        if kind is None or not self.reads(asked.namespace):
            return None
        state, options, now = self.state(), self.options(), self.now()
        projection = yield from projected(asked, state, options.annotations_prefix, now)
        value = projection.value
        if not isinstance(value, Ingress):
            return projection.problems or None
        return (yield from judging(value, projection.problems, state, options, now, kind, self.knows))


def admission_factory(
    judged: Judged,
    is_ready: Callable[[], bool],
    key_files: KeyFiles,
    reactor: Any,
    metrics: AdmissionMetrics,
    connections: AdminConnections,
) -> ServerTLSFactory:
    """Return what makes the connections of the webhook's port, which are among *connections*."""
    site = admission_site(Reviews(judged.problems, is_ready, reactor, metrics), reactor, connections)
    factory = ServerTLSFactory(key_files, False, site, reactor)
    factory.handshakes = HandshakeQueue(reactor)
    return factory

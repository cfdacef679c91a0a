"""A case that asks the webhook over HTTP, in memory."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from twisted.internet.address import IPv4Address
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure
from twisted.trial.unittest import SynchronousTestCase

from ingress.admin.port.connections import AdminConnections
from ingress.admission.review import AdmissionRequest
from ingress.admission.reviews import REST_SECONDS, Reviews
from ingress.admission.site import admission_site
from ingress.metrics.series.admission import AdmissionMetrics
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.stepwise import Stepwise

PROBLEM = Problem("Ingress", "demo", "web", Reason.SERVICE_NOT_FOUND, "there is no Service demo/web", "spec")
PEER = IPv4Address("TCP", "10.0.0.9", 40000)


class WebhookCase(SynchronousTestCase):
    """Has a site whose judge takes *steps* steps for each Ingress, and finds *problems*."""

    def setUp(self) -> None:
        self.clock: Any = Clock()
        self.is_ready = True
        self.steps = 3
        self.problems: Sequence[Problem] | None = (PROBLEM,)
        self.error: Exception | None = None
        self.judged: list[str] = []
        self.metrics = AdmissionMetrics()
        self.connections = AdminConnections()
        self.reviews = Reviews(self.judge, lambda: self.is_ready, self.clock, self.metrics)
        self.site = admission_site(self.reviews, self.clock, self.connections)

    def judge(self, asked: AdmissionRequest) -> Stepwise[Sequence[Problem] | None]:
        """Judge an Ingress."""
        self.judged.append(asked.name)
        for _ in range(self.steps):
            # Each takes as long as a slice.
            self.clock.rightNow += 0.001
            yield
        if self.error is not None:
            raise self.error
        return self.problems

    def connect(self) -> tuple[Any, StringTransport]:
        """Connect; return the connection and its transport."""
        transport = StringTransport(peerAddress=PEER)
        connection: Any = self.site.buildProtocol(PEER)
        connection.callLater = self.clock.callLater
        connection.makeConnection(transport)
        self.addCleanup(self.lose, connection)
        return connection, transport

    def lose(self, connection: Any) -> None:
        """End a connection that has not ended."""
        if connection in self.connections.all:
            connection.connectionLost(Failure(ConnectionDone()))

    def turn(self, count: int = 1) -> None:
        """Let the reactor turn, so that as many slices can be taken."""
        for _ in range(count):
            self.clock.advance(REST_SECONDS)

    def ask(self, *parts: bytes) -> tuple[int, bytes]:
        """Send *parts* on a connection of its own; return status and content of the answer."""
        connection, transport = self.connect()
        for part in parts:
            connection.dataReceived(part)
        self.turn(60)
        (found,) = answers(transport.value())
        return found

    def counts(self) -> dict[str, int]:
        """Return how many reviews there were, by outcome; those of which there were none are left out."""
        (family,) = self.metrics.families()
        return {sample.labels["outcome"]: int(sample.value) for sample in family.samples if sample.value}


def answers(octets: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield status and content of each answer in *octets*."""
    while octets:
        head, _, octets = octets.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        (length,) = (
            int(line.partition(b":")[2]) for line in lines if line.lower().startswith(b"content-length:")
        )
        yield int(lines[0].split()[1]), octets[:length]
        octets = octets[length:]


def response(content: bytes) -> dict[str, Any]:
    """Return the response that *content*, an AdmissionReview, has."""
    document = json.loads(content)
    assert (document["apiVersion"], document["kind"]) == ("admission.k8s.io/v1", "AdmissionReview")
    found: dict[str, Any] = document["response"]
    return found

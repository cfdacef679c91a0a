"""What tests of the reflector share: a connection by script, and what is handed over."""

import json
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Any, cast

from attrs import Factory, define
from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.api.api_client import ApiConnection
from ingress.cluster.kinds import KINDS
from ingress.cluster.watching.reflector import Reflector
from ingress.errors import KubernetesError
from ingress.metrics.series.watch import ReflectorCounts
from ingress.model.cluster.objects import Batch, Kind, Projection, Service
from ingress.model.reporting.writes import JSON

Step = bytes | KubernetesError | Callable[[], None]


EXPIRED = KubernetesError(410, "Expired", "too old resource version")


@define
class Script:
    """A connection that answers each request with what the test wrote down.

    An answer is a list of steps: bytes to read, an error to raise, or something to do; an
    error as the first step refuses the request.
    """

    answers: list[list[Step]] = Factory(list)
    queries: list[dict[str, str]] = Factory(list)
    renewals: int = 0
    is_interrupted: bool = False
    _steps: list[Step] = Factory(list)
    open_answers: int = 0

    def get(self, path: str, query: list[tuple[str, str]], accept: str = JSON) -> "Script":
        self.queries.append(dict(query))
        self._steps = self.answers.pop(0)
        if self._steps and isinstance(self._steps[0], KubernetesError):
            raise self._steps[0]
        self.open_answers += 1
        return self

    def within(self, seconds: float) -> AbstractContextManager[None]:
        """Take no time at all."""
        return nullcontext()

    def read_chunk(self) -> bytes:
        while self._steps:
            step = self._steps.pop(0)
            if isinstance(step, KubernetesError):
                raise step
            if isinstance(step, bytes):
                return step
            step()
        return b""

    def read_all(self, seconds: float = 60.0) -> bytes:
        return b"".join(iter(self.read_chunk, b""))

    def close(self) -> None:
        self.open_answers -= 1

    def renew_credentials(self) -> None:
        self.renewals += 1

    def interrupt(self) -> None:
        self.is_interrupted = True


@define
class Received:
    """What was handed over."""

    content: dict[str, str] = Factory(dict)
    told: list[str] = Factory(list)
    told_others: int = 0
    is_behind: bool = False

    def put(self, changes: Batch) -> None:
        for (kind, key), projection in changes.items():
            if projection is None:
                self.told.append(f"-{key.name}")
                del self.content[key.name]
            else:
                value = projection.value
                self.content[key.name] = value.type if isinstance(value, Service) else "unusable"
                self.told.append(f"+{key.name}")
            assert kind is Kind.SERVICE or projection is None or isinstance(projection, Projection)

    def synced(self, name: str, *, refused: bool = False) -> None:
        self.told.append(f"{'refused' if refused else 'synced'} {name}")

    def regained(self) -> None:
        self.told_others += 1


def service(name: str, version: str, service_type: str = "ClusterIP") -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "shop", "resourceVersion": version},
        "spec": {"type": service_type, "clusterIP": "10.0.0.1", "ports": [{"port": 80}]},
    }


def event(event_type: str, raw: dict[str, Any]) -> bytes:
    return json.dumps({"type": event_type, "object": raw}).encode() + b"\n"


def added(name: str, version: str, service_type: str = "ClusterIP") -> bytes:
    return event("ADDED", service(name, version, service_type))


def bookmark(version: str, *, ends: bool = False) -> bytes:
    annotations = {"k8s.io/initial-events-end": "true"} if ends else {}
    return event("BOOKMARK", {"metadata": {"resourceVersion": version, "annotations": annotations}})


def error_event(code: int, reason: str, **details: object) -> bytes:
    return event("ERROR", {"kind": "Status", "code": code, "reason": reason, "details": details})


def page(version: str, names: Iterable[tuple[str, str]], following: str = "") -> bytes:
    return json.dumps(
        {
            "metadata": {"resourceVersion": version, "continue": following},
            "items": [service(name, object_version) for name, object_version in names],
        }
    ).encode()


class ReflectorTestCase(SynchronousTestCase):
    """A reflector on a script."""

    kind = Kind.SERVICE

    def setUp(self) -> None:
        self.clock = Clock()
        self.script = Script()
        self.received = Received()
        self.counts = ReflectorCounts(self.kind, "", self.clock.seconds)
        self.reflector = self.make_reflector()

    def make_reflector(self, backoff_seconds: float = 0.8, *, is_dispensable: bool = False) -> Reflector:
        """Return a reflector that waits so long after a first error."""
        return Reflector(
            KINDS[self.kind],
            "",
            cast(ApiConnection, self.script),
            self.received,
            "nginx.ingress.kubernetes.io",
            decoding=Lock(),
            clock=self.clock.seconds,
            random=lambda: 0.0,
            counts=self.counts,
            regained=self.received.regained,
            backoff_seconds=backoff_seconds,
            is_dispensable=is_dispensable,
        )

    def tearDown(self) -> None:
        self.assertEqual(self.script.open_answers, 0, "an answer was not closed")

    def turn(self, *steps: Step) -> float:
        """Make a turn whose request is answered so."""
        self.script.answers.append(list(steps))
        return self.reflector.turn()

    def last_query(self) -> dict[str, str]:
        return self.script.queries[-1]

    def sync(self, *names: str) -> None:
        """Bring these Services, at version 5, and leave the reflector before its first watch."""
        self.turn(*(added(name, f"1{name}") for name in names), bookmark("5", ends=True))
        self.clock.advance(60)

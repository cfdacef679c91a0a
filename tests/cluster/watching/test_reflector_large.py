"""Large objects in a watch of the reflector."""

import json
from contextlib import AbstractContextManager

from ingress.model.cluster.objects import Batch, Kind
from ingress.translate.readers.ingress.objects import Ingress
from tests.cluster.watching.reflector_case import Received, ReflectorTestCase, bookmark


class Told(Received):
    """Notes the hosts of each Ingress that is handed over, None for one that is gone."""

    def __init__(self, hosts: list[list[str] | None]) -> None:
        super().__init__()
        self.hosts = hosts

    def put(self, changes: Batch) -> None:
        for projection in changes.values():
            value = None if projection is None else projection.value
            self.hosts.append([rule.host for rule in value.rules] if isinstance(value, Ingress) else None)


class LargeObjectTests(ReflectorTestCase):
    """An Ingress of the size that an API server takes."""

    kind = Kind.INGRESS

    def setUp(self) -> None:
        super().setUp()
        self.steps = self.looks = 0
        self.tick_seconds = 0.0011
        self.hosts: list[list[str] | None] = []
        case = self

        class Decoding(AbstractContextManager[None]):
            """Has a millisecond pass each time that traffic might go."""

            def __exit__(self, *_: object) -> None:
                case.steps += 1

        def ticking() -> float:
            self.looks += 1
            if self.looks > 10_000:
                raise AssertionError("nothing comes of it")
            self.clock.advance(self.tick_seconds)
            return self.clock.seconds()

        self.reflector._decoding = Decoding()
        self.reflector._clock = ticking
        self.reflector._receiver = Told(self.hosts)
        self.turn(bookmark("5", ends=True))

    def event(self, event_type: str, version: str, count: int) -> bytes:
        paths = [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s"}}}]
        raw = {
            "metadata": {"name": "web", "namespace": "shop", "resourceVersion": version},
            "spec": {
                "rules": [{"host": f"h{number}.test", "http": {"paths": paths}} for number in range(count)]
            },
        }
        return json.dumps({"type": event_type, "object": raw}, separators=(",", ":")).encode() + b"\n"

    def test_in_steps(self) -> None:
        """It is decoded, projected and freed some at a time, and handed over whole; so is its end."""
        self.turn(self.event("ADDED", "6", 2000), bookmark("7"))
        self.assertEqual(self.hosts, [[f"h{number}.test" for number in range(2000)]])
        self.assertGreater(self.steps, 40)
        self.assertEqual(self.counts.events, 1)
        self.turn(self.event("DELETED", "8", 2000))
        self.assertEqual(self.hosts[1:], [None])
        self.assertEqual(self.counts.events, 2)

    def test_slow_machine(self) -> None:
        """Where nothing can be done before the time for it is over, a step is taken each time all the same."""
        self.tick_seconds = 0.01
        self.turn(self.event("ADDED", "6", 2000))
        self.assertEqual(self.hosts, [[f"h{number}.test" for number in range(2000)]])

    def test_small(self) -> None:
        """A small one is decoded, projected and freed at once."""
        before = self.steps
        self.turn(self.event("ADDED", "6", 20))
        self.assertEqual((self.steps - before, len(self.hosts)), (1, 1))

    def test_broken(self) -> None:
        """What is no JSON ends the watch; what came before it is handed over."""
        large = self.event("MODIFIED", "7", 2000)
        self.turn(self.event("ADDED", "6", 2), large[: len(large) // 2] + b"\n")
        self.assertEqual(self.hosts, [["h0.test", "h1.test"]])
        self.turn(self.event("MODIFIED", "7", 2000))
        self.assertEqual(self.last_query()["resourceVersion"], "6")
        self.assertEqual(len(self.hosts), 2)

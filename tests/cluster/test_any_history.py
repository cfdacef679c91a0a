"""Whatever comes in whatever order, by whatever watches: a controller ends where one ends that has just started."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from random import Random
from typing import Any

import yaml
from twisted.internet.task import deferLater

from ingress.cluster.api.backoff import Backoff
from ingress.cluster.kinds import ObjectKinds
from ingress.cluster.store import Store
from ingress.cluster.watching import reflector
from ingress.controller import Controller
from ingress.metrics.metrics import Metrics
from ingress.model.cluster.label_selectors import LabelRequirement, LabelSelector
from ingress.model.cluster.objects import Batch
from ingress.model.network.listeners import Listener
from ingress.translate.options import TranslateOptions
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from tests.cluster.any_objects import AnyObjects
from tests.cluster.api_server_case import reactor
from tests.cluster.source_case import SourceTestCase
from tests.fakes.apiserver.kinds import GATEWAY_KINDS, definition_of
from tests.fakes.apiserver.server import ApiServer
from tests.fakes.objects import ingress_object
from tests.translate.readers.gateway.route_cluster import GATEWAY_CLASS, gateway, route, rule

KINDS = ("Ingress", "Service", "EndpointSlice", "Secret", "ConfigMap", "IngressClass", "Namespace")
LISTENERS = (Listener("tcp:80", is_required=True), Listener("tcp:443", is_secure=True, is_required=True))
FIXED_ROUTE = route("fixed", rule("web"), parents=[{"name": "fixed"}], namespace="shop")
_AT_FIRST = 100
_STEPS = 8
_PATIENCE_SECONDS = 240.0
"""For each of the steps: so many threads wait for each other in each that they need a second of a processor between them."""
_NOW = datetime(2026, 7, 1, tzinfo=UTC)


class _Replica:
    """A source at the API server with a controller behind it, and what that has published."""

    def __init__(self, options: TranslateOptions, make_source: Callable[..., Any]) -> None:
        self.snapshot: Snapshot | None = None
        self._compared: tuple[Snapshot | None, Snapshot | None] = None, None
        self.served: set[str] = set()
        """Sorts of routes that were there when another replica had published the same; a moment later they may be others."""
        self.controller = Controller(Store(), options, self._publish, reactor, Metrics(), lambda: _NOW)
        self.source = make_source(options=options, refresh_seconds=0.2, config_map_refresh_seconds=0.2)

    def _publish(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot

    def changed(self, batch: Batch) -> None:
        """Hand over what changed."""
        self.controller.changed(batch)

    def synced(self) -> None:
        """Begin."""
        self.controller.synced()

    async def start(self) -> None:
        """Begin to read."""
        await self.source.start(self)

    async def stop(self) -> None:
        """End all threads."""
        self.controller.stop()
        await self.source.stop()

    def is_like(self, other: _Replica) -> bool:
        """Say whether both have published the same; what was compared before, and differed, is not compared again."""
        one, another = self._compared
        if one is self.snapshot and another is other.snapshot:
            return False
        self._compared = self.snapshot, other.snapshot
        if self.differs_from(other):
            return False
        assert self.snapshot is not None
        self.served |= {name.partition(" ")[0] for name, one in self.snapshot.tables() if one.routes.count}
        return True

    def differs_from(self, other: _Replica) -> tuple[str, ...]:
        """Return how what is published differs from what *other* has."""
        if self.snapshot is None or other.snapshot is None:
            return ("nothing is published",)
        return differences(self.snapshot, other.snapshot)


class _History:
    """What happens to an API server, as *random* has it."""

    def __init__(self, random: Random, server: ApiServer) -> None:
        self._random = random
        self._server = server
        self._objects = AnyObjects(random)
        self._acts: list[Callable[[], None]] = [
            *[self.apply] * 11,
            *[self._delete] * 4,
            server.define,
            self._define_one,
            self._close,
            self._compact,
            server.reset_connections,
            self._turn_streaming,
            self._turn_expiry,
        ]

    def step(self) -> None:
        """Let something happen."""
        self._random.choice(self._acts)()

    def apply(self) -> None:
        """Let an object come, or be another."""
        one = self._objects.any()
        if not any(row.kind == one["kind"] for row in GATEWAY_KINDS) or self._is_defined(one["kind"]):
            self._server.apply(one)

    def _delete(self) -> None:
        kind = self._random.choice((*KINDS, *(row.kind for row in GATEWAY_KINDS)))
        there = self._server.list(kind)
        if not there:
            return
        one = self._random.choice(there)
        metadata = one["metadata"]
        self._server.delete(kind, metadata["name"], metadata.get("namespace", ""))
        if self._random.random() < 0.3:
            # Another object of the same name, in the same moment.
            fresh = {key: value for key, value in metadata.items() if key not in ("resourceVersion", "uid")}
            self._server.create({**one, "metadata": fresh})

    def _is_defined(self, kind: str) -> bool:
        return any(row.kind == kind for row in self._server.served())

    def _define_one(self) -> None:
        """Let the definition of a kind come, or go with all objects of it."""
        row = self._random.choice(GATEWAY_KINDS)
        if not self._is_defined(row.kind):
            self._server.apply(definition_of(row))
            return
        for one in self._server.list(row.kind):
            self._server.delete(row.kind, one["metadata"]["name"], one["metadata"].get("namespace", ""))
        self._server.delete("CustomResourceDefinition", row.qualified)

    def _close(self) -> None:
        self._server.close_watches("reset" if self._random.random() < 0.5 else "finish")

    def _compact(self) -> None:
        self._server.compact()
        self._server.close_watches()

    def _turn_streaming(self) -> None:
        self._server.streaming_list = not self._server.streaming_list

    def _turn_expiry(self) -> None:
        self._server.gone_as_status = not self._server.gone_as_status


class AnyHistoryTests(SourceTestCase):
    """Objects of all kinds come, change and go, while watches break, expire and begin anew."""

    timeout = 1200

    async def test_alone(self) -> None:
        """Gateways have their own ports."""
        await self._check(1, TranslateOptions(allow_external_name=True, ssl_passthrough=True))

    async def test_side_by_side(self) -> None:
        """Gateways and Ingresses share ports, and Ingresses without class are served, too."""
        await self._check(7, TranslateOptions(listeners=LISTENERS, watch_without_class=True))

    async def test_secrets_by_name(self) -> None:
        """Secrets are read by their names."""
        options = TranslateOptions(listeners=LISTENERS, ssl_passthrough=True)
        await self._check(3, options, watch_secrets=False)

    async def test_some_namespaces(self) -> None:
        """Of the namespaces with objects one is watched."""
        await self._check(4, TranslateOptions(listeners=LISTENERS), namespaces=("shop", "infra"))

    async def test_selected_namespaces(self) -> None:
        """Of the namespaces those are watched that have a label."""
        selector = LabelSelector((LabelRequirement("team", "In", ("x",)),))
        kinds = ObjectKinds(selects_namespaces=True)
        options = TranslateOptions(listeners=LISTENERS)
        await self._check(5, options, namespace_selector=selector, kinds=kinds)

    async def _check(self, seed: int, options: TranslateOptions, **more: Any) -> None:
        """Live through a history, and compare time and again with a replica that has just started."""
        # So many connections never break in so short a time that anybody should have to wait for half a minute.
        self.patch(reflector, "Backoff", partial(Backoff, ceiling_seconds=0.02))
        random = Random(seed)
        history = _History(random, self.server)
        self.server.define()
        for _ in range(_AT_FIRST):
            history.apply()
        # Something that is served in any case, until it is deleted.
        for one in (yaml.safe_load(GATEWAY_CLASS), gateway("fixed", namespace="shop"), FIXED_ROUTE):
            self.server.apply(one)
        self.server.apply(ingress_object("fixed", "fixed.test"))
        follower = _Replica(options, partial(self.source, **more))
        self.addCleanup(follower.stop)
        await follower.start()
        for number in range(1, _STEPS + 1):
            for _ in range(random.randint(1, 20)):
                history.step()
                if random.random() < 0.4:
                    await deferLater(reactor, 0, lambda: None)
            fresh = _Replica(options, partial(self.source, **more))
            await fresh.start()
            try:
                await self.until(partial(follower.is_like, fresh), _PATIENCE_SECONDS)
            except AssertionError:
                self.fail(f"seed {seed}, step {number}: {follower.differs_from(fresh)}")
            finally:
                await fresh.stop()
            self.assertEqual(follower.controller.verify(), ())
        # Both sorts of routes were there at some time.
        self.assertEqual(follower.served, {"", "gateway"})

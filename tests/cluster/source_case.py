"""What tests of a source at an API server share: objects, a sink, and a source that ends with the test."""

from base64 import b64encode
from collections.abc import Callable
from threading import current_thread, main_thread
from threading import enumerate as all_threads
from time import monotonic
from typing import Any

from attrs import Factory, define
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from ingress.cluster import api_server
from ingress.cluster.api_server import ApiServerSource
from ingress.cluster.source import Source
from ingress.model.cluster.objects import Batch, Kind, ObjectId, Projection
from ingress.translate.options import TranslateOptions
from tests.cluster.api_server_case import LIMIT_SECONDS, PATIENCE_SECONDS, ApiServerTestCase, reactor

# The threads of a source.
THREADS = ("reflector ", "reader of Secrets ")


def service(name: str, namespace: str = "shop", service_type: str = "ClusterIP") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"type": service_type, "clusterIP": "10.0.0.1", "ports": [{"port": 80}]},
    }


def ingress(name: str, *secrets: str, class_name: str = "nginx", namespace: str = "shop") -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "ingressClassName": class_name,
            "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}},
            "tls": [{"secretName": secret} for secret in secrets],
        },
    }


def secret(name: str, secret_type: str = "kubernetes.io/tls", content: bytes = b"1") -> dict[str, Any]:
    keys = ("tls.crt", "tls.key", "ca.crt", "auth")
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": "shop"},
        "type": secret_type,
        "data": {key: b64encode(content).decode() for key in keys},
    }


@define
class Content:
    """A sink that keeps everything, and notices when it is called in a wrong way."""

    objects: dict[ObjectId, Projection] = Factory(dict)
    changes: list[ObjectId] = Factory(list)
    synced_times: int = 0
    wrong_threads: list[str] = Factory(list)

    def changed(self, batch: Batch) -> None:
        self._check_thread()
        for object_id, projection in batch.items():
            self.changes.append(object_id)
            if projection is None:
                self.objects.pop(object_id, None)
            else:
                self.objects[object_id] = projection

    def synced(self) -> None:
        self._check_thread()
        self.synced_times += 1

    def names(self, kind: Kind = Kind.SERVICE) -> set[str]:
        return {key.name for of, key in self.objects if of is kind}

    def _check_thread(self) -> None:
        if current_thread() is not main_thread():
            self.wrong_threads.append(current_thread().name)


def running_threads() -> list[str]:
    """The threads of sources that have not ended."""
    return [thread.name for thread in all_threads() if thread.name.startswith(THREADS)]


class SourceTestCase(ApiServerTestCase):
    """A source on an API server, with short delays."""

    def setUp(self) -> Deferred[None]:  # type: ignore[override]
        """Let no thread be left behind because the machine is busy: all of them end, and a test sees that."""
        self.patch(api_server, "_STOP_SECONDS", PATIENCE_SECONDS)
        return super().setUp()

    def source(self, **more: Any) -> ApiServerSource:
        settings: dict[str, Any] = {
            "kubeconfig": str(self.kubeconfig),
            "context": None,
            "server": None,
            "namespaces": (),
            "options": TranslateOptions(),
            "environ": {},
            "connect_seconds": LIMIT_SECONDS,
            "read_seconds": LIMIT_SECONDS,
            "backoff_seconds": 0.003,
            "random": lambda: 0.0,
        }
        return ApiServerSource(reactor, **{**settings, **more})

    async def start(self, **more: Any) -> Content:
        """Start a source that is stopped, with its threads, after the test."""
        content = Content()
        self.running: Source = self.source(**more)
        self.addCleanup(self.stop, content)
        await self.running.start(content)
        return content

    async def synced(self, **more: Any) -> Content:
        """Start a source and wait for its first sync."""
        content = await self.start(**more)
        await self.until(lambda: content.synced_times > 0)
        return content

    def stop(self, content: Content) -> Deferred[None]:
        def check(_: object) -> None:
            self.assertEqual(running_threads(), [])
            self.assertEqual(content.wrong_threads, [])
            self.assertLessEqual(content.synced_times, 1)

        return deferLater(reactor, 0, self.running.stop).addCallback(check)

    async def until(self, condition: Callable[[], bool], seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until something holds; other work goes on meanwhile."""
        deadline = monotonic() + seconds
        while not condition():
            if monotonic() > deadline:
                raise AssertionError(f"it did not happen within {seconds} s")
            await deferLater(reactor, 0.005, lambda: None)

    async def arrives(self, content: Content, name: str) -> None:
        """A Service that is created now is handed over."""
        self.server.create(service(name))
        await self.until(lambda: name in content.names())

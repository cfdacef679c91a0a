"""What tests of blocking clients share: the tests' API server, and threads to block in."""

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from twisted.internet import reactor as real_reactor  # noqa: TID251 - real sockets need the real reactor
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from twisted.trial.unittest import TestCase

from ingress.cluster.api.api_client import ApiAccess, ApiConnection
from ingress.cluster.api.credentials import CredentialSource
from tests.fakes.apiserver.kinds import KindTable
from tests.fakes.apiserver.server import ApiServer

T = TypeVar("T")

reactor: Any = real_reactor

PATIENCE_SECONDS = 60.0
"""For what must happen, however busy the machine is."""
LIMIT_SECONDS = 60.0
"""What a client waits for an API server that says nothing, where a test says nothing else."""
SOON_SECONDS = 40.0
"""For what must not wait for that limit."""


def in_thread(action: Callable[[], T], seconds: float = PATIENCE_SECONDS) -> Deferred[T]:
    """Do something that blocks in a thread of its own; the result comes in the reactor thread."""
    result: Deferred[T] = Deferred()

    def work() -> None:
        try:
            value = action()
        except Exception:
            reactor.callFromThread(result.errback, Failure())
        else:
            reactor.callFromThread(result.callback, value)

    Thread(target=work, daemon=True).start()
    return result.addTimeout(seconds, reactor)


class ApiServerTestCase(TestCase):
    """A running API server and a kubeconfig that leads to it."""

    timeout = 180
    tls = False
    kinds = KindTable()

    def setUp(self) -> Deferred[None]:  # type: ignore[override]
        self.server = ApiServer(reactor, tls=self.tls, kinds=self.kinds)
        self.kubeconfig = Path(self.mktemp())
        return Deferred.fromCoroutine(self._listen())

    async def _listen(self) -> None:
        await self.server.listen()
        self.addCleanup(lambda: Deferred.fromCoroutine(self.server.stop()))
        self.server.write_kubeconfig(self.kubeconfig)

    def access(self, read_seconds: float = LIMIT_SECONDS, **more: Any) -> ApiAccess:
        """An access by the kubeconfig, not loaded yet."""
        source = CredentialSource(str(self.kubeconfig), None, None, environ={})
        return ApiAccess(source, connect_seconds=LIMIT_SECONDS, read_seconds=read_seconds, **more)

    async def connection(self, read_seconds: float = LIMIT_SECONDS, **more: Any) -> ApiConnection:
        """A connection by the kubeconfig, closed after the test."""
        access = self.access(read_seconds, **more)
        await in_thread(access.load)
        connection = ApiConnection(access)
        self.addCleanup(connection.close)
        return connection

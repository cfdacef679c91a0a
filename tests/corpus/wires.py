"""Plays cases through a proxy on real sockets: the two peers of a conversation, and a case with both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from twisted.internet.defer import Deferred, TimeoutError
from twisted.internet.endpoints import TCP4ClientEndpoint, wrapClientTLS
from twisted.internet.error import ConnectionDone
from twisted.internet.interfaces import IHalfCloseableProtocol
from twisted.internet.protocol import Factory, Protocol, connectionDone
from twisted.internet.ssl import Certificate as TrustedCertificate
from twisted.internet.ssl import optionsForClientTLS
from twisted.python.failure import Failure
from zope.interface import implementer

from ingress.identity.certificates import CertificateTable
from ingress.model.serving.limits import Limits
from ingress.model.upstream.backends import BackendState, Endpoint
from tests.corpus.cases import Case, get, got
from tests.corpus.judge import Outcome, WrongError, count_answers, judge, take_requests
from tests.corpus.memory import routes
from tests.fakes.certificates import make_authority
from tests.fakes.connecting import connect_protocol
from tests.http.strict import Message
from tests.proxy.playing import BACKEND
from tests.proxy.sockets.sockets_case import SocketsCase, certificate_of

SECONDS = 10.0
"""How long one case may take."""


class Watched(Protocol):
    """A protocol that tells when something happened to it."""

    transport: Any

    def __init__(self, happened: Callable[[], None]) -> None:
        self.happened = happened
        self.lost: BaseException | None = None

    @property
    def was_reset(self) -> bool:
        """Whether the connection ended, and not in order."""
        return self.lost is not None and not isinstance(self.lost, ConnectionDone)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self.lost = reason.value
        self.happened()


@implementer(IHalfCloseableProtocol)
class Client(Watched):
    """Downstream: says its bytes and keeps what comes."""

    received = b""
    saw_end = False

    def dataReceived(self, data: bytes) -> None:
        self.received += data
        self.happened()

    def readConnectionLost(self) -> None:
        """The proxy sends no more."""
        self.saw_end = True
        self.happened()

    def writeConnectionLost(self) -> None:
        """Our side is ended, as a case asks."""


class Backend(Watched):
    """Upstream: reads strictly, and says what the case has for it."""

    unread = b""

    def __init__(
        self, happened: Callable[[], None], answer: Callable[[Backend, Message | None], None]
    ) -> None:
        super().__init__(happened)
        self._answer = answer

    def dataReceived(self, data: bytes) -> None:
        requests, self.unread = take_requests(self.unread + data)
        for request in requests:
            self._answer(self, request)
        if b"\r\n\r\n" in self.unread:
            self._answer(self, None)
        self.happened()


class CorpusCase(SocketsCase):
    """A proxy on sockets, through which cases are played."""

    limits = Limits(allow_half_close=True)

    timeout = 300

    async def setUp(self) -> None:  # type: ignore[override]
        """Let a strict upstream answer, behind the routes that cases count on."""
        await super().setUp()
        self._case: Case | None = None
        self._requests: list[Message] = []
        self._answered = 0
        self._backends: list[Backend] = []
        self._waiting: tuple[Callable[[], object], Deferred[None]] | None = None
        factory = Factory.forProtocol(self._backend)
        factory.noisy = False
        port = self.reactor.listenTCP(0, factory, interface="127.0.0.1")
        self.addCleanup(port.stopListening)
        endpoint = Endpoint("127.0.0.1", port.getHost().port)
        authority = make_authority()
        self.contexts.publish(
            CertificateTable({"shop.test": (certificate_of(authority, "shop.test"),)}, {}, None)
        )
        self._trust = optionsForClientTLS("shop.test", trustRoot=TrustedCertificate.loadPEM(authority.pem))
        self.resource.publish(routes(), {BACKEND: BackendState((endpoint,))})

    def _backend(self) -> Backend:
        backend = Backend(self._happened, self._answer)
        self._backends.append(backend)
        return backend

    def _answer(self, backend: Backend, request: Message | None) -> None:
        assert self._case is not None
        if request is not None:
            self._requests.append(request)
        elif not self._case.early or self._answered:
            return
        answer = self._case.answers[min(self._answered, len(self._case.answers) - 1)]
        self._answered += 1
        backend.transport.write(answer)
        if self._case.hangs_up:
            backend.transport.loseConnection()

    def _happened(self) -> None:
        if self._waiting is not None and self._waiting[0]():
            waiting, self._waiting = self._waiting, None
            waiting[1].callback(None)

    async def _reached(self, condition: Callable[[], object]) -> None:
        if condition():
            return
        waiter: Deferred[None] = Deferred()
        self._waiting = condition, waiter
        try:
            await waiter.addTimeout(SECONDS, self.reactor)
        finally:
            self._waiting = None

    async def play_all(self, cases: Iterable[tuple[str, Case]], secure: bool = False) -> None:
        """Play *cases* one after the other, each with a canary behind; tell of all that went wrong."""
        wrong = []
        for number, (name, case) in enumerate(cases):
            target = b"/canary?%d" % number
            canary = Case("canary", get(target=target), (got(target=target),))
            if case.hangs_up:
                # A connection that was used before and ends without a word is another story: the request is repeated.
                await self._close_backends()
            for each, prefix in ((case, ""), (canary, "poisoned: ")):
                try:
                    judge(each, await self._play(each, secure))
                except (WrongError, TimeoutError, self.failureException) as error:
                    wrong.append(f"{name}: {prefix}{error!r}")
        await self._close_backends()
        self.assertEqual(wrong, [], f"{len(wrong)} cases:\n" + "\n".join(wrong))

    async def _close_backends(self) -> None:
        for backend in self._backends:
            if backend.lost is None:
                backend.transport.loseConnection()
        await self._reached(lambda: all(backend.lost for backend in self._backends))
        self._backends.clear()
        await self.until(lambda: "0 busy, 0 idle, 0 connecting>" in repr(self.pool))

    def _knows_all(self) -> bool:
        """Whether upstream knows how each request ended: of what the proxy has sent or ended, nothing is on its way.

        Downstream may know sooner, and upstream may not even have read the beginning by then.
        """
        living = [each for each in self._backends if not each.lost]
        settled = f" 0 busy, {len(living)} idle, 0 connecting>" in repr(self.pool)
        return settled and not any(each.unread for each in living)

    async def _play(self, case: Case, secure: bool) -> Outcome:
        self._case = case
        self._requests = []
        self._answered = 0
        client = Client(self._happened)
        await self._connect_client(client, secure)
        client.transport.write(case.sent)
        if case.finishes:
            client.transport.loseWriteConnection()
        talk = _Talk(case, client, secure)
        try:
            await self._reached(talk.is_over)
            await self.until(self._knows_all)
            ended, was_reset = talk.has_ended, client.was_reset and not client.saw_end
        finally:
            if not client.lost:
                client.transport.abortConnection()
            await self._reached(lambda: client.lost)
        outcome = Outcome(
            client.received,
            ended,
            was_reset,
            self._requests,
            [(each.unread, each.was_reset) for each in self._backends if each.unread],
            peer=b"127.0.0.1",
            scheme=b"https" if secure else b"http",
        )
        self._backends = [each for each in self._backends if not each.lost]
        return outcome

    async def _connect_client(self, client: Client, secure: bool) -> None:
        port = (self._secure if secure else self._plain).getHost().port
        endpoint: Any = TCP4ClientEndpoint(self.reactor, "127.0.0.1", port)
        if secure:
            endpoint = wrapClientTLS(self._trust, endpoint)
        await connect_protocol(endpoint, client)


class _Talk:
    """Knows when a conversation has come to its end, so that it can be judged."""

    def __init__(self, case: Case, client: Client, secure: bool) -> None:
        self._client = client
        self._secure = secure
        self._methods = case.methods or [case.sent.partition(b" ")[0]]
        self._is_refused = bool(case.refused) and not case.either
        self._wanted = max(1, sum(seen.status >= 200 for seen in case.expected))

    def is_over(self) -> bool:
        """Whether nothing more has to come."""
        if self.has_ended:
            return True
        return not self._must_end and self._answers() >= self._wanted

    @property
    def has_ended(self) -> bool:
        """Whether the proxy ended the connection.

        Over TLS it lingers without showing so; there its word in the head is enough.
        """
        if self._client.lost is not None or self._client.saw_end:
            return True
        return self._secure and self._says_close and self._answers() >= self._wanted

    @property
    def _must_end(self) -> bool:
        return self._is_refused or self._says_close

    @property
    def _says_close(self) -> bool:
        return b"\r\nConnection: close\r\n" in self._client.received

    def _answers(self) -> int:
        return count_answers(self._client.received, self._methods, False)

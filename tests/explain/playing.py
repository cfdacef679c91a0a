"""Requests that a proxy in memory really gets, to compare what becomes of them with their explanation."""

from typing import Any, cast

from attrs import frozen

from ingress.explain.asked_request import Asked
from ingress.identity.misdirected import ServerNames
from ingress.model.exchanges.records import Record
from ingress.model.requests.client_authentication import ClientAuthentication
from ingress.model.upstream.backends import Endpoint
from ingress.proxy.contract.security import Security
from ingress.proxy.contract.transport import Transport
from ingress.proxy.listening.connection_factories import ChannelFactory
from ingress.tls.handshake import Handshake
from ingress.translate.snapshot import Snapshot
from tests.proxy.playing import OK, Stage

ALLOWED = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
NO_ANSWER = b"nonsense\r\n\r\n"


@frozen
class Played:
    """What became of one request."""

    record: Record
    answer: bytes
    endpoint: Endpoint | None
    """The endpoint that was asked; None where none was."""
    head: bytes
    """What that was asked, as it came; empty where it speaks HTTP/2."""

    @property
    def status(self) -> int:
        """What the client was told, by the log."""
        return self.record.status

    @property
    def location(self) -> str:
        """Where the client was sent."""
        for line in self.answer.partition(b"\r\n\r\n")[0].split(b"\r\n"):
            name, _, value = line.partition(b": ")
            if name.lower() == b"location":
                return value.decode("latin-1")
        return ""


class _Connection:
    """A TLS connection whose handshake is over, and whose client showed no certificate."""

    def __init__(self, handshake: Handshake) -> None:
        self._handshake = handshake

    def get_app_data(self) -> Handshake:
        return self._handshake

    def get_peer_certificate(self, as_cryptography: bool) -> None:
        return None


class _SecureTransport:
    def __init__(self, server_name: bytes | None, asked: ClientAuthentication | None) -> None:
        self.tls = _Connection(Handshake(server_name, asked))


def play(asked: Asked, snapshot: Snapshot, server_name: str | None) -> Played:
    """Send *asked* to a proxy that serves *snapshot*; over TLS for *server_name*, where its URL says so.

    Services that filters ask allow everything, and those that are asked for pages have none.
    """
    stage = Stage(limits=snapshot.serving.limits)
    stage.resource.publish(snapshot.table, snapshot.backends)
    names = ServerNames(snapshot.certificates, snapshot.handshake_settings)
    stage.site.server_names = names
    is_secure = asked.url.scheme == "https"
    channel = ChannelFactory(stage.site, is_secure).build()
    client = stage.reactor.connect(channel, host=asked.client)
    if is_secure:
        wanted = names.handshake_settings.find(server_name).client_authentication
        sent = None if server_name is None else server_name.encode("ascii")
        cast(Any, channel).security = Security(cast(Transport, _SecureTransport(sent, wanted)))
    client.say(asked.head)
    endpoint: Endpoint | None = None
    head = b""
    answered = 0
    while not stage.metrics.records and answered < len(stage.connector.peers):
        peer, where = stage.connector.peers[answered], stage.connector.asked[answered]
        answered += 1
        received = peer.received
        if where.link_settings is not None and (
            where.link_settings.is_http2 or where.link_settings.is_fastcgi
        ):
            return _played_otherwise(stage, asked, where)
        if received.startswith(b"GET / HTTP/1.1\r\nHost: ask.") or b"\r\nX-Original-Method:" in received:
            peer.say(ALLOWED)
        elif b"\r\nX-Forwarded-Host:" not in received:
            peer.say(NO_ANSWER)
        else:
            endpoint, head = where, received
            peer.say(OK)
    assert stage.metrics.records, (client.received, stage.connector.asked)
    return Played(stage.metrics.records[0], client.received, endpoint, head)


def _played_otherwise(stage: Stage, asked: Asked, where: Endpoint) -> Played:
    """Return what there is to see of a request to an endpoint that speaks HTTP/2 or FastCGI: that it went there."""
    stage.reactor.peers[0].reset()
    return Played(stage.metrics.records[0], b"", where, b"")

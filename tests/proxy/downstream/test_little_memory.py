"""What thousands of connections at rest are made of."""

import gc
from types import SimpleNamespace
from typing import cast

from ingress.http.forwarding import Origin, TrustedProxies, origin_of_peer
from ingress.http.head_buffer import HeadBuffer
from ingress.http2.block_decoder import BlockDecoder
from ingress.http2.budget import Budget
from ingress.http2.frame_reader import FrameReader
from ingress.http2.hpack.field_decoder import FieldDecoder
from ingress.http2.incoming import Incoming
from ingress.http2.outgoing import Outgoing
from ingress.proxy.contract.transport import Transport
from ingress.proxy.contract.turns import Turns
from ingress.proxy.downstream.answer_writer import AnswerWriter
from ingress.proxy.downstream.client import client_of
from ingress.proxy.downstream.h2_backlog import SendBacklog
from ingress.proxy.downstream.h2_session import DownstreamSession
from ingress.proxy.downstream.request_reader import RequestReader
from ingress.proxy.downstream.sending import Sending
from ingress.proxy.transport.epoll.stream import StreamTransport
from ingress.proxy.transport.epoll.tls import TLSTransport
from tests.proxy.filter_case import AskingHttp2
from tests.proxy.playing import ProxyCase

PARTS: tuple[type, ...] = (
    AnswerWriter,
    BlockDecoder,
    Budget,
    DownstreamSession,
    FieldDecoder,
    FrameReader,
    HeadBuffer,
    Incoming,
    Outgoing,
    RequestReader,
    SendBacklog,
    Sending,
    StreamTransport,
    TLSTransport,
    Turns,
)


class LittleMemoryTests(ProxyCase):
    """The parts of a connection."""

    def test_no_dictionaries(self) -> None:
        """No part has a dictionary of its own, which takes a hundred bytes."""
        client = AskingHttp2(self, secure=False, window=None)
        client.ask()
        parts = [each for each in gc.get_objects() if type(each) in PARTS]
        self.assertIn(DownstreamSession, {type(each) for each in parts})
        self.assertEqual({type(each) for each in parts if _has_dictionary(each)}, set())

    def test_origins_are_shared(self) -> None:
        """Connections of one address share what is said of it upstream; of another, or by another scheme or port, they do not."""
        mine = _origin_of("192.0.2.1", True, 443)
        made = origin_of_peer(b"192.0.2.1", b"https", 443)
        self.assertEqual((mine.address, mine.scheme, mine.fields), (made.address, made.scheme, made.fields))
        self.assertIs(_origin_of("192.0.2." + str(1), True, 443), mine)
        others = (("192.0.2.2", True, 443), ("192.0.2.1", False, 443), ("192.0.2.1", True, 8443))
        self.assertEqual([other for other in others if _origin_of(*other) == mine], [])


def _has_dictionary(part: object) -> bool:
    # A compiled class may have room for one; where an instance has none yet, looking at it makes it.
    held = [id(each) for each in gc.get_referents(part)]
    return hasattr(part, "__dict__") and id(vars(part)) in held


def _origin_of(host: str, secure: bool, port: int) -> Origin:
    transport = SimpleNamespace(peer_host=host, local_port=port)
    return client_of(cast(Transport, transport), secure, TrustedProxies())[0]

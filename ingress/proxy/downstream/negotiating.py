"""How a downstream connection comes to speak HTTP/2: agreed on in its handshake, or begun without a word.

Every connection begins with a channel, which speaks HTTP/1.1.  Where HTTP/2 is on, it is one of
those here, and steps aside for a session once it is known that the peer speaks HTTP/2::

    TLS      NegotiatingChannel ── handshake agreed on h2 (ALPN) ─────────▶ session
    plain    PriorKnowledgeChannel ── the first bytes are the preface ────▶ session
                  └── anything else ──▶ they stay what they are, and speak HTTP/1.1

Nobody else notices: it stays one connection to site and metrics, and the transport goes on with
another protocol.  What a session is, is no matter of this module, nor is its preface beyond
those first bytes.  ``Upgrade: h2c`` is not honored: RFC 9113 has done away with it.
"""

from ingress.http2.frames import PREFACE
from ingress.proxy.contract.never_raises import never_raises
from ingress.proxy.dispatch.site import Session, SessionRules
from ingress.proxy.downstream.channel import DownstreamChannel
from ingress.proxy.downstream.channel_state import CLOSED
from ingress.tls.profile import HTTP_2


def channel_class(rules: SessionRules | None, secure: bool) -> type[DownstreamChannel]:
    """Return what the connections of a listener begin with; without *rules* there is no HTTP/2."""
    if rules is None:
        return DownstreamChannel
    if secure:
        return NegotiatingChannel if rules.over_tls else DownstreamChannel
    return PriorKnowledgeChannel if rules.by_prior_knowledge else DownstreamChannel


class _ForegoingChannel(DownstreamChannel):
    """A channel that a session can take the place of, before the first request."""

    def _step_aside(self) -> Session:
        """Put a session in the place of this channel, and return it."""
        site, transport = self._site, self.transport
        assert site.sessions is not None
        # Whatever happens from here on, HTTP/1.1 is nothing that the peer would understand.
        self.state = CLOSED
        session = site.sessions.new_session(site, self._secure)
        self._deadlines.forget(self)
        transport.deliver_to(session)
        site.connections.replaced(self, session)
        session.makeConnection(transport)
        if site.connections.is_ending:
            # Who began after all others were told to end is told, too.
            session.drain()
        return session


class NegotiatingChannel(_ForegoingChannel):
    """The channel of a TLS connection, which may agree on HTTP/2."""

    @never_raises
    def handshakeCompleted(self) -> None:
        """Step aside if HTTP/2 was agreed on; nothing was received so far."""
        tls = self.transport.tls
        if self.state is not CLOSED and tls is not None and tls.get_alpn_proto_negotiated() == HTTP_2:
            self._step_aside()


class PriorKnowledgeChannel(_ForegoingChannel):
    """The channel of a plain connection, whose peer may know that HTTP/2 is spoken here (RFC 9113 section 3.3)."""

    _is_undecided = True
    """Whether what has come so far may be the beginning of the preface."""

    def dataReceived(self, received: bytes) -> None:
        if self._is_undecided:
            self._decide(bytes(self._buffer) + received)
        else:
            super().dataReceived(received)

    @never_raises
    def _decide(self, received: bytes) -> None:
        """Look at all that has come; while it is part of a preface, the deadline is that of a head."""
        if received.startswith(PREFACE):
            self._is_undecided = False
            self._step_aside().dataReceived(received)
        elif PREFACE.startswith(received):
            self._buffer[:] = received
        else:
            self._is_undecided = False
            self._buffer.clear()
            super().dataReceived(received)

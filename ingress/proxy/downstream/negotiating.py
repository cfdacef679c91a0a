"""How a downstream connection comes to speak HTTP/2: agreed on in its handshake, or begun without a word.

Every connection begins with a channel, which speaks HTTP/1.1, and knows how its listener *begins*.  It
steps aside for a session once it is known that the peer speaks HTTP/2::

    BY_HANDSHAKE   channel ── handshake agreed on h2 (ALPN) ───────────▶ session
    BY_PREFACE     channel ── the first bytes are the preface ─────────▶ session
                      └── anything else ──▶ it goes on, and speaks HTTP/1.1

Nobody else notices: it stays one connection to site and metrics, and the transport goes on with
another receiver.  What a session is, is no matter of this module, nor is its preface beyond
those first bytes.  ``Upgrade: h2c`` is not honored: RFC 9113 has done away with it.
"""

from enum import Enum

from OpenSSL import SSL

from ingress.http2.frames import PREFACE
from ingress.proxy.contract.transport import Transport
from ingress.proxy.dispatch.site import ProxySite, Session, SessionRules
from ingress.proxy.transport.connection_limit import Connection
from ingress.tls.binding import agreed_on
from ingress.tls.profile import HTTP_2


class Beginning(Enum):
    """What may turn a connection into one of HTTP/2."""

    HTTP_1 = "nothing"
    BY_HANDSHAKE = "handshake"
    BY_PREFACE = "preface"


def beginning_of(rules: SessionRules | None, secure: bool) -> Beginning:
    """Return how the connections of a listener begin; without *rules* there is no HTTP/2."""
    if rules is None or not (rules.over_tls if secure else rules.by_prior_knowledge):
        return Beginning.HTTP_1
    return Beginning.BY_HANDSHAKE if secure else Beginning.BY_PREFACE


def agreed_on_http2(tls: SSL.Connection | None) -> bool:
    """Whether the handshake, which is over, agreed on HTTP/2 (ALPN)."""
    return tls is not None and agreed_on(tls, HTTP_2)


def is_preface(received: bytes) -> bool | None:
    """Whether a connection that begins with *received* is one of HTTP/2 (RFC 9113 section 3.4); None while that is open."""
    if received.startswith(PREFACE):
        return True
    return None if PREFACE.startswith(received) else False


def take_over(site: ProxySite, channel: Connection, transport: Transport, secure: bool) -> Session:
    """Put a session in the place of *channel*, and return it; what was received comes next."""
    assert site.sessions is not None
    session = site.sessions.new_session(site, secure)
    transport.deliver_to(session)
    site.connections.replaced(channel, session)
    session.makeConnection(transport)
    if site.connections.is_ending:
        # Who began after all others were told to end is told, too.
        session.drain()
    return session

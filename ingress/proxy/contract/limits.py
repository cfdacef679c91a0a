"""The bounds of the data path that nobody can set: what a peer may take in time and in bytes.

Those that the operator or an Ingress can set are values of ``ingress.model.serving.limits``;
bounds of the grammar are in ``ingress.http``.  The first group is about downstream connections,
the second about exchanges, the third about upstream connections, the fourth about requests of our own, the last one about
this process.
"""

from typing import Final

CONNECTION_START_SECONDS: Final = 10.0
"""From the accept to the end of PROXY header and ClientHello, where these are read; and from there to the end of the handshake
of a stream whose TLS is terminated here."""
HALF_CLOSED_SECONDS: Final = 60.0
"""How long a stream may rest once one side of it has ended, and how often it is looked at whether the other one takes the rest."""
LINGER_GAP_SECONDS: Final = 5.0
LINGER_SECONDS: Final = 30.0
"""How long is still taken what nobody wants, of a body or of a tunnel that has ended, so that what we said last is not lost in
a reset (nginx)."""
LEAVE_SECONDS: Final = 2.0
"""How long a client of HTTP/2 may take to notice that a connection takes no further requests."""
ENDED_SECONDS: Final = 1.0
"""How long the rest of an answered request may come over HTTP/2 before its stream is reset."""
TUNNEL_END_SECONDS: Final = 10.0
"""How long a WebSocket may rest once one side of it has ended; over HTTP/2, how long upstream may still talk."""
OVERTIME: Final = 0.1
"""How much older than it should a connection of HTTP/2 becomes that never rests, as part of its age."""
MEMO_SECONDS: Final = 5.0
"""How long a connection of HTTP/2 at rest remembers what its client sends again and again."""
MAX_WAITING: Final = 640 * 1024
"""Bytes of answers that wait with their streams on a connection of HTTP/2; what else is asked for waits at its endpoint."""
MAX_HEADS_UNTAKEN: Final = 4 * 1024 * 1024
"""Bytes of heads and trailers that a client of HTTP/2 leaves untaken before its connection is cut: those of its 128 requests, at 32 KiB
each.  Nothing but endpoints that speak HTTP/2 can bring as many, for these cannot be had to wait with them."""
ABOVE_WATERMARK_SECONDS: Final = 5.0
"""How long a stream may wait for credit of its own on a connection where so much waits."""
MAX_AHEAD: Final = 64 * 1024
"""Bytes kept of requests that wait for their turn."""

MAX_HELD: Final = 64 * 1024
"""Bytes of request body kept for an upstream that is not connected yet, or for another attempt."""
MAX_DECLINABLE: Final = 128 * 1024
"""The same where an endpoint of HTTP/2 has it, which may say that it has done nothing with it: what it takes at first, 64 KiB, and a read."""
SMALL_HELD: Final = 1024
"""Pieces of it are put together up to this size: those of an octet each would take a hundred times as much."""
DECISION_SECONDS: Final = 60.0
"""How long a request, or an answer, waits for what one of its filters awaits."""

UPSTREAM_IDLE_SECONDS: Final = 60.0
"""How long an unused connection is kept; ingress-nginx ``upstream-keepalive-timeout`` 60 s."""
MAX_UPSTREAM_IDLE: Final = 320
"""Idle connections kept per endpoint; ingress-nginx ``upstream-keepalive-connections`` 320."""
STREAM_END_SECONDS: Final = 5.0
"""How long the end of a stream may come behind an answer without content, which nobody waits for, before the stream is reset."""
NAMED_SECONDS: Final = 30.0
"""For how long a connection to a name takes exchanges: the next one is made to where the name leads then."""
FRESH_SECONDS: Final = 1.0
"""A request that cannot be repeated only takes a connection that was idle for less than this ..."""
KEPT_SECONDS: Final = 2.0
"""... and only where upstream has kept another one idle for this long, so does not close them at once, ..."""
SHOWN_SECONDS: Final = 60.0
"""... which it has shown no longer ago than this, ..."""
DISTRUST_SECONDS: Final = 60.0
"""... and not for so long after upstream ended a kept connection under a request."""

MAX_MIRRORS: Final = 256
"""Requests of filters under way whose answers nobody waits for; what is told beyond that is not sent ..."""
MAX_MIRRORS_OF_ONE: Final = 64
"""... nor what is told one URL beyond so many ..."""
MAX_MIRROR_BYTES: Final = 16 * 1024 * 1024
"""... nor what would have more bytes than that wait with them."""

TUNNEL_SPLICE_BYTES: Final = 8 * 1024 * 1024
"""What must have come one way of a stream for the kernel to move the rest: a pipe is then held to its end."""
SPLICE_BYTES: Final = 128 * 1024
"""What must be left of a body for the kernel to move it: below that, a copy is cheaper."""
MAX_PIPES: Final = 256
"""Bodies that the kernel moves at once; what else there is to move is copied."""
PIPE_BYTES: Final = 128 * 1024
"""What such a body may hold of kernel memory."""

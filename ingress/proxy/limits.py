"""The bounds of the data path in one place: what a peer may take in time and in bytes.

The first group is about downstream connections, the second about exchanges, the
third about upstream connections.  Bounds of the grammar are in ``ingress.http``.
"""

HEAD_SECONDS = 10.0
"""From the first byte of a head to its last; nginx 60 s, which a slow sender can live in."""
IDLE_SECONDS = 75.0
"""Between two requests; nginx ``keepalive_timeout`` 75 s."""
PREFACE_SECONDS = 10.0
"""From the accept to the end of PROXY header and ClientHello, where these are read."""
HALF_CLOSED_SECONDS = 60.0
"""How long TLS that passes through may rest once one side of it has ended."""
MAX_REQUESTS = 1000
"""On one connection; nginx ``keepalive_requests`` 1000."""
BODY_GAP_SECONDS = 30.0
"""Between two pieces of a request body; nginx 60 s."""
BODY_RATE_SECONDS = 30.0
BODY_RATE_BYTES = 30_000
"""What must come of a request body in that time while upstream takes it: 1 kB a second."""
SEND_GAP_SECONDS = 60.0
"""How long downstream may leave a full buffer of its answer untaken; nginx ``send_timeout`` 60 s."""
LINGER_GAP_SECONDS = 5.0
LINGER_SECONDS = 30.0
"""How long a body that nobody wants is still taken, so that our reply is not lost in a reset (nginx)."""
MAX_AHEAD = 64 * 1024
"""Bytes kept of requests that wait for their turn."""

MAX_HELD = 64 * 1024
"""Bytes of request body kept for an upstream that is not connected yet, or for another attempt."""
MAX_ATTEMPTS = 3
"""As ingress-nginx (``proxy-next-upstream-tries``)."""

SILENCE_SECONDS = 60.0
"""How long upstream may say nothing while we wait for it; nginx and ingress-nginx 60 s."""
MAX_INTERIM = 32
"""1xx answers to one request; more is a flood."""
CONNECT_SECONDS = 5.0
"""To make a connection; ingress-nginx ``proxy-connect-timeout`` 5 s."""
UPSTREAM_IDLE_SECONDS = 60.0
"""How long an unused connection is kept; ingress-nginx ``upstream-keepalive-timeout`` 60 s."""
MAX_UPSTREAM_IDLE = 320
"""Idle connections kept per endpoint; ingress-nginx ``upstream-keepalive-connections`` 320."""
FRESH_SECONDS = 1.0
"""A request that cannot be repeated only takes a connection that was idle for less than this ..."""
KEPT_SECONDS = 2.0
"""... and only while upstream has kept another one idle for this long, so does not close them at once."""
DISTRUST_SECONDS = 60.0
"""... and not for so long after upstream ended a kept connection under a request."""
TUNNEL_SPLICE_BYTES = 1024 * 1024
"""What must have come one way of TLS that passes through for the kernel to move the rest: a pipe is then held to its end."""
SPLICE_BYTES = 128 * 1024
"""What must be left of a body for the kernel to move it: below that, a copy is cheaper."""

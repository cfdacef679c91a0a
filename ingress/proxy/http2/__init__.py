"""HTTP/2 in the proxy: how a connection comes to speak it, and its sessions and streams as halves of exchanges.

A session is a connection of ``ingress.http2`` on a transport, and its streams are halves of exchanges::

    negotiating: takes the place of a channel
        ▼
    session            ── has many ──▶  downstream_stream  ◀──┐
                                                              ├──▶  exchange
    upstream_session   ── has many ──▶  upstream_stream    ◀──┘
        ▲
    shared_connections: finds one with room, or makes one, for the pool

Two parts of sessions stand in modules of their own, since each has one question to answer: when a session reads
(``turns``, for both sides), and how much it keeps of answers (``holding_back``, downstream alone).
"""

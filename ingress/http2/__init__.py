"""HTTP/2 as bytes (RFC 9113, RFC 7541): fields, frames, windows, and what a peer may do.

Pure, for both roles: the proxy answers clients as a server and asks endpoints as a client.  A connection is
built in layers, each a class upon the one below it; beside them stand the fields, which know nothing of frames::

    ServerConnection (server)   ClientConnection (client)      request_fields, response_fields: fields to heads
                  └──────┬──────┘                              blocks: heads to field blocks
         Connection (connection): settings, credit,            fields: what both kinds of fields share
               │         the ends of streams                   field_decoder, field_encoder: HPACK, upon
               │                                                   huffman and static_table
         Sending (sending): what waits, and its turns
               │            each Stream (stream) has its own share
         FrameReader (frame_reader): bytes to frames
               │
         frames: their layout    faults: what ends a stream or all    budget: what a peer may cost us

``ingress.proxy.http2`` derives its sessions and streams from the uppermost of these, and from ``stream``.
"""

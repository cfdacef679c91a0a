"""HTTP/2 as bytes (RFC 9113, RFC 7541): fields, frames, windows, and what a peer may do.

Pure, for both roles: the proxy answers clients as a server and asks endpoints as a client.  A connection is a role,
and has parts, each of which answers one question::

    ServerConnection (server)   ClientConnection (client)
                  └──────┬──────┘
         Connection (connection): settings, credit, and the ends of its streams
               ├── has a FrameReader (frame_reader): which frames are these bytes?
               ├── has a BlockDecoder (block_decoder): what does a field block mean?
               ├── has an Incoming (incoming): what may the peer send?
               ├── has an Outgoing (outgoing): what may be sent, and who is next?
               ├── has a Budget (budget): may the peer cost us that?
               └── has many Streams (stream): each its windows, and what of it waits; they hold Outgoing, too

    request_fields, response_fields: fields to heads       blocks: heads to field blocks
    fields: what both kinds of fields share                hpack/: fields to bytes and back, for blocks and block_decoder
    frames, frame_room: their layout, room for their heads faults: what ends a stream or all

``ingress.proxy`` derives its sessions and streams from the two roles, and from ``stream``.
"""

"""HTTP as bytes: heads, framing, hop-by-hop rules, forwarding fields.

Pure: no Twisted, no sockets, no clocks.  What cannot be read in exactly one way
is refused here, before anything else of the house sees it.

    bytes                   head_buffer.py ──▶ request_head.py, response_head.py; body.py: chunks, both ways
    what heads share        grammar.py, field_blocks.py (whole blocks of lines), field_values.py (one field)
    what goes on            forwarding.py to endpoints, answer.py to clients; edited_heads.py: where filters changed them
    what requests are       grpc.py: calls of gRPC; upgrades.py, web_socket.py; trace_context.py
    requests of our own     own_request.py
    before any head         proxy_header.py; plain_request.py: HTTP where TLS was expected
    how much in one turn    work.py
"""

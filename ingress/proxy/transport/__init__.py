"""Bytes on sockets: accepting, connecting, resolving, handshakes.  Knows no HTTP.

    the epoll set           epoll/
    Twisted's transports    twisted_transports.py, twisted_protocol.py (as the contract has them), tls_layer.py,
                            connecting.py, upstream_handshake.py
    both                    accepting.py, handshake_queue.py, socket_facts.py, path_port.py (UNIX sockets)
    how many clients        connection_limit.py, open_connections.py
    names to addresses      resolving.py, name_lookups.py

``datagrams.py`` has the sockets of UDP.
"""

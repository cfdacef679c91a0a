"""Listeners: which are open, what they accept, on which network, and what a connection begins with.

    OpenListeners ──▶ listeners.py ──▶ networks.py: epoll_port.py, or Twisted's ports      what accepts
    open_listeners.py                        │
                            a connection ────┴──▶ connection_starts.py                     PROXY header, server name
                                                  (peeked_start.py, buffered_start.py)
                                                    ├──▶ connection_factories.py           requests
                                                    └──▶ connection_factories.py, stream_tunnel.py    streams

Each listener has a site of its own (``served_table.py``), bound to the table that it serves, or to two side by side;
``served_tables.py`` has all tables, as snapshots bring them.  ``reach.py`` says what no endpoint may be, since we listen there.
"""

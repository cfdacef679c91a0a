"""Where a request goes.

``resource.py`` decides by one table: route, filters, endpoint.  ``side_by_side.py`` decides by the host which of two such resources
is asked, where Ingresses and Gateways share a port.  ``site.py`` is what the connections of a listener share.

    before it decides       gate.py ──▶ overload.py: whether too much comes; loop_end.py: what came back too often
    what it may wait for    lookup_queue.py: expressions; preparing.py: balancers
    what it asks            known_rotations.py
"""

"""Where a request goes.

``resource.py`` decides by one table: route, filters, endpoint.  ``side_by_side.py`` decides by the host which of two such resources
is asked, where Ingresses and Gateways share a port.  ``site.py`` is what the connections of a listener share.
"""

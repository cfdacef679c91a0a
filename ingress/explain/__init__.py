"""What becomes of one request, or stream: which object, route, filters, Service and endpoints take it, and why no other.

    asked_request.py (urls.py)     what is asked about, and how the proxy reads it
    served.py                      what is served, and what objects say of it (objects.py, left_open.py)

    explaining.py ─┬─▶ tables.py, handshakes.py     by which table, after which handshake
                   ├─▶ routes.py                    which route, and why no other
                   ├─▶ filters.py (services.py)     what each filter says
                   ├─▶ backends.py                  which endpoints
                   └─▶ outcomes.py                  what comes of it
    streams.py                     the same for what no request is read of

The result is in ``explanation.py``, and as plain data for JSON in ``plain_data.py``.
"""

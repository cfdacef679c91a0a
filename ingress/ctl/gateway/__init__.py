"""What is served, as objects of the Gateway API: all that can be said in them, and what cannot, by name.

    rendering.py ─┬─▶ listeners.py        hosts, protocols, certificates
                  ├─▶ routes.py           rules as objects, in the sizes that the API takes (grpc.py)
                  ├─▶ rules.py            a host's routes as rules ──▶ paths.py, conditions.py, filters.py
                  │                                                    (fields.py, cross_origin.py)
                  └─▶ backends.py         where rules lead, with grants and policies

All of them say things by ``rendering_values.py``, which keeps what was not said; ``text.py`` prints both.  It begins with the route
table, in which is decided already whose a host is, who won a path, and what stands before it.
"""

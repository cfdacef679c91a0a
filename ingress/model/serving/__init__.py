"""What the operator says of serving: all that the proxy goes by besides routes and certificates.

    serving_settings.py ─┬── limits.py                                  what a peer may take, in time and in number
                         └── log_formats.py ──▶ log_destinations.py     what lines of the access log look like, and where they go

What the operator says of anything else stands in ``ingress.settings``.
"""

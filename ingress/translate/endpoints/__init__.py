"""From a backend reference to its endpoints: which there are, which may be connected to, and how TLS is spoken to them.

backends.py ─┬─▶ slices.py              EndpointSlices  (unready.py: who gets no requests, and why)
             ├─▶ external_names.py      names instead of Services with pods
             ├─▶ endpoint_rules.py      which may be connected to
             └─▶ upstream_tls.py        TLS to them
"""

"""What is kept of the cluster: objects, and what is wrong with them.

    state.py ──▶ objects.py ─┬── object_meta.py     what the API server says of an object (gateway_services.py: of one that we keep)
                             ├── locality.py        zones and nodes
                             ├── many_ports.py      ports of a Service or of an EndpointSlice
                             └── problems.py        why part of an object has no effect

    what is looked for      label_selectors.py, secrets.py (parts of Secrets, and ConfigMaps)
    what options name       port_services.py

The rooms above read objects, and no raw JSON: a projection made them (``ingress.cluster.projecting``).
"""

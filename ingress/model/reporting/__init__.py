"""What the cluster is told.

    reporting.py    what the operator says of it: whether and where, and which of the replicas does
    reports.py      what the status of an object is to say, and its Events
    writes.py       how that is written: the place of a kind at an API server, and the shape of its status

Who writes it, and when, is for ``ingress.status`` to decide.
"""

"""One request with its answer, as values: what it may be answered with, who is asked about it, and what is known when it is over.

    records.py ──▶ causes.py    all that is known of an exchange in the end, and whose failure it was
    reply.py                    an answer of our own
    sub_requests.py             what a filter asks another service
    firewall.py                 what a web application firewall is asked

How one goes on is the matter of ``ingress.proxy.exchange``.
"""

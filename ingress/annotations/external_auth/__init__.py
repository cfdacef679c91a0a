"""External authentication: ``auth-url`` and its family.  Another service is asked about each request, and decides.

    family.py ──▶ settings.py ──▶ values.py ──▶ check.py ──▶ cache.py
    the family    what an Ingress   what may      the request    what is remembered
                  and the operator  stand there   is asked       of verdicts
                  say                             about

Requests of our own are made by ``ingress.proxy.exchange.sub_requests``.
"""

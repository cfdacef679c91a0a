"""Annotations: what their values may be, and what they ask for, as frozen settings and filter specs.

    operator_settings.py ──▶ annotations.py       the table of all families, and what an Ingress says by it
                                  │
        who comes in              ├──▶ access/, client_certificates/, external_auth/, passwords/, rate_limits/, firewall/
        where a visitor is sent   ├──▶ redirects/, hosts/ (what holds for a whole host)
        what endpoints are told   ├──▶ requests/, upstream/ (which endpoint, how, for how long)
        what the client gets      ├──▶ answers/
        what is told of it        ├──▶ observability/
        nginx's directives        ├──▶ snippets/ ──▶ nginx/ (the language)
        names of no family        └──▶ unhonored.py, unknown_names.py
                                  │
                                  ▼
                              contract/           what each family is made of

    what the operator has for families: policy.py, operator_filters.py; shared_limits.py: what workers share of limits and nonces

One module a family: the values its annotations accept, its settings, its verdict; a folder with a ``family.py`` where one has several.
Pure: no I/O, no clock, nothing of Twisted, nothing of Kubernetes but the Ingress value.
"""

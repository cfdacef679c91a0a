"""What families are made of, and what they are told when they make filters.

    values.py ──▶ route_facts.py ─┬── host_facts.py ──▶ snippet_blocks.py    a family and what it may know of a route and of its host
                                  └── references.py                          Secrets and ConfigMaps that annotations name
    route_constants.py      variables that the objects of a route decide
    asked_urls.py           URLs that an Ingress has us ask, and where they may lead

A family knows these, and other families only where it acts together with them.
"""

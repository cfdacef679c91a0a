"""The web application firewall as annotations and options: ``enable-modsecurity`` and its kin.

Directives of ModSecurity are read as data here (``directives``, ``rules``, ``reading``), put together to the rule set of a route
(``rule_sets``), and stand before it as filters, which have firewall processes judge: requests (``filters``) and answers (``answers``).

``family.py`` is what Ingresses say, ``recommended.py`` what holds where they say nothing; ``properties.py`` has directives that are
no rules, and ``names.py`` what the library knows.
"""

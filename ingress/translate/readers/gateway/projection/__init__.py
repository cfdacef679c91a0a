"""Raw objects of the Gateway API to the values that are kept of them.

The defaults of the API are filled in, since manifests lack them.  How small a part a malformed field costs is decided by one
rule: what is lost must never widen what is left.  A match whose header cannot be read stays as one that no request meets, a
filter that cannot be read stays as one that answers 500, a reference that cannot be read stays as one that leads nowhere
(``UNREADABLE``), and a listener without readable hostname stays as one that nobody is served by.  So the entries of lists
keep their places, too, and what is told of them names the right field.

    gateways.py, listeners.py       GatewayClasses, Gateways, ListenerSets
    routes.py ─┬─▶ rules.py         matches, backends, timeouts
               └─▶ filters.py
    grants.py, policies.py          ReferenceGrants, Namespaces, BackendTLSPolicies
    definitions.py                  CustomResourceDefinitions
    parts.py                        what many of them have

Source: the CustomResourceDefinitions of https://gateway-api.sigs.k8s.io, version 1.6.
"""

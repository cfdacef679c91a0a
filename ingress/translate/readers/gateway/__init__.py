"""The kinds of the Gateway API: Gateways with their listeners, and the routes that attach to these.

    kinds.py                      a row for each kind: how it is read, and by whom
      │
      ├──▶ projection/            raw objects to values
      ├──▶ gateways/  ───────┐    readers: what Gateways and ListenerSets ask for
      ├──▶ routes/    ───────┤             what routes ask for
      ├──▶ policy_reader.py  │             what policies need
      ├──▶ statuses/  ───────┤    what became of an object, as its status says it
      │                      ▼
      ├──▶ topology/              which listeners there are, their tables, and which route attaches to which of them
      ▼
    objects/                      the values that are kept, as they were written

``not_ours.py``: what is not ours says nothing of itself in the cluster; this says why that is, to whoever asks.

What of several objects has precedence is decided in ``ingress.translate.gateway``.

Source: https://gateway-api.sigs.k8s.io, version 1.6 (``gateway.networking.k8s.io/v1``).
"""

"""The tables of Ingresses, host by host: who is heard of a host, which routes it has, what is closed, and what its handshakes go by.

decision.py ─┬─▶ merging.py            one claim for each path  (canaries.py: what stands behind one)
             ├─▶ closing.py            what is closed, since a guard is not honored
             ├─▶ expressions.py        which paths are regular expressions  (app_roots.py: which app-root is first; expressions_out_of_reach.py: which come too late)
             ├─▶ routes.py             claims as routes with their filters  (slashes.py, server_snippets.py)
             ├─▶ redirects.py          which of them insist on HTTPS
             ├─▶ passthrough.py        whether TLS is not ended here
             └─▶ handshake_settings.py what handshakes go by

further_hosts.py        hosts that annotations add  (alias_budgets.py: how many routes these may have)
tls.py                  the certificates of each host
"""

"""What incremental translation keeps: for each host, backend, reference and client what it comes to, until something of it changes.

table_cache.py ─┬─▶ route_draft.py          the next version of its routes, in the making (stream_draft.py: of streams)
                ├─▶ certificate_cache.py    TLS of each host ──▶ loaded_certificates.py
                ├─▶ alias_budget_cache.py   which aliases of a namespace are too many
                ├─▶ client_cache.py         what is asked of the clients of each host
                ├─▶ reference_cache.py      Secrets and ConfigMaps that annotations name
                └─▶ backend_cache.py        the state of each backend
route_counts.py         how many routes came and went
bookkeeping.py          what all of them are kept in
"""

"""What is seen by whoever watches: traces, changes, failures, and how endpoints and workers are.

    traces.py ─────────────┐    the trace that a request is part of
                           ├──▶ span_names.py
    tracing_settings.py ───┘    which traces are told, and to whom
    changes_and_failures.py     changes of what is served, and exchanges that failed
    endpoint_states.py          endpoints that are not just in rotation and at rest
    workers.py                  the workers of one parent

Nothing here counts: that is for ``ingress.metrics``.
"""

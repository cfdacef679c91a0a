"""The same requests to two controllers, and where their answers differ: for who moves from ingress-nginx.

    which requests          samples.py, by generating.py (expression_paths.py) or given_requests.py; credentials.py
    asking                  addresses.py, client.py, pace.py, asking_both.py ──▶ answers.py
    what differs            differences.py, but for allowances.py and what somebody accepts (accepted.py)
    why                     causes.py, by what is expected of this side (expected.py)

``tally.py`` gathers all of that while it goes on, and ``report.py`` writes it down.
"""

"""Which endpoint of a backend gets the next attempt, and which are left out for a while.  Pure, and knows no routes.

    making.py               the balancer that a route asks for: one of

    balancer.py             in turn; what all balancers have in common
    least_requests.py       the one with fewer attempts under way  ┐
    ewma.py                 the one that answered faster           ┴── of two drawn by chance (two_choices.py)
    consistent_hash.py      always the same for a key
    sticky.py               the one that a cookie names, else by a key

    slow_start.py           around one of the first three: new endpoints get their share little by little

``health.py`` says which endpoints are ejected, since they cannot be reached or never answer.
"""

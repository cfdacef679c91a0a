"""Which route a request takes, and which endpoint.  Pure: no I/O, no clock.

    what is looked for    hosts.py, paths.py                          normal forms
    which route           table.py (prefix_tree.py), and for routes of one host that are no plain text:
                          expression_routes.py, beginnings.py         regular expressions of Ingresses
                          asking_order.py, out_of_reach.py            their order, and those that come too late in it
                          conditional_routes.py, match_conditions.py  routes of Gateways, in their own order
                          side_by_side.py                             two tables on one port
    where it leads        route.py, variants.py, backend_choice.py    conditions, weights
    why                   contest.py, ordered_contest.py
    which endpoint        balancing/

``chains_of_routes.py`` says which filters requests of a host may meet, and ``health_checks.py`` which requests are no visitor's.
``streams.py`` has the same for connections of which no request is read.
"""

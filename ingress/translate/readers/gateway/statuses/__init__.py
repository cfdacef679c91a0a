"""What the statuses of the kinds of the Gateway API say: made of problems, of the topology, and of how many routes are attached.

    reported.py ─┬── gateway_classes.py ──▶ features.py        what is served at all
                 ├── gateways.py, listener_sets.py ──▶ listeners.py
                 ├── routes.py ──▶ route_acceptance.py         which problems keep what a route asks for from being done
                 └── policies.py

    conditions.py: how a condition is made of problems

A status is about objects as they were translated, so the topology is the one by which they were.
Nothing is judged here: a condition does not hold because there is a problem, and says what the problem says, by the API's word for it.
"""

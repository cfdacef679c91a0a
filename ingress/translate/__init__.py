"""Cluster objects to routes, certificates and problems.  Pure and total.

Nothing here fetches, waits or raises for what a user wrote.  ``translate`` remembers
nothing; ``incremental`` remembers what it has worked out, and comes to the same result.
"""

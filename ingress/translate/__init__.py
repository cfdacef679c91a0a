"""Cluster objects to routes, certificates and problems.  Pure and total.

Nothing here fetches, remembers, waits or raises for what a user wrote.
"""

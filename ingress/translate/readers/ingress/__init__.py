"""Ingress: its values, its projection, whose it is, and what it asks for.

kind.py ─┬─▶ projection.py      raw objects to values (objects.py)
         ├─▶ classes.py         whether it is ours
         └─▶ reader.py ──▶ rules.py: what it asks for;  needs.py: what it refers to
nothing_served.py       why none is
"""

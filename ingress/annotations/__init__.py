"""Annotations: what their values may be, and what they ask for, as frozen settings and filter specs.

One module a family: the values its annotations accept, its settings, its verdict.
Pure: no I/O, no clock, nothing of Twisted, nothing of Kubernetes but the Ingress value.
"""

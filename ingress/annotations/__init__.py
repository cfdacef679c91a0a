"""Policies: what annotations ask for, as frozen values that may answer a request.

One module a family: the values its annotations accept, its settings, its verdict.
Pure: no I/O, no clock, nothing of Twisted, nothing of Kubernetes but the Ingress value.
"""

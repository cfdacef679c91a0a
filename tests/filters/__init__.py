"""Tests of ``ingress.filters``: the contract between the proxy and filters."""

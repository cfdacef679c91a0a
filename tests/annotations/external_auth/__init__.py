"""Tests of ``ingress.annotations.external_auth``."""

"""Tests of ``ingress.annotations.client_certificates``."""

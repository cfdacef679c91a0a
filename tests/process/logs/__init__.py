"""Tests of ``ingress.process.logs``."""

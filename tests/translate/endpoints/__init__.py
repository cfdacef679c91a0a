"""Tests of ``ingress.translate.endpoints``."""

"""Tests of ``ingress.translate.caches``."""

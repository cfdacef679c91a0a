"""Tests of ``ingress.translate.readers.gateway.projection``."""

"""Tests of ``ingress.annotations.passwords``."""

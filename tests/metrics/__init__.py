"""Tests for ``ingress.metrics``."""

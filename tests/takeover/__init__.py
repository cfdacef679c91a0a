"""Tests for ``ingress.takeover``."""

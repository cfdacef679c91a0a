"""Tests of ``ingress.process.systemd``."""

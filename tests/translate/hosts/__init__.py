"""Tests of ``ingress.translate.hosts``."""

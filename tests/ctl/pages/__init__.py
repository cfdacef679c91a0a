"""Tests of ``ingress.ctl.pages``."""

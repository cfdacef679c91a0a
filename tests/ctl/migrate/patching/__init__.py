"""Tests of ``ingress.ctl.migrate.patching``."""

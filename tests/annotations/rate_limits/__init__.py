"""Tests of ``ingress.annotations.rate_limits``."""

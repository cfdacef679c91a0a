"""Tests of what is found out about TLS."""

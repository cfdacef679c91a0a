"""Tests of what is written of figures."""

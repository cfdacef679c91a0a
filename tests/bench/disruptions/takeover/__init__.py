"""Tests of what plays takeovers."""

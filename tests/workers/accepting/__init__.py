"""Tests of which worker takes what."""

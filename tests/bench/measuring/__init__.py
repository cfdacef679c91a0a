"""Tests of what is counted and reckoned."""

"""Tests of what workers tell their parent."""

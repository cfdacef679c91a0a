"""Tests of how benchmarks begin, and that they leave nothing running."""

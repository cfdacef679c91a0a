"""Tests of the benchmarks that break something."""

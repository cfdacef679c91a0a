"""Tests of the benchmark: what it reads, what it reckons, and that it leaves nothing running."""

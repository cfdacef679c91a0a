"""Tests of what benchmarks of requests read; and the bounds of the calls that a request may cost."""

"""Traces: which requests are part of one that is sampled, what their spans say, and how they get to a collector."""

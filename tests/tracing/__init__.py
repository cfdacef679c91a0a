"""Traces: sampling, spans, and their way to a collector."""

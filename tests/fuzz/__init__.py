"""Fuzzing: mutated conversations through the whole proxy in memory, and raw bytes for its parsers."""

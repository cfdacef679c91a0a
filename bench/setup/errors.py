"""What makes a benchmark impossible, told in one line."""


class BenchError(Exception):
    """The benchmark cannot go on; the message says why and what to do, in one line."""

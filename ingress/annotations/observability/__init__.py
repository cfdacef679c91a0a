"""What is told of a request while it is served: whether it is logged (access_logs.py), and whether it is part of a trace (tracing.py)."""

"""What is counted, in plain integers, and how Prometheus gets to see it."""

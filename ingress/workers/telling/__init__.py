"""What workers tell their parent, and how it asks them: what they counted, how endpoints are, failures, lines of the log."""

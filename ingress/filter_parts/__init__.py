"""What filters of annotations and of the Gateway API have in common.  Pure: no I/O, no clock, nothing of Twisted."""

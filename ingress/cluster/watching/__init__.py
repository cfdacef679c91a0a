"""Lists and watches: keeping one kind equal to the cluster."""

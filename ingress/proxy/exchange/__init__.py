"""One request with its answer: attempts, replies of our own, errors, and how it is recorded."""

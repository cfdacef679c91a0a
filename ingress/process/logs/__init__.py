"""Where the log and the access log go, and what lines of the log look like."""

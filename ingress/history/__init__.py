"""What happened of late: what the log says about changes, in time and in few lines, and the last changes and failures, in rings."""

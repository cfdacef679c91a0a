"""What the log says about changes: in time, in few lines, and the last one true."""

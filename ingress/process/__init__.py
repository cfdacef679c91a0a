"""How the process runs and ends: signals, log output, collector, clock, descriptors, who goes first."""

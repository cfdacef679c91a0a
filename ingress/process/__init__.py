"""How the process runs and ends: signals, log output, collector, clock, caps, who goes first."""

"""How something is measured: rounds, counters and gauges, what else the machine did, and the statistics of it."""

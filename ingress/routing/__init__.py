"""Which route a request takes: hosts, paths, the table, balancing.  Pure: no I/O, no clock."""

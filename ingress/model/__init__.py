"""Values that every room shares: cluster objects, backends, problems, filters' values.

Nothing here does I/O, reads a clock, or imports another room of the house.
"""

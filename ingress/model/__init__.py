"""Values that every room shares: cluster objects, backends, problems, replies, records.

Nothing here does I/O, reads a clock, or imports another room of the house.
"""

"""A kind of route objects of the tests' own: the smallest that has everything a kind can have.

``ToyRoute`` has a host, a path, a Service and perhaps a Secret; it is ours if it names no door, or one that exists.  A door may be a listener of its own.
"""

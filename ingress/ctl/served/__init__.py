"""The normal form of what is served, as plain data, and what is different between two of them.  Pure."""

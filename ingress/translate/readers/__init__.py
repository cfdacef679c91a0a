"""The kinds of route objects: each has a folder, with what reads it, and a row in ``route_kinds``."""

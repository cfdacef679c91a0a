"""The numbers of the moment, for whoever looks: differences of what is counted anyway, as events of a stream.

Nothing of this is computed while nobody looks.
"""

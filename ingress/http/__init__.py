"""HTTP as bytes: heads, framing, hop-by-hop rules, forwarding fields.

Pure: no Twisted, no sockets, no clocks.  What cannot be read in exactly one way
is refused here, before anything else of the house sees it.
"""

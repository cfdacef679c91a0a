"""What filters of annotations and of the Gateway API have in common.  Pure: no I/O, no clock, nothing of Twisted.

``judging``: a verdict by facts alone; ``redirecting``: answers that send a visitor elsewhere; ``changing``: the same changes to all heads; ``mirroring``: copies of requests.
"""

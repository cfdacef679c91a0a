"""Snapshots on their way to workers: as what is different, in pieces of bytes of which each takes a moment.

    parent: pieces(before, after) ──▶ bytes, bytes, … ──▶ follower.take(piece): its snapshot is as ``after``

- ``operations``: what a piece says, one thing after the other;
- ``sending``: finds what is different, and writes it;
- ``follower``: reads it, and makes one snapshot of another.

What only the control plane goes by does not travel: the problems of a snapshot, and how many routes are attached to each listener.

A piece takes less than a millisecond to make and to read, whatever is in the cluster, but where a single value is large, such as the
certificates of a thousand authorities.  Of what workers have already nothing is sent again, and of what was made anew, and is equal,
nothing either.
"""

"""Snapshots on their way to workers: as what is different, in pieces of bytes of which each takes a moment.

    parent: pieces(before, after) ──▶ bytes, bytes, … ──▶ follower.take(piece): its snapshot is as ``after``

- ``operations``: what a piece says, one thing after the other;
- ``sending``: finds what is different, and writes it;
- ``follower``: reads it, and makes one snapshot of another;
- ``snapshot_bytes``: values as bytes and back, of which equal ones are one object (``shared_values``);
- ``feeding``: has everybody at the current snapshot, in the parent;
- ``following``: takes pieces between requests, in a worker, and looks again at what was in use (``looks``).

What only the control plane goes by does not travel: the problems of a snapshot, and how many routes are attached to each listener.

A piece takes less than a millisecond to make and to read, whatever is in the cluster, but where a single value is large, such as the
certificates of a thousand authorities.  Of what workers have already nothing is sent again, and of what was made anew, and is equal,
nothing either.
"""

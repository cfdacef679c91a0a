"""Takeover: a new process gets the listening sockets of one that serves, and serves in its place.

The two speak over a UNIX socket, in messages that each come whole (``messages``)::

    the new process (``taking``)                  the one that serves (``giving``)

    hello ─────────────────────────────────────▶
                                     ◀───────────  sockets (with descriptors), as often as needed
                                     ◀───────────  offered: the name by which it is a candidate
    reads the cluster, opens its listeners:
    both accept, from the same queues
    serving ───────────────────────────────────▶  holds its reporting, finishes what it writes
                                     ◀───────────  yours
    reports, listens for the next takeover
    took ──────────────────────────────────────▶  accepts no more, lets its connections end, and ends

Up to *took* the old process can serve on as if nothing had been: when the new one fails, or is gone, or takes too long.  A new
process whose old one is gone goes on by itself.  What each side concludes is in ``giving`` and ``taking``, which are pure;
``giver`` and ``taker`` have the sockets and the clock.

``wire.py`` is their connection, ``socket_file.py`` where it begins, ``handed_sockets.py`` keeps what came by it, and ``successor.py``
starts the new process where the old one is to do that.
"""

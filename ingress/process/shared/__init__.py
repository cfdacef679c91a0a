"""What workers share besides their sockets: memory that is made before they are forked, and what each has a part of.

    limit_memory.py         all of that memory, in two parts:
        shared_table.py         a few words for each of a million keys: what clients have asked for
        shared_counts.py        counts by key: what clients have under way
    crowding.py             what is told when it is full

``worker_part.py`` has a worker's number, the secret of all, and its part of limits that nobody counts together.
"""

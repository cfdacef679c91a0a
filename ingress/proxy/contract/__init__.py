"""What the folders of the proxy promise each other, and values that several of them use; nothing here waits.

    sides.py                the two sides of an exchange, and the exchange, as each sees the other
    transport.py            a connection: what is asked of it, what it tells; security.py, addresses.py, reads.py
    faults.py               what may go wrong, and whose failure it is; never_raises.py for bugs of ours
    time and pace           deadlines.py, progress.py, limits.py
    turns                   turns.py, run_queue.py, burst.py, portions.py: how much at once, and who is next

``pending.py`` is what is still to come, for one who waits for it.
"""

"""The places of workers: that each has one after the other, and what becomes of them.

slots.py             has a worker forked where there is none, and killed where it hangs
retiring.py          how one makes way for the next
known_workers.py     what is known of all of them, for whoever asks ──▶ slot_states.py: how each is
"""

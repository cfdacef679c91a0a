"""The places of workers: that each has one after the other, and what becomes of them.

slots.py         has a worker forked where there is none, and killed where it hangs
supervising.py   when that is; pure
retiring.py      how one makes way for the next
slot_states.py   how each is, for whoever asks
"""

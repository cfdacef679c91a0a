"""What the process may have at most, and how near to that it is.

    cgroups.py          what control groups leave: memory, processor time, tasks   ┐
    descriptors.py      how many files it may have open                            ┴──▶ caps.py: what follows from these
    memory_watch.py     looks at memory  ──▶ memory_marks.py (pure): how near the limit is

``memory_watch.py`` tells whoever can do with less.
"""

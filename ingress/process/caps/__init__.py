"""What the process may have at most, and how near to that it is.

cgroups.py          what control groups leave: memory, processor time, tasks   ┐
descriptors.py      how many files it may have open                            ┴──▶ caps.py: what follows from these
memory_marks.py     how near memory is to its limit (pure)  ◀── memory_watch.py looks, and tells who can do with less
"""

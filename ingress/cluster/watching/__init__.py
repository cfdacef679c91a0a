"""Lists and watches: keeping one kind equal to the cluster, and which kinds there are to keep.

    reflector.py ─┬─▶ queries.py          what is asked: a list, then a watch from exactly there
                  ├─▶ lines.py            bytes to lines  ──▶ watch_events.py: a line, or an entry of a list, as a value
                  ├─▶ page_parts.py       bytes of a page to its objects, one by one
                  ├─▶ large_objects.py    a line of more than some dozen KB, decoded in pieces
                  ├─▶ object_changes.py   what of that is worth handing over (known_versions.py, sharing.py)
                  ├─▶ pause.py            the wait between two turns
                  └─▶ refusal.py          what becomes of it where the server refuses

``defined_kinds.py`` says which kinds a server has, and ``on_demand.py`` watches some for one who needs them for a while.
"""

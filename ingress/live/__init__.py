"""The numbers of the moment, for whoever looks: differences of what is counted anyway, as events of a stream.

Nothing of this is computed while nobody looks.

    live.py ─┬─▶ counted.py ──▶ numbers.py, route_numbers.py, by windows.py: of the last seconds and minutes
             ├─▶ snapshot_facts.py      what is to be known of a snapshot
             ├─▶ slices.py              how much of this is done at once
             └─▶ server_sent.py         how events are written
"""

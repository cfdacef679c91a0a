"""What is counted, in plain integers, and how Prometheus gets to see it.

    exchanges.py            what requests count: exchange_rows.py, a row for each Ingress and Service; histograms.py with
                            examples.py; shown by exchange_families.py
    metrics.py              all series of a process: those, and a module for each part of the house: connections.py,
                            endpoints.py, watch.py, …
    text.py                 series as text, in small pieces
    several workers         tallies.py: what one has counted, on its way; tallying.py takes it, totals.py adds it up

Nothing is computed until somebody asks.
"""

"""What is counted, in plain integers, and how Prometheus gets to see it.

    totals/                 several workers: what one has counted, on its way, and the sum of all
      │
    metrics.py              all series of a process
      ├──▶ exchanges/           those of requests
      ├──▶ series/              those of each other part of the house
      ▼
    text.py                 series as text, in small pieces

Nothing is computed until somebody asks.
"""

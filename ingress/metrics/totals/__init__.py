"""What several workers count together.

    a worker       metrics ── tallying.py ──▶ tallies.py ── bytes ─┐
    their parent   totals.py ◀─────────────────────────────────────┘

Totals are those of all workers over all their lives.
"""

"""How much one client may ask for: ``limit-rps`` and its family, and the leaky buckets that count.

    family.py ──▶ shared_buckets.py ──▶ leaky_buckets.py
                  of all workers        of one process

Both sorts say the same along the same requests.
"""

"""How much one client may ask for: ``limit-rps`` and its family, and the leaky buckets that count."""

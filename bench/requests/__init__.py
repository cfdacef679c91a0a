"""What one request costs, how long it takes, and what becomes of too many."""

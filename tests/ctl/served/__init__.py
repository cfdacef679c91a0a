"""The normal form of what is served, and what is different between two of them."""

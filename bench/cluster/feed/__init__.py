"""What it costs to hand a cluster of 10,000 Ingresses to workers, and what changes in it."""

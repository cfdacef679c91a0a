"""What the owner of each object should know, found by translating it."""

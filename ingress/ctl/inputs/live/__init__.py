"""A cluster as an input: everything that is served there, read once, with a person's rights."""

"""What a lint found, as texts: for people, and for the machines that run it."""

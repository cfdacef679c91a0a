"""What a command is about: objects, the options they are translated by, and where they stand."""

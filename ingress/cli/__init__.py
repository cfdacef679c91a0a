"""The commands beside ``twistd``, and the readers of what a command line says."""

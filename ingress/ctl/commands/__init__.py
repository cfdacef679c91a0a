"""The commands: each module has the options of one, calls what decides, and prints what comes of it."""

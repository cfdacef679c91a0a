"""What becomes of the places of workers: when one is started, when one hangs, how one makes way, and how those before ended."""

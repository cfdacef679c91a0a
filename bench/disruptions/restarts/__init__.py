"""What clients see while processes are killed, frozen, restarted and replaced: every request counted, by kind and by whose it was."""

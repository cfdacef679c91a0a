"""What clients lose while something breaks, restarts or is replaced, here and in other proxies."""

"""How workers come to be: the fork server, its parent's view of it, and what a forked process drops first."""

"""Users and passwords: ``auth-type`` and its family, and the checks by HTTP Basic and Digest."""

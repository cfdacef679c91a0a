"""Before anything is measured: processes and how they end, certificates, other commits, and what of all is chosen."""

"""What incremental translation keeps: for each host, backend, reference and client what it comes to, until something of it changes."""

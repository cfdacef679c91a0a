"""External authentication: ``auth-url`` and its family.  Another service is asked about each request, and decides."""

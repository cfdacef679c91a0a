"""What becomes of one request: which object, route, filters, Service and endpoints take it, and why no other."""

"""What becomes of one request, or stream: which object, route, filters, Service and endpoints take it, and why no other."""

"""The official conformance tests of the Gateway API, and those of Ingress, against a real API server (README.md)."""

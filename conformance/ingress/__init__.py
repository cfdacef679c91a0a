"""The 25 scenarios of the former Ingress conformance tests of Kubernetes, in words of our own."""

"""Ingress: its values, its projection, whose it is, and what it asks for."""

"""Listeners: what they accept, on which network, and what a connection begins with."""

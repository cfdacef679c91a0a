"""Clients on real sockets: how they come, what they may, and how they leave."""

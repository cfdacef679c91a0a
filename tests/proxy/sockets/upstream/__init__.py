"""Endpoints on real sockets: good ones, and those that close, reset, lie and refuse."""

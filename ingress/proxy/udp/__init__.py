"""Datagrams of UDP: ports that take them, and the sessions that pass them on to endpoints and bring the answers back.

port.py ──▶ session.py ──▶ sessions.py ──▶ eviction_order.py
datagrams    one client,     all of the      who ended first, who gives way: pure
of clients   one endpoint    process
"""

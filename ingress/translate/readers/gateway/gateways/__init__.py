"""The readers of Gateways, of their classes and of ListenerSets: what these ask for, by the topology.

    gateway_reader.py, listener_set_reader.py ──▶ listener_reading.py     sockets, tables, the hosts that are theirs there
    gateway_reader.py ──▶ infrastructure.py                               the Service that is kept for a Gateway
    gateway_class_reader.py                                               nothing; of which version the definitions are

What they ask of TLS is part of the topology, since others go by it.
"""

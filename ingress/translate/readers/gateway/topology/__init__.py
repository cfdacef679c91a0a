"""The topology: what Gateways, their classes and ListenerSets come to together.

It has the listeners that there are, their tables, and which route attaches to which of them (``topology.py``, ``attachments.py``).
``topology_of`` of ``topology_making.py`` works it out once for all readers, until one of these objects changes:

    which are ours, and where each is reached         addresses.py, ports.py
    what makes sense of a listener by itself          listener_checks.py, listener_references.py
    who has which port and hostname                   conflicts.py, hostnames.py
    whom they take, and who may refer to whom         namespace_selection.py, permissions.py
    what they ask of TLS                              gateway_tls.py

Pure functions of values: readers and statuses read the topology, and nothing here knows them.
"""

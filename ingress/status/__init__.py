"""What is reported back to the cluster, and by which of the replicas.

    who writes       elector.py (election.py, lease.py)
    what and when    statuses.py ─▶ addresses.py, status_patches.py, status_merging.py ┐
                     events.py ─▶ event_objects.py, told_events.py                     ├──▶ report_writer.py ─▶ API server
                     gateway_services.py                                               │
                     node_addresses.py (what statuses.py shows of Nodes)               │
                     agenda.py, write_pauses.py, write_hold.py, refusals.py            ┘

What a status says (conditions, lists, addresses) is made by ``ingress.translate``; ``reporting.py`` joins all of this.
"""

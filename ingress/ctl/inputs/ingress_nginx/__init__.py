"""The ingress-nginx among raw objects: what runs it, what it is told, and what stands around its pods.  Pure.

    workloads.py            its Deployments and DaemonSets, with the words of their command lines
    taken_arguments.py      what these words come to here (go_flags.py reads them as Go does)
    usual_config_map.py     its ConfigMap
    installation.py         its Services, autoscaler, budget, NetworkPolicies (network_policies.py) and class

``raw_values.py`` and ``raw_selectors.py`` read fields of objects of which no projection is kept.
"""

"""What is around the pods of an ingress-nginx, and the kustomization that puts this controller into its place.

    kustomization.py ─┬─▶ overlays.py           which of our overlays it can be
                      ├─▶ pods.py               nodes, spreading, priority (selectors.py, metadata.py)
                      ├─▶ services.py           ports, addresses, policies (annotations.py)
                      ├─▶ scaling.py, budgets.py
                      ├─▶ network_policies.py, rights.py
                      └─▶ traffic.py            what it listens at

Each says what it carries over by ``carried.py``, field by field; ``yaml_text.py`` writes the files.
"""

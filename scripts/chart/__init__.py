"""What of the Helm chart in ``k8s/chart`` is made of tables in the code, and of its own ``values.yaml``."""

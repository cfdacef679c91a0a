"""The Helm chart in ``k8s/chart``."""

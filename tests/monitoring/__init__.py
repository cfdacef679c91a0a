"""What ``k8s/monitoring`` has a Prometheus and a Grafana ask: that it asks for what there is, and wakes people when it should."""

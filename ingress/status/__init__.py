"""What is reported back to the cluster, and by which of the replicas: leader, addresses, Events."""

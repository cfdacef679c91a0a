"""What is around the pods of an ingress-nginx, and the kustomization that puts this controller into its place."""

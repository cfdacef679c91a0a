"""What is carried over of what is around an ingress-nginx."""

"""The report for somebody who leaves ingress-nginx: what works as it is, what differs, what has to change and how."""

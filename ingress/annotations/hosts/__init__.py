"""What holds for a whole host, whichever of its routes is asked.

    further_hosts.py        names that it has besides those of its rules
    ciphers.py              the TLS suites
    passthrough.py          TLS that is not terminated here
    transport_security.py   that browsers ask it over HTTPS only

Where Ingresses of one host say different things, the translation decides (``ingress.translate.hosts``).
"""

"""Client certificates: the ``auth-tls-...`` annotations, and the check of what the handshake found out.

    family.py ──▶ common_names.py ◀── check.py
    the family    which names are     the check
                  let in

What the handshake asks for is decided in ``ingress.translate.tls.client_authentication``.
"""

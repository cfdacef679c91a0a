"""Where a visitor is sent instead.

    url_redirects.py ──▶ https_redirect.py     redirects that an Ingress asks for; the one from HTTP to HTTPS
    slash_redirect.py                          the one to a path with a slash at its end

Which comes first is decided by the order of the families in the table.
"""

"""Users and passwords: ``auth-type`` and its family, and the checks by HTTP Basic and Digest.

    family.py ──▶ digest_check.py ──▶ basic_check.py ──▶ htpasswd.py     the family, its two checks, and the file of a Secret
                    └──▶ shared_nonces.py                                what all workers know of nonces
    signing_in.py                                                        the page for who shows no password

Hashes are computed beside the reactor, by a service of filters.
"""

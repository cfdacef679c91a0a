"""Who may come in, by address or by what a request says of itself.

    address_ranges.py       by address
    blocking.py             by ``User-Agent`` and ``Referer``, the same everywhere
    satisfy.py              whether all who are asked have to let a request in, or any of them
    guards.py               what keeps requests out in ingress-nginx and is not honored: its routes are closed

Who has to show something first is a matter of client certificates, external authentication and passwords, which are families beside this folder.
"""

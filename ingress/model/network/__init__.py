"""Addresses, and what is reached there.

    addresses.py        which addresses no tenant may have us connect to
      └── networks.py   networks that somebody lists, and whether an address is in one
    http_urls.py        URLs that we are to ask
    listeners.py        where connections are accepted, and by which table their requests go
    streams.py          connections of which no request is read

Plain data: nobody is connected to here.
"""

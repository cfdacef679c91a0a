"""How pages are asked for: the site of the admin port, and its connections.

    site.py ─┬── access.py ──▶ tokens.py              who may
             ├── foreign_pages.py                     and from where, if it is a browser that asks
             ├── requests.py                          content is thrown away
             ├── sliced_pages.py                      large pages are made in slices
             └── connections.py ──▶ places.py         how long each may keep us waiting, and how many there may be

The admission webhook has connections and places of the same sort.
"""

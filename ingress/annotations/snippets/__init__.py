"""Snippets: pieces of nginx's configuration that users bring along, read as data (``ingress.annotations.nginx``).

    family.py ──▶ filters.py ─┬── running.py      decides by the data what becomes of a request
                              ├── levels.py       which level holds for it
                              ├── requests.py     what the endpoint is told otherwise
                              ├── answers.py      what the client is told otherwise (field_room.py: how much)
                              └── described.py    all of that in words

    ending.py       what a ``break`` leaves undone

No text of a user is executed or pasted anywhere.
"""

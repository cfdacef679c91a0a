"""Snippets: pieces of nginx's configuration that users bring along, read as data.

No text of a user is executed or pasted anywhere.  ``grammar`` reads a text into directives with their places;
``reading`` makes plain data of those that it knows (``blocks``), and says of all others by name and line what becomes
of them; ``running`` decides by that data what becomes of a request, and ``filters`` is the way into the proxy.
"""

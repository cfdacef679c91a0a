"""What a command is about: objects, the options they are translated by, and where they stand.

    files/, live/           manifests, or a cluster  ──▶ input.py: layers of objects with their places
    ingress_nginx/          the ingress-nginx that is among these objects
    the options             controller_options.py (-o), like.py (--like), operator_config_map.py, selected.py

``beside.py`` and ``unknown_fields.py`` have what an object says besides what translation needs, ``coverage.py`` whether what
is not there is missing, or only not shown.
"""

"""Which Secrets are needed, and how they are had without reading all.

    needed_secrets.py ─┬─▶ secret_references.py   which are needed
                       ├─▶ watched_secrets.py     those that a watch shows
                       └─▶ secret_reader.py       those that are read by name ──▶ retry_queue.py; secret_rights.py: may they be?
    secret_parts.py         whether a new version is as good as the one before

ConfigMaps that annotations name are had in the same way.
"""

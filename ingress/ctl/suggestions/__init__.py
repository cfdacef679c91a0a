"""What may be meant by a name that there is not.

    suggested_names.py      of objects, ports and hosts ─┐
                                                         ├──▶ close_names.py     which of many names is close to one
    suggested_classes.py    of classes and controllers ──┘

Pure: what there is comes from the state of the cluster, or as names.
"""

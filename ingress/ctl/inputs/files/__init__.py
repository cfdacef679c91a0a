"""Manifests on disk and on standard input, as an input.

    manifests.py ─┬─▶ folders.py            what lies in a folder, by its names
                  ├─▶ kustomizations.py     which there are, and which are to be built  ──▶ building.py
                  ├─▶ texts.py              what files say, and say again where lines are asked for
                  ├─▶ reading.py            one text: its objects (first_look.py: whether it may have any)
                  └─▶ layers.py, forms.py   which objects are applied together, and where one stands twice

``choices.py`` has what the caller may choose about all that, and ``lines.py`` the line of a field.
"""

"""Changes of objects as what somebody applies: commands for ``kubectl``, patches, and diffs of the files that they stand in.

patches.py ─┬─▶ commands.py                         for the cluster
            └─▶ yaml_edits.py, yaml_places.py       for files ──▶ unified.py: as diffs
patch_files.py          all of these as files of a directory
edited_files.py         which file it is, where links lead to it
"""

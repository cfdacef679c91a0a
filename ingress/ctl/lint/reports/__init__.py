"""What a lint found, as texts: for people, and for the machines that run it.

results.py ──▶ formats.py ─┬─▶ table.py (remarks.py)                          for people
                           └─▶ json.py, sarif.py, junit.py, github.py         for machines, by texts.py and places.py
"""

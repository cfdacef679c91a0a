"""nginx's directives, read as data.

    text ─ grammar.py ─▶ directives ─ reading.py ─┬─ field_directives.py ──┐
                                                  ├─ statements.py ────────┼──▶ blocks (``contract.snippet_blocks``)
                                                  ├─ access_directives.py ─┘
                                                  └─ unhonored_directives.py   what is said of all others, by name and line

No text of a user is executed or pasted anywhere.
"""

"""Texts of tenants and of clients: what may be looked for in them, how long that may take, and how little memory they need.

    expressions.py ─┬── path_expressions.py     those that are paths, as nginx compares these
                    │     usual_paths.py            such as are compared without a program
                    └── searches.py             those that are looked for anywhere in a text

    lookup_budget.py    what comparing with them may cost: one lookup, and all of a turn of the reactor
    named_values.py     the value of one name out of a text that has many: a cookie, a parameter
    packed_texts.py     a few short texts as one

None of these knows what the texts are about.
"""

"""The normal form of what is served, as plain data, and what is different between two of them.  Pure.

    sides.py: two inputs ──▶ pairing.py: layer by layer ──▶ normal_form.py ──▶ differences.py ──▶ blocks.py, reports.py
                                                              │                 (walking.py)
                                                              └──▶ rendering.py: one of them, for people

``sealing.py`` hides what nobody is shown, ``holes.py`` knows what nobody could read.
"""

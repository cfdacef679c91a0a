"""What the owner of each object should know, found by translating it.

    an input ──▶ survey.py: route objects with what became of them ──▶ linting.py ──▶ finding.py: the report
                                    problems of translation             problems.py    │
                                    what is looked for besides          checks/        ├──▶ reports/
                                    what becomes of each annotation     standings.py   │
                                    what to write instead               mending.py     ┘

``rules.py`` has all rules, ``placing.py`` the lines of findings, ``accepted.py`` what a team leaves as it is.
"""

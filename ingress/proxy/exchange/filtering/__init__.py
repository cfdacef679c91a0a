"""What filters do to an exchange: what a route has of them, and how one request with its answer passes them.

    chains.py               the chains of all routes, made once for equal specs ──▶ chain.py
                                                                                     └── settled_answers.py
    filtering.py ─┬─▶ consulting.py       asks one hook after the other
                  ├─▶ decisions.py        waits for those that do not answer at once
                  ├─▶ body_stages.py      bodies on their way
                  └─▶ answer_passage.py   those of answers, in slices

``services.py`` is what filters may ask of the proxy; ``filter_errors.py`` tells of those that fail.
"""

"""The admission webhook: whoever applies an Ingress hears at once what would not be honored of it, and is refused nothing.

    webhook.py ─┬─▶ site.py             the webhook as a site of HTTPS   ──▶ json_steps.py: a review, read in steps
                ├─▶ reviews.py          those that wait, one after the other
                ├─▶ judging.py          what the Ingress would have as problems   ──▶ neighbours.py: beside which others
                ├─▶ review.py           what is asked and answered, in the API's words
                └─▶ key_files.py        its certificate

``own_certificate.py`` tells the operator where an API server would refuse that certificate.
"""

"""What becomes of an answer on its way to the client.

    configured_fields.py                    fields out of ConfigMaps, also of requests
    answer_rewrites.py                      cookies and redirects of endpoints in other words
    cors.py                                 pages of which origins may use it
    custom_errors.py                        an error page of somebody else's in its place
    compression.py ──▶ content_codings.py   compressed
    answer_rates.py                         how fast it is sent

Each is a family by itself.
"""

"""One request with its answer.

    exchange.py ─┬── attempts.py            which endpoint is asked, and which one after it
                 ├── request_passage.py     the body of the request, and what is held of it (held_body.py)
                 ├── filtering/             what filters do to it, where the route has some
                 ├── replies.py             answers of our own (grpc_replies.py)
                 └── timing.py              what it waits for, and how long

    context.py              what all exchanges share; facts.py: what is known of one request
    access_log/             the line that each ends in
    sub_requests/           requests of our own, for filters
    what the log says       upstream_errors.py, bugs.py, log_suffix.py

``loops.py`` knows requests that came back.
"""

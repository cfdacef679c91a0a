"""Sub-requests: what filters ask other services, and what they only tell them.

    sub_requests.py         which service, how many at a time, until when
      └─▶ sub_exchange.py       one of them: to connections it is what an exchange is

``sub_request_errors.py`` tells of those without an answer.
"""

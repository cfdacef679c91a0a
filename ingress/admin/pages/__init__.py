"""The pages that are no lists.

    status_pages.py         how the process is, and who leads (readiness.py, versions.py)
    explaining.py           what becomes of a request
    live_stream.py          what happens at the moment (live_views.py: out of what the sources say)
    front_page.py           all of it in a browser: the file beside it
    openapi.py              the table of pages itself

All of them are small.
"""

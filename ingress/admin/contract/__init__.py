"""What each page of the admin port is made of, and how it is described.

    page_row.py ─┬── page_request.py, parameters.py      what somebody asks
                 ├── answers.py                   what a page answers
                 ├── schemas.py                   what stands in its JSON
                 ├── listing.py, sorted_entries.py lists, whole or page by page
                 └── page_sources.py              the functions that pages ask about what is served

Whoever has a process fills the sources; whoever writes a page knows nothing else of it.
"""

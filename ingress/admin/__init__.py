"""The admin port: health, readiness, metrics, and the live picture of what is served.

    table.py                which pages there are: rows (page_row.py) of
        lists/                  what is listed, page by page (listing.py, orders.py)
        status_pages.py         the process as a whole (readiness.py, versions.py)
        explaining.py           what becomes of a request
        live_stream.py          what happens at the moment (live_views.py)
        front_page.py           all of it in a browser
        openapi.py              the table itself
    how pages are asked     site.py, requests.py; who may: access.py (tokens.py), foreign_pages.py
                            how many, for how long: places.py, connections.py
    how pages are made      asked.py and parameters.py in, answers.py out; schemas.py says what stands in them,
                            and pages.py makes large ones in slices

``known.py`` has the functions that pages ask about what is served.  Nothing is changed by any page.
"""

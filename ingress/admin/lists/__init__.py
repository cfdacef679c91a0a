"""What is listed on the admin port: a module for each list, with the entries, their order, and their schema.

Pure functions from values to plain data: there may be tens of thousands of entries, so each is made when it is asked for.
Names of fields stay as they are once published; new ones may join.  Key material is never looked at, and a field that a
filter spec keeps out of its ``repr`` is kept out here, too.

    routes.py, streams.py, endpoints.py, certificates.py    what is served
    problems.py                                             what is asked for in vain
    changes.py, failures.py                                 what happened of late
    watches.py, workers.py                                  who finds it out, who serves it

``parameters.py`` has what may be asked of several of them.
"""

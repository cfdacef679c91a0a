"""What happened of late: what the log says about changes, in time and in few lines, and the last changes and failures, in rings.

change_recorder.py ──▶ rings.py ◀── failures.py      the last changes and failures
problem_log.py                                       problems, once they last
publication_log.py                                   what is served otherwise, once a second
"""

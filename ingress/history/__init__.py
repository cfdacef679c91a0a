"""What happened of late: what the log says about changes, in time and in few lines, and the last changes and failures, in rings.

rings.py                the last changes, and the last failures
change_recorder.py      changes, out of lines of the log
failures.py             failures, out of the records of exchanges
problem_log.py          lines about problems, once they last
publication_log.py      lines about what is served otherwise, once a second
"""

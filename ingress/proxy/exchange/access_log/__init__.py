"""The access log: a line for each exchange.

    access_log.py           which exchanges have a line, and the thread that writes them; a line is made by
        log_lines.py            in a format of nginx's
        record_lines.py         by names of fields, as JSON or logfmt

Where the lines go is for ``ingress.process.logs`` to know.
"""

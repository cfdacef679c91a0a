"""What happens at a running controller, at a terminal, for as long as somebody looks.

stream of events ──▶ feed ──▶ board ──▶ picture ──▶ screen
octets               events   what is   lines       what is different of them
                              known

``main_loop.py`` has it go on, with ``following.py`` for the stream, ``keys.py`` for what is typed, and ``spans.py`` for pieces of lines.
"""

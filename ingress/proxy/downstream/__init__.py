"""Connections of clients: HTTP/1.1 and HTTP/2 as sides of exchanges.

    a connection ──▶ channel.py (channel_state.py)                          HTTP/1.1, one exchange at a time
                        ├── request_reader.py       heads                       │ negotiating.py
                        ├── body_intake.py          bodies (request_body.py)    ▼
                        ├── answer_writer.py        answers                 h2_session.py (h2_backlog.py)
                        └── sending.py              how they are taken          └── h2_stream.py, one for each exchange

``framed_copy.py`` moves large answers from a socket into frames; ``client.py`` says who is at the other end.
"""

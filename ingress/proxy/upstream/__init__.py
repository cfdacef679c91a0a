"""Connections to endpoints: HTTP/1.1, HTTP/2 and FastCGI, their pool, and the rotation of endpoints.

    rotation.py             which endpoint gets an attempt  (distrust.py: who ended connections under requests)
    pool.py                 which connection it goes over ──▶ connection.py             HTTP/1.1
                                                              fastcgi_connection.py     FastCGI
                                                              h2_session.py, h2_stream.py

What these ask of the pool is ``keepers.py``; ``tunnel_end.py`` says when a tunnel is over; ``named_connections.py`` has those to names end in time; ``program_errors.py`` logs what programs behind FastCGI complain of, and
``standing.py`` says how endpoints are, for whoever looks.
"""

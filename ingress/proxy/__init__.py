"""The data path: listeners, transports, channel, exchange, upstream connections, replies.

One request is one ``Exchange`` between two sides: a downstream half that took
the request (``channel``) and an upstream half that answers it (``upstream``).
The sides know nothing of each other, the exchange nothing of sockets.
"""

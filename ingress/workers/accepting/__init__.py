"""Which worker takes what: the listening sockets that all share, and whose turn it is at them."""

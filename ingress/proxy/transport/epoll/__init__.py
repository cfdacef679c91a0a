"""The data plane: the proxy's sockets in an epoll set of its own, inside any Twisted reactor.

A reactor spends more on an event than the proxy does: contexts for logging, a
registration per write, one dispatch for every kind of descriptor.  Here all sockets
of the data path are one epoll set, and that set is *one* ordinary reader of
whatever reactor runs.  The reactor keeps timers, signals, threads and everything
that is not traffic.

The transports are those of ``ingress.proxy.contract.transport.Transport``, so channel and
upstream connection cannot tell them from Twisted's; both pass the same tests.
Linux only: elsewhere Twisted's own transports serve.

    epoll_set.py ─┬── shared_poll.py        one wait for it and the reactor's own  (probe.py: how late it is)
                  └── stream.py, tls.py     connections, upon sockets.py and delivery.py; connecting.py makes those to endpoints
    bodies                  splice.py, spliced.py, pipes.py: inside the kernel; memory_copy.py: straight into memory
"""

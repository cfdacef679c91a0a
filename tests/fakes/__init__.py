"""What tests play in the place of the world: peers, clocks, programs, objects and certificates.

    apiserver/   a Kubernetes API server that speaks real HTTP
    peers/       clients and endpoints on real sockets, well or badly behaved
    http2/       HTTP/2 by hand, and both sides of it by the ``h2`` package
    fastcgi/     applications behind FastCGI
    clocks/      clocks by which work takes time, or that somebody sets

Here are connections in memory, the controller and other programs as processes, and the values that many tests need.
"""

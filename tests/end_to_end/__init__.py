"""The whole controller as a process, with real sockets: what goes in as objects, and what visitors and the cluster get.

    protocols/      every pair of versions of HTTP, gRPC, WebSockets, FastCGI, streams of TCP, UDP
    tls/            certificates, handshakes, and getting to HTTPS
    filters/        what filters ask other services, those of the operator, and traces
    cluster/        what comes from an API server, and what is written there
    lifecycle/      starts, ends and signals, service managers, clocks that are set
    takeover/       a new process in the place of one that serves
    workers/        several worker processes
    beside_nginx/   the same asked of a real nginx

What is about all of it lies here, with ``end_to_end_case.py``, which starts the controller.
"""

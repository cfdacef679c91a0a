"""The series that are not about requests: a module for each part of the house, called as that part is.

    who connects, what is asked     connections.py, http2.py, udp.py, sub_requests.py, filters.py
    where requests go               endpoints.py, snapshots.py, certificates.py
    the process                     process.py, memory.py, reactor.py, overload.py, build.py, workers.py
    the cluster                     watch.py, status.py
    its own ports, and traces       admin.py, admission.py, tracing.py

Each has its families as functions of plain integers; ``ingress.metrics.metrics`` puts them together.
"""

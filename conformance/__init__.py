"""The official conformance tests of the Gateway API, and those of Ingress, against a real API server (README.md).

__main__.py, options.py                     the command line
binaries.py, compiler.py, go/               the programs of a run, built by Go once and kept
network.py, processes.py, credentials.py    what a run has to itself
control_plane.py, cluster.py                the API server, and its objects as users see them
controller.py                               the controller, as users start it
pods.py, workloads.py, containers.py, kubelet.py    a program of its own, which plays nodes and their pods
playing.py, suite.py, ingress/              the tests, and their reports
"""

"""A Kubernetes Ingress controller that is itself the proxy; ``twistd ingress`` starts it.

Which room stands on which floor, and what it does, is in the tables of ``docs/architecture.md``, which
``tests/test_layers.py`` reads and keeps true.

The way of an object.  A thread of ``cluster`` lists and watches one kind, and makes a
small immutable value of each object.  Batches of them cross into the reactor thread,
where the store keeps what really changed.  The controller has ``translate`` work out
what that concerns, and publishes the resulting snapshot by one assignment.
Nothing is published before the first complete sync, and an object that cannot be served
becomes a ``Problem`` and spoils only itself.

The way of a request.  ``proxy`` accepts a connection, ``tls`` picks its certificate, and
the head is read by ``http``, strictly and once.  The route table of the current snapshot
finds the route, its filters may answer at once, and otherwise an exchange picks an
endpoint, takes a pooled upstream connection, and streams both bodies with back-pressure.
The request keeps the snapshot that it started with, and ends in one access-log line.
"""

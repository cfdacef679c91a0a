"""A Kubernetes Ingress controller that is itself the proxy; ``twistd ingress`` starts it.

The map of the house.  Each floor imports only from the floors below it, and rooms on
one floor do not know each other; a test walks the imports and says so.

- Floor 6: ``tap`` is the command line, ``cli`` the commands beside ``twistd``,
  ``process`` the signals and the exit status, ``interpreter`` and ``log_output`` how it
  runs and writes without standing still, ``steady_time`` the clock that deadlines go by.
  Only ``tap`` names the global reactor.
- Floor 5: ``service`` builds every part from the ``Settings`` and orders start,
  readiness, drain and stop.
- Floor 4: ``controller`` turns changed objects into a published snapshot; ``admin`` is
  the admin port with health, readiness, metrics, routes and problems; ``status`` tells
  the cluster what is served and what could not be; ``expiry`` warns of certificates.
- Floor 3: ``cluster`` is where objects come from, an API server or manifests on disk;
  ``proxy`` is where requests go through.
- Floor 2: ``translate`` makes routes, certificates and problems of cluster objects,
  pure and total; ``tls`` chooses a certificate by server name.
- Floor 1: ``routing`` finds the route of a host and path, ``policy`` judges what an
  annotation asks for, ``certificates`` reads key pairs and finds those of a name, which
  ``server_names`` and ``misdirected`` build upon; ``metrics`` counts, ``http`` is HTTP as
  bytes; ``yielding`` lets requests pass before what threads decode, and
  ``descriptors`` says how many files there may be; ``news`` tells the log of changes.
  All but these and the counters are pure.
- Floor 0: ``model`` holds the values that all rooms share, ``errors`` the error
  families, ``settings`` what the operator asked for.

The way of an object.  A thread of ``cluster`` lists and watches one kind, and makes a
small immutable value of each object.  Batches of them cross into the reactor thread,
where the store keeps what really changed.  The controller has ``translate`` work out
what that concerns, and publishes the resulting snapshot by one assignment.
Nothing is published before the first complete sync, and an object that cannot be served
becomes a ``Problem`` and spoils only itself.

The way of a request.  ``proxy`` accepts a connection, ``tls`` picks its certificate, and
the head is read by ``http``, strictly and once.  The route table of the current snapshot
finds the route, its policies may answer at once, and otherwise an exchange picks an
endpoint, takes a pooled upstream connection, and streams both bodies with back-pressure.
The request keeps the snapshot that it started with, and ends in one access-log line.
"""

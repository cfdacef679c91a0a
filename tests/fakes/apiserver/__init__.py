"""
The tests' API server: a small Kubernetes API over real HTTP and HTTPS.

In a test, in the reactor that trial runs, with ``ApiServer`` from ``.server``,
the faults from ``.faults`` and ``grants_from_manifests`` from ``.access``::

    server = ApiServer(reactor)                      # or ApiServer(reactor, tls=True)
    await server.listen()                            # a free port of 127.0.0.1
    self.addCleanup(server.stop)                     # leaves a clean reactor
    server.write_kubeconfig(path)                    # URL, authority, token

    server.create({"apiVersion": "v1", "kind": "Service", "metadata": {...}})
    service = server.get("Service", "web", "shop")   # a copy; change it, then
    server.replace(service)                          # 409 when it is stale
    server.delete("Service", "web", "shop")
    server.compact()                                 # older resource versions are now 410

    await server.when(lambda: len(server.watches) == 5)
    server.close_watches("reset")                    # or "finish", "cut"
    server.faults.add(Answer(503, {"Retry-After": "1"}), verb="watch", resource="ingresses")
    server.freeze()                                  # connections stay open and silent
    server.streaming_list = False                    # sendInitialEvents is answered 422
    server.split_bytes = 1                           # watch events arrive byte by byte
    server.access.tokens["narrow"] = grants_from_manifests(documents, "namespace", "account")
    server.access.tokens = {"CN=us": None}           # who shows a client certificate of this name
    server.requests_of("list", "secrets")            # the log of what was asked

As a process: ``python -m tests.fakes.apiserver --port 0 --kubeconfig-out FILE``.
All Python calls belong in the reactor thread. Objects are kept as they are
written: only metadata is checked, so that tests can store what is broken. What
comes over HTTP is checked, too, where controllers write: Leases, Events and the
status of Ingresses, for which ``managedFields`` says who wrote the addresses.
"""

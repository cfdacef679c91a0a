"""The API server as a source of objects: one reflector thread for each kind and namespace.

The reactor thread only starts and stops threads here.  Loading the configuration may read
files and run a plugin, so it has a thread too, as has waiting for the threads to end.
"""

import os
from collections.abc import Callable, Mapping
from random import random as random_number
from threading import Lock, Thread
from time import monotonic

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFromThreads
from twisted.logger import Logger
from twisted.python.failure import Failure

from ingress.cluster.api_client import ApiAccess, ApiConnection
from ingress.cluster.credentials import CredentialSource
from ingress.cluster.handover import Handover
from ingress.cluster.kinds import KINDS
from ingress.cluster.reflector import Reflector, reflector_name
from ingress.cluster.source import Sink

log = Logger()

_STOP_SECONDS = 2.0


class ApiServerSource:
    """Reads all kinds from one API server, in all *namespaces* when none are given.

    IngressClasses belong to no namespace, and are asked for in the whole cluster in any case.
    *clock* returns monotonic seconds, *random* a number in [0, 1).  The timeouts are those of
    ``ingress.cluster.api_client.ApiAccess``, *backoff_seconds* is the wait after a first error.
    """

    def __init__(
        self,
        reactor: IReactorFromThreads,
        *,
        kubeconfig: str | None,
        context: str | None,
        server: str | None,
        namespaces: tuple[str, ...],
        annotations_prefix: str,
        environ: Mapping[str, str] = os.environ,
        connect_seconds: float = 5.0,
        read_seconds: float = 75.0,
        backoff_seconds: float = 0.8,
        clock: Callable[[], float] = monotonic,
        random: Callable[[], float] = random_number,
    ) -> None:
        self._reactor = reactor
        self._access = ApiAccess(
            CredentialSource(kubeconfig, context, server, environ),
            connect_seconds=connect_seconds,
            read_seconds=read_seconds,
            clock=clock,
        )
        self._scopes = tuple(
            (read, namespace) for read in KINDS.values() for namespace in read.scopes(namespaces)
        )
        self._annotations_prefix = annotations_prefix
        self._backoff_seconds = backoff_seconds
        self._clock = clock
        self._random = random
        self._handover: Handover | None = None
        self._reflectors: tuple[Reflector, ...] = ()
        self._is_stopping = False

    def start(self, sink: Sink) -> Deferred[None]:
        """Load the configuration and begin to read.  Fails with ``StartError``.

        When ``stop`` comes before the configuration is loaded, it fires with None all the same.
        """
        started: Deferred[None] = Deferred()
        self._handover = Handover(
            self._reactor.callFromThread, sink, (reflector_name(*scope) for scope in self._scopes)
        )
        Thread(target=self._load, args=(started,), name="ingress credentials", daemon=True).start()
        return started

    def stop(self) -> Deferred[None]:
        """Stop the threads; fires when they ended, or after two seconds without those that did not.

        They are daemon threads: one that is still connecting does not keep the process.
        """
        stopped: Deferred[None] = Deferred()
        self._is_stopping = True
        if self._handover is not None:
            self._handover.stop()
        for reflector in self._reflectors:
            reflector.stop()
        Thread(target=self._join, args=(stopped,), name="ingress stop", daemon=True).start()
        return stopped

    def missing(self) -> tuple[str, ...]:
        """The kinds (and namespaces) whose first list has not been handed over yet."""
        if self._handover is None:
            return tuple(reflector_name(*scope) for scope in self._scopes)
        return self._handover.missing()

    def _load(self, started: Deferred[None]) -> None:
        """Thread: load the configuration, and let the reactor go on."""
        try:
            self._access.load()
        except Exception:
            # StartError, or a bug; either way the one who waits must learn of it.
            self._reactor.callFromThread(started.errback, Failure())
        else:
            self._reactor.callFromThread(self._begin, started)

    def _begin(self, started: Deferred[None]) -> None:
        if not self._is_stopping:
            assert self._handover is not None
            decoding = Lock()
            self._reflectors = tuple(
                Reflector(
                    read,
                    namespace,
                    ApiConnection(self._access),
                    self._handover,
                    self._annotations_prefix,
                    decoding=decoding,
                    clock=self._clock,
                    random=self._random,
                    backoff_seconds=self._backoff_seconds,
                )
                for read, namespace in self._scopes
            )
            for reflector in self._reflectors:
                reflector.start()
        started.callback(None)

    def _join(self, stopped: Deferred[None]) -> None:
        """Thread: wait for the reflectors."""
        deadline = monotonic() + _STOP_SECONDS
        late = [r.name for r in self._reflectors if not r.join(max(0.0, deadline - monotonic()))]
        if late:
            log.info("not waiting for the threads of {names}", names=", ".join(late))
        self._reactor.callFromThread(stopped.callback, None)

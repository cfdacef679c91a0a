"""Where objects come from, as the rest of the house sees it.

A source finds cluster objects and hands changes of them to a sink.  There are two:
``ingress.cluster.api_server`` and ``ingress.cluster.manifests.manifests``.  Nothing here does
anything; a source knows neither the store nor translation, and a sink knows neither
threads nor files.
"""

from typing import Protocol

from twisted.internet.defer import Deferred

from ingress.model.cluster.objects import Batch


class Sink(Protocol):
    """Takes what a source finds.  Both methods are called in the reactor thread only."""

    def changed(self, batch: Batch) -> None:
        """Take changes: the newest projection of each object, or None for one that is gone."""

    def synced(self) -> None:
        """Learn that the first complete content was handed to ``changed``; called exactly once."""


class Source(Protocol):
    """Finds objects from ``start`` until ``stop``."""

    def start(self, sink: Sink) -> Deferred[None]:
        """Begin to hand changes to *sink*.

        The Deferred fires with None when the source runs: its content may come later, and
        ``sink.synced`` tells when.  It fails with ``ingress.errors.StartError`` when the
        settings can never work (no such kubeconfig, no such file); nothing runs then.
        Nothing is raised, and *sink* may be called before the Deferred fires.
        """

    def stop(self) -> Deferred[None]:
        """Hand nothing over any more, from this call on; fires when all threads and timers ended."""

    def reads(self, namespace: str) -> bool:
        """Whether objects of *namespace* are handed over, as far as is known."""

    def is_amid_change(self) -> bool:
        """Whether more follows at once of what changed in one moment, so that there never was what was handed over so far.

        However much changes, it is over after a while, and not so again before whoever asks every 10 ms knows it.
        """

    def missing(self) -> tuple[str, ...]:
        """Say what the first complete content still waits for; empty once the sink was synced."""

"""All that is reported back to the cluster: the election, and what the leader writes.

The election asks the API server in a thread of its own, so that slow writes cannot keep the lease
from being renewed; the writers share some others.  Whatever they come to, requests are served as before: nothing here is waited for by anybody but
the end of the process, and that for a second at most.
"""

import time
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from datetime import datetime
from threading import Thread
from typing import Any

from attrs import evolve
from twisted.internet.defer import CancelledError, Deferred, TimeoutError
from twisted.internet.task import deferLater
from twisted.logger import Logger

from ingress.cluster.api.api_client import ApiConnection, ApiRequest
from ingress.cluster.api.api_thread import ApiThread, Outcome
from ingress.cluster.api.outage import Outage
from ingress.cluster.store import Changes
from ingress.metrics.series.status import StatusMetrics
from ingress.model.cluster.object_meta import Address
from ingress.model.cluster.objects import ObjectId, ObjectKey
from ingress.model.cluster.problems import Problem
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.model.reporting.reporting import Reporting
from ingress.status.addresses import published_addresses
from ingress.status.election import Terms
from ingress.status.elector import Elector
from ingress.status.events import Events
from ingress.status.gateway_services import GatewayServices
from ingress.status.node_addresses import NodeAddresses, Watch
from ingress.status.refusals import Refusals
from ingress.status.report_writer import Sending
from ingress.status.statuses import BOUNDS, Statuses
from ingress.status.write_hold import WriteHold
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.route_kinds import REPORTED_KINDS
from ingress.translate.reports import Attached, ReportedKind

log = Logger()

OTHERS_TURNS = 2.0
"""How many turns of a candidate the last leader waits for another one, before it removes addresses."""
CLEAR_SECONDS = 60.0
"""How long removing them may take."""
SEEN_SECONDS = 1.0
"""How long whoever hands the reporting over waits for its last writes to be shown by the API server."""

_JOIN_SECONDS = 0.5
_LOOK_SECONDS = 0.01
_MAX_WRITER_CHARACTERS = 128


def steady_seconds() -> float:
    """Seconds of a clock that nobody sets; it goes on while the machine sleeps, where there is such a clock."""
    number = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if number is None else time.clock_gettime(number)


def writer_name(lease: ObjectKey) -> str:
    """Return the field manager under which all candidates for *lease* write, and nobody else.

    Other controllers of the same make, for other classes, take part in another election.
    """
    return f"txingress/{lease}"[:_MAX_WRITER_CHARACTERS]


@frozen
class _Parts:
    """What there is from the start on."""

    elector: Elector
    statuses: Statuses
    events: Events
    services: GatewayServices


class ClusterReporting:
    """Takes part in the election, and writes statuses, Events and Services of Gateways while it leads.

    *connections* makes a connection of a thread to the API server.  *state* returns the content of
    the store, *namespace* the one that we are in, for when none was chosen.  *identity* is our name.
    *now* returns the time with its zone, *steady* seconds of a clock that nobody sets, *random* a
    number in [0, 1).  *regained* is called when the API server answers again: the election asks
    it every few seconds, and so is mostly the first to know.  *outage* is shared by all who ask it.
    *kinds* are those whose status is written.  *watch* watches kinds for us alone, *own_pod* is the pod that we are, None outside
    of any: by these the addresses of Nodes are found, where they are to be shown.
    """

    def __init__(
        self,
        reactor: Any,
        connections: Callable[[], ApiConnection],
        settings: Reporting,
        options: TranslateOptions,
        state: Callable[[], ClusterState],
        namespace: Callable[[], str],
        identity: str,
        metrics: StatusMetrics,
        *,
        now: Callable[[], datetime],
        random: Callable[[], float],
        steady: Callable[[], float] = steady_seconds,
        regained: Callable[[], None] = lambda: None,
        outage: Outage | None = None,
        kinds: Iterable[ReportedKind] = REPORTED_KINDS,
        watch: Watch | None = None,
        own_pod: ObjectKey | None = None,
    ) -> None:
        self._reactor = reactor
        self._settings = settings
        self._options = options
        self._state = state
        # In the order in which they came; sorting them all would keep requests waiting.
        self._problems: dict[Problem, None] = {}
        self._attached = Attached()
        self._namespace = namespace
        self._identity = identity
        self._metrics = metrics
        self._now = now
        self._random = random
        self._steady = steady
        self._regained = regained
        self._outage = outage
        self._kinds = tuple(kinds)
        self._node_addresses: NodeAddresses | None = None
        if settings.looks_for_nodes and watch is not None:
            if own_pod is None:
                log.warn(
                    "--publish-node-addresses does nothing: there is no POD_NAME, or no POD_NAMESPACE, in the environment"
                )
            else:
                self._node_addresses = NodeAddresses(
                    own_pod,
                    watch,
                    self._nodes_changed,
                    reactor,
                    is_internal=settings.reports_internal_addresses,
                )
        self._election_thread = ApiThread(reactor, connections, "election")
        self._writing_thread = ApiThread(reactor, connections, "status and Events", BOUNDS.under_way)
        self._write_hold = WriteHold(self._ask_as_leader)
        self._parts: _Parts | None = None
        self._has_left = False
        self._lease = ObjectKey("", settings.election_id)

    @property
    def identity(self) -> str:
        """The name by which we are a candidate."""
        return self._identity

    def start(self, identity: str = "") -> None:
        """Become a candidate, where *identity* is given by that name: the one of a process that reports no more."""
        self._identity = identity or self._identity
        namespace = self._settings.election_namespace or self._namespace()
        self._lease = ObjectKey(namespace, self._settings.election_id)
        terms = Terms.lasting(self._settings.election_ttl_seconds)
        refusals = Refusals()
        self._metrics.began()
        elector = self._elector(refusals, self._leader_changed)
        sending = Sending(
            self._reactor,
            self._write_hold.ask,
            terms.write_timeouts,
            self._steady,
            self._random,
            refusals,
            self._outage,
        )
        statuses = Statuses(
            sending,
            self._state,
            self._settings,
            self._options,
            writer_name(self._lease),
            self._metrics,
            self._now,
            kinds=self._kinds,
            of_nodes=self._of_nodes,
        )
        statuses.problems_changed(tuple(self._problems), ())
        statuses.attached_changed(self._attached)
        events = Events(
            sending,
            self._problems.keys,
            lambda: self._state().metas,
            self._identity,
            self._metrics,
            self._now,
        )
        services = GatewayServices(sending, self._state, self._options)
        self._parts = _Parts(elector, statuses, events, services)
        elector.start()

    def _elector(self, refusals: Refusals, changed: Callable[[bool], None]) -> Elector:
        return Elector(
            self._reactor,
            self._election_thread.ask,
            self._lease,
            self._identity,
            Terms.lasting(self._settings.election_ttl_seconds),
            steady=self._steady,
            now=self._now,
            random=self._random,
            changed=changed,
            regained=self._regained,
            refusals=refusals,
            metrics=self._metrics,
            outage=self._outage,
        )

    def stop(self) -> Deferred[None]:
        """Lead no more, release the lease, end the threads; fires after a second and a half at the latest.

        Where addresses are to be removed and we lead, it takes longer, and may be canceled.
        """
        parts = self._parts
        if self._has_left:
            self._writing_thread.stop()
            return self._end_threads()
        if self._settings.clear_status_on_shutdown and parts is not None and parts.elector.may_act():
            return Deferred.fromCoroutine(self._clear_and_stop(parts))
        self._writing_thread.stop()
        if self._parts is None:
            stopped: Deferred[None] = Deferred()
            stopped.callback(None)
        else:
            stopped = self._parts.elector.stop()
        return stopped.addCallback(lambda _: self._end_threads())

    async def hold(self) -> None:
        """Report nothing more until ``go_on``; returns when all that was under way is answered.

        What was written is to have been shown, too, before another process with our name looks at it.
        """
        parts = self._parts
        if parts is None:
            return
        parts.elector.rest()
        self._write_hold.hold()
        while not (parts.elector.is_quiet and self._write_hold.is_quiet):
            # It ends: each request has its timeouts.
            await deferLater(self._reactor, _LOOK_SECONDS)
        until = self._steady() + SEEN_SECONDS
        while parts.statuses.unseen and self._steady() < until:
            await deferLater(self._reactor, _LOOK_SECONDS)

    def go_on(self) -> None:
        """Report again, from where ``hold`` stopped."""
        if self._parts is not None:
            self._write_hold.go_on()
            self._parts.elector.go_on()

    def leave(self) -> None:
        """Report no more, and take nothing back: another process with our name does, after ``hold``."""
        self._has_left = True
        if self._parts is not None:
            self._parts.elector.leave()

    async def _clear_and_stop(self, parts: _Parts) -> None:
        """Remove our addresses, unless another replica takes over while it can.

        The Lease is released first, so that whoever is there gets it within a turn.  If nobody does, we
        are the last, and take part in one more election for the sole purpose of removing.
        """
        retry = Terms.lasting(self._settings.election_ttl_seconds).retry_seconds
        cleared = parts.statuses.clear()

        def changed(is_leading: bool) -> None:
            if is_leading:
                parts.statuses.lead()
            else:
                parts.statuses.follow()

        last = self._elector(Refusals(), changed)
        try:
            await parts.elector.stop()
            await deferLater(self._reactor, OTHERS_TURNS * retry, lambda: None)
            self._parts = evolve(parts, elector=last)
            last.start()
            await deferLater(self._reactor, retry, lambda: None)
            if last.may_act():
                log.info("No other replica has taken the lease: removing the addresses of Ingresses")
                cleared.addTimeout(CLEAR_SECONDS, self._reactor)
                await cleared
        except (CancelledError, TimeoutError):
            log.info("The addresses of some Ingresses stay, since time was up")
        finally:
            self._writing_thread.stop()
        await last.stop()
        await self._end_threads()

    def objects_changed(self, changes: Changes) -> None:
        """Learn what is different in the store."""
        if self._parts is not None:
            self._parts.statuses.objects_changed(changes)
            self._parts.services.objects_changed(changes)

    def problems_changed(self, came: Sequence[Problem], went: Sequence[Problem]) -> None:
        """Learn which problems are new, and which are solved."""
        for problem in went:
            self._problems.pop(problem, None)
        self._problems.update(dict.fromkeys(came))
        if self._parts is not None:
            self._parts.statuses.problems_changed(came, went)
            self._parts.events.problems_changed(came, went)

    def attached_changed(self, attached: Attached) -> None:
        """Learn which routes are attached where."""
        self._attached = attached
        if self._parts is not None:
            self._parts.statuses.attached_changed(attached)

    def translated(self, objects: Collection[ObjectId], changed_since: Container[ObjectId]) -> None:
        """Learn of which objects the problems are known as they are now."""
        if self._parts is not None:
            self._parts.statuses.translated(objects, changed_since)
            self._parts.services.translated(objects, changed_since)

    def picture(self) -> dict[str, object]:
        """Return what the admin port shows: who leads as far as we know, and what waits to be written."""
        parts = self._parts
        lease = None if parts is None else parts.elector.candidacy.lease
        published = published_addresses(self._settings, self._state(), self._of_nodes())
        is_leading = parts is not None and parts.elector.may_act()
        # A lease that was ours and could not be renewed makes nobody the leader, as far as is known.
        is_known = is_leading or (lease is not None and lease.holder != self._identity)
        return {
            "identity": self._identity,
            "leading": is_leading,
            "lease": str(self._lease),
            "leader": lease.holder if lease is not None and is_known else "",
            "renewed": "" if lease is None else lease.renewed,
            "transitions": 0 if lease is None else lease.transitions,
            "addresses": None if published is None else [str(address) for address in published],
            "statusesPending": 0 if parts is None else parts.statuses.pending,
            "eventsPending": 0 if parts is None else parts.events.pending,
        }

    def _ask_as_leader(self, request: ApiRequest, done: Callable[[Outcome], None]) -> None:
        assert self._parts is not None, "start() comes before writing"
        self._writing_thread.ask(request, done, self._parts.elector.may_act)

    def _of_nodes(self) -> tuple[Address, ...] | None:
        return None if self._node_addresses is None else self._node_addresses.addresses

    def _nodes_changed(self) -> None:
        if self._parts is not None:
            self._parts.statuses.nodes_changed()

    def _leader_changed(self, is_leading: bool) -> None:
        assert self._parts is not None, "start() comes before leading"
        if self._node_addresses is not None:
            if is_leading:
                self._node_addresses.lead()
            else:
                self._node_addresses.follow()
        for part in (self._parts.statuses, self._parts.events, self._parts.services):
            if is_leading:
                part.lead()
            else:
                part.follow()

    def _end_threads(self) -> Deferred[None]:
        ended: Deferred[None] = Deferred()
        self._election_thread.stop()
        Thread(target=self._join, args=(ended,), name="ingress reporting stop", daemon=True).start()
        return ended

    def _join(self, ended: Deferred[None]) -> None:
        """Thread: wait for the threads.  They are daemons: one that is still connecting is left behind."""
        deadline = time.monotonic() + _JOIN_SECONDS
        for thread in (self._election_thread, self._writing_thread):
            thread.join(max(0.0, deadline - time.monotonic()))
        self._reactor.callFromThread(ended.callback, None)

"""Which Services are kept for Gateways: the part of ``report_writer`` for them.

The agenda holds Gateways: all of them when we begin to lead, then those that were translated again, and those whose Service
changed.  What is as it should be costs no request.

Invariants:

1. A Service without our Gateway among its owners is never touched.  So the first write forces nothing, and all others name
   the Service that was seen by its uid.
2. What was written counts until the API server shows something else; after each write there is a pause, longer each time
   that the same is to be written.
3. What the API server does not take is not sent again, until it or the Service is something else.
"""

from collections.abc import Callable, Collection, Container, Iterator

from twisted.logger import Logger

from ingress.cluster.api.api_client import ApiRequest
from ingress.cluster.api.api_thread import Outcome
from ingress.cluster.kinds import GATEWAY_SERVICES
from ingress.cluster.store import Changes
from ingress.errors import KubernetesError
from ingress.model.cluster.gateway_services import SERVICES_WRITER, GatewayService
from ingress.model.cluster.object_meta import NO_META
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.status.refusals import Right, is_forbidden
from ingress.status.report_writer import Bounds, ReportWriter, Sending, Write
from ingress.status.write_pauses import WritePauses
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.gateway.gateways.infrastructure import (
    applied_body,
    service_key,
    wanted_service,
)
from ingress.translate.readers.gateway.objects.gateways import gateways_of
from ingress.translate.readers.gateway.objects.names import GATEWAY
from ingress.translate.readers.gateway.topology.topology_making import last_topology
from ingress.wording import number_of

log = Logger()

BOUNDS = Bounds(per_second=20.0, at_once=50, under_way=2)
"""How many Services are written."""

_OVERTAKEN = 409


class GatewayServices:
    """Keeps the Services of Gateways that ask for labels and annotations.

    *state* returns the content of the store, *options* say which Gateways are ours.
    """

    def __init__(
        self, sending: Sending, state: Callable[[], ClusterState], options: TranslateOptions
    ) -> None:
        self._sending = sending
        self._state = state
        self._options = options
        self._writer: ReportWriter[ObjectKey, GatewayService] = ReportWriter(
            self,
            sending,
            BOUNDS,
            "Services of Gateways",
            "does not take one, which is not sent again until its Gateway says something else",
        )
        # The Gateways, by the Services that are theirs or would be.
        self._gateways: dict[ObjectKey, ObjectKey] = {}
        # By Gateway: what the API server has since we wrote, until it shows something else, and what it did not take.
        self._written: dict[ObjectKey, GatewayService] = {}
        self._refused: dict[ObjectKey, GatewayService] = {}
        self._pauses: WritePauses[ObjectKey] = WritePauses(sending.steady, sending.random)
        self._count = 0

    def lead(self) -> None:
        """Begin: all Gateways are looked at."""
        self._writer.lead(tuple(gateways_of(self._state())))

    def follow(self) -> None:
        """Cease, and forget everything: others may write from now on."""
        self._gateways, self._written, self._refused = {}, {}, {}
        self._pauses.clear()
        self._writer.follow()

    def objects_changed(self, changes: Changes) -> None:
        """Look at the Gateways whose Services are others."""
        if not self._writer.is_leading or not self._gateways:
            return
        for gateway in dict.fromkeys(self._of_services((*changes.objects, *changes.metas))):
            self._written.pop(gateway, None)
            # What was refused may have been meant for another Service of that name.
            self._refused.pop(gateway, None)
            self._writer.overtake(gateway)
            self._writer.look_at((gateway,))

    def translated(self, objects: Collection[ObjectId], changed_since: Container[ObjectId]) -> None:
        """Look at the Gateways among *objects*: it is known whether they are ours, but for those that *changed_since*."""
        if self._writer.is_leading:
            known = [one[1] for one in objects if one[0] == GATEWAY and one not in changed_since]
            if known:
                self._writer.look_at(known)

    def _of_services(self, objects: Collection[ObjectId]) -> Iterator[ObjectKey]:
        for kind, key in objects:
            if kind is Kind.SERVICE and key in self._gateways:
                yield self._gateways[key]

    # -- what the writer asks

    def write(self, gateway: ObjectKey) -> Write[GatewayService] | None:
        """Return what to apply for *gateway*, None for nothing."""
        state = self._state()
        key, value = service_key(gateway), gateways_of(state).get(gateway)
        if value is None:
            self._forget(key, gateway)
            return None
        self._gateways[key] = gateway
        there, uid = state.services.get(key), state.metas.get((GATEWAY, gateway), NO_META).uid
        is_others = there is not None and there.gateway != gateway.name
        if is_others or not uid or gateway not in last_topology(state, self._options).gateways:
            return None
        meta = state.metas.get((Kind.SERVICE, key), NO_META)
        wanted = wanted_service(value, uid, is_there=there is not None)
        if wanted is None or wanted in (
            self._written.get(gateway, meta.applied),
            self._refused.get(gateway),
        ):
            return None
        force = () if there is None else (("force", "true"),)
        return Write(
            ApiRequest(
                "PATCH",
                GATEWAY_SERVICES.path(key.namespace, key.name),
                (("fieldManager", SERVICES_WRITER), *force),
                applied_body(wanted, gateway, "" if there is None else meta.uid),
                GATEWAY_SERVICES.media_type,
                self._sending.timeouts,
                wants_answer=False,
            ),
            key.namespace,
            f"{key} of {GATEWAY} {gateway}",
            Right.KEEP_SERVICES,
            wanted,
            not_before=self._pauses.ends(gateway, wanted),
            # Another Service of that name is on the way here.
            answers=frozenset({_OVERTAKEN}),
        )

    def count(self, write: Write[GatewayService], outcome: Outcome) -> None:
        """Count a Service that was written."""
        self._count += not isinstance(outcome, KubernetesError)

    def answered(
        self, gateway: ObjectKey, write: Write[GatewayService], outcome: Outcome, *, is_overtaken: bool
    ) -> bool:
        """Note that a Service was written, or that there is another one of its name."""
        self._pauses.begin(gateway, write.content)
        self._refused.pop(gateway, None)
        if isinstance(outcome, KubernetesError):
            return True
        if not is_overtaken:
            self._written[gateway] = write.content
        return False

    def failed(
        self, gateway: ObjectKey, write: Write[GatewayService], error: KubernetesError
    ) -> float | None:
        """Leave a Service alone that the API server does not take, until it is to be another one."""
        if is_forbidden(error):
            return self._sending.steady()
        self._pauses.begin(gateway, write.content, at_least=error.retry_after_seconds or 0.0)
        if error.status < 500:
            self._refused[gateway] = write.content
            return None
        return self._sending.steady()

    def settled(self, *, is_all: bool) -> None:
        """Say what was written since all was last as it should be."""
        count, self._count = self._count, 0
        self._pauses.forget_old()
        if count:
            log.info("Wrote {services} of Gateways", services=number_of(count, "Service"))

    def _forget(self, key: ObjectKey, gateway: ObjectKey) -> None:
        self._gateways.pop(key, None)
        self._written.pop(gateway, None)
        self._refused.pop(gateway, None)
        self._pauses.forget(gateway)

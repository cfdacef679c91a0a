"""The addresses of the Nodes that the replicas run on, for clusters without load balancers: watched by the leader alone.

The replicas are the pods of our own namespace that have all labels of our own pod, but for those by which a revision or one pod
is known, so that an update in progress hides nobody.  A Node counts while a pod that is ready and not about to end is on it, and
has one address: the first external one, or the first internal one where it has no other, or where the operator wants those.

Where no replica is ready on a Node with an address, what was shown last stays: records of DNS that are gone for a moment are
worse than some that lead nowhere.  After a change the next one is waited for, as a rolling update is many of them, and each
has every status written.

Source: ``runningAddresses`` of ingress-nginx's ``internal/ingress/status/status.go`` and ``GetNodeIPOrName`` of its
``internal/k8s/main.go``.  It counts pods that are about to end as long as they are ready, looks for those of its own revision
alone (kubernetes/ingress-nginx#10680), and shows nothing where none is ready.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ingress.cluster.kinds import PODS, WHOLE_NODES
from ingress.cluster.watching.on_demand import OnDemandSink, Scope
from ingress.model.cluster.object_meta import Address
from ingress.model.cluster.objects import Batch, Kind, Node, ObjectKey, Pod
from ingress.status.addresses import IN_ORDER, normalized
from ingress.wording import first_of

log = Logger()

Watch = Callable[[Sequence[Scope], OnDemandSink], Callable[[], None]]
"""Watches scopes for a sink; returns what ends that."""

BETWEEN_SECONDS: Final = 10.0
"""How long after a change the next one is shown at the earliest."""
MOST_ADDRESSES: Final = 256
"""As many are read of a status, and compared (``ingress.cluster.projecting.object_meta``)."""

_NODES_NAMED: Final = 3
_OF_ONE_REVISION: Final = frozenset(
    {
        "pod-template-hash",
        "controller-revision-hash",
        "pod-template-generation",
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
    }
)
"""Labels that Deployments, DaemonSets and StatefulSets add to those of their template."""


def nodes_of_replicas(own: Pod, pods: Iterable[Pod]) -> frozenset[str]:
    """Return the names of the Nodes on which a replica is ready: *own*, or one of *pods* with its labels."""
    labels = _labels_of_all(own)
    return frozenset(pod.node for pod in pods if pod.is_ready and pod.node and _is_alike(pod, own, labels))


def _labels_of_all(own: Pod) -> frozenset[tuple[str, str]]:
    return frozenset(one for one in own.labels if one[0] not in _OF_ONE_REVISION)


def _is_alike(pod: Pod, own: Pod, labels: frozenset[tuple[str, str]]) -> bool:
    """Whether *pod* is a replica, ready or not, of *own*, whose replicas have these *labels*."""
    return pod.key == own.key or (bool(labels) and labels <= pod.labels)


def address_of(node: Node, *, is_internal: bool) -> Address | None:
    """Return by which address *node* is reached; None where it says none that is an IP address."""
    text = node.internal_ip if is_internal else node.external_ip or node.internal_ip
    found = normalized([Address(text)]) if text else ()
    return found[0] if found else None


class NodeAddresses:
    """Follows them while we lead.  Reactor thread; an ``OnDemandSink`` itself.

    *own* is the pod that we are, *watch* has what we ask for watched, *changed* is called when ``addresses`` are others.  *clock* has
    ``seconds`` and ``callLater``.
    """

    def __init__(
        self, own: ObjectKey, watch: Watch, changed: Callable[[], None], clock: Any, *, is_internal: bool
    ) -> None:
        self._own = own
        self._watch = watch
        self._changed = changed
        self._clock = clock
        self._is_internal = is_internal
        self._end: Callable[[], None] | None = None
        self.addresses: tuple[Address, ...] | None = None
        """What is to be shown, sorted; None while it is not known."""
        self._pods: dict[ObjectKey, Pod] = {}
        # The address of each Node that there is, None for one without: there may be thousands.
        self._nodes: dict[str, Address | None] = {}
        self._own_pod: Pod | None = None
        # The Nodes that replicas are on, as they were looked at last.
        self._in_use: frozenset[str] = frozenset()
        self._is_complete = False
        self._told: frozenset[str] = frozenset()
        self._next_at = 0.0
        self._later: IDelayedCall | None = None

    def __repr__(self) -> str:
        return f"<NodeAddresses of {self._own}: {self.addresses}>"

    def lead(self) -> None:
        """Begin to watch."""
        self._forget()
        self._end = self._watch(((PODS, self._own.namespace), (WHOLE_NODES, "")), self)

    def follow(self) -> None:
        """Watch no more, and know nothing."""
        if self._end is not None:
            self._end()
            self._end = None
        if self._later is not None:
            self._later.cancel()
        self._forget()

    def changed(self, batch: Batch) -> None:
        """Take changes of pods and Nodes."""
        is_other = False
        for (kind, key), projection in batch.items():
            value = None if projection is None else projection.value
            if kind is Kind.POD:
                is_other |= self._keep_pod(key, value if isinstance(value, Pod) else None)
            elif kind is Kind.NODE:
                is_other |= self._keep_node(key.name, value if isinstance(value, Node) else None)
        # A pod that was removed by force may go on.
        self._own_pod = self._pods.get(self._own, self._own_pod)
        if is_other and self._is_complete:
            self._look()

    def complete(self) -> None:
        """Learn that all pods and Nodes are known."""
        self._is_complete = True
        if self._own_pod is None:
            log.warn(
                "--publish-node-addresses: there is no pod {pod}, as POD_NAMESPACE and POD_NAME in the environment call ours,"
                " so the statuses of Ingresses stay as they are",
                pod=str(self._own),
            )
        self._look()

    def _keep_pod(self, key: ObjectKey, pod: Pod | None) -> bool:
        """Keep what a pod is now, None for gone; return whether that is something else of a replica."""
        before = self._pods.get(key)
        if pod is None:
            self._pods.pop(key, None)
        else:
            self._pods[key] = pod
        return before != pod and (self._may_count(before) or self._may_count(pod))

    def _may_count(self, pod: Pod | None) -> bool:
        """Whether *pod* is a replica, as far as is known: of all others of the namespace, which may be thousands, any may change."""
        own = self._own_pod
        return pod is not None and (
            own is None or pod.key == self._own or _is_alike(pod, own, _labels_of_all(own))
        )

    def _keep_node(self, name: str, node: Node | None) -> bool:
        """Keep the address of a Node, None for gone; return whether that is something else of one that is in use."""
        if node is None:
            was_there = name in self._nodes
            self._nodes.pop(name, None)
            return was_there and name in self._in_use
        is_new, before = name not in self._nodes, self._nodes.get(name)
        self._nodes[name] = address = address_of(node, is_internal=self._is_internal)
        return (is_new or before != address) and name in self._in_use

    def _forget(self) -> None:
        self._pods, self._nodes, self._own_pod, self._is_complete = {}, {}, None, False
        self._in_use = frozenset()
        self.addresses, self._told = None, frozenset()
        self._next_at, self._later = 0.0, None

    def _look(self) -> None:
        """See what is to be shown, and whether its time has come."""
        if self._own_pod is None or self._later is not None:
            return
        names = self._in_use = nodes_of_replicas(self._own_pod, self._pods.values())
        found = self._addresses_of(names)
        if not found or found == self.addresses:
            return
        now = self._clock.seconds()
        if now < self._next_at:
            self._later = self._clock.callLater(self._next_at - now, self._look_again)
            return
        self._next_at = now + BETWEEN_SECONDS
        self.addresses = found
        self._changed()

    def _look_again(self) -> None:
        self._later = None
        self._look()

    def _addresses_of(self, names: Collection[str]) -> tuple[Address, ...]:
        by_name = {name: self._nodes[name] for name in names if name in self._nodes}
        self._tell(by_name)
        found = {address for address in by_name.values() if address is not None}
        return tuple(sorted(found, key=IN_ORDER)[:MOST_ADDRESSES])

    def _tell(self, by_name: Mapping[str, Address | None]) -> None:
        """Say which Nodes have no address, each once as long as that is so."""
        without = frozenset(name for name, address in by_name.items() if address is None)
        news = sorted(without - self._told)
        self._told = without
        if news:
            log.warn(
                "--publish-node-addresses: no {sort} of Node {nodes}, which Ingresses do not show",
                sort="InternalIP" if self._is_internal else "ExternalIP and no InternalIP",
                nodes=first_of(news, _NODES_NAMED),
            )

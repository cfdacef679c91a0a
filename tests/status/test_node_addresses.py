"""Tests for ``ingress.status.node_addresses``."""

from collections.abc import Sequence
from functools import partial

from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import PODS, WHOLE_NODES
from ingress.cluster.watching.on_demand import OnDemandSink, Scope
from ingress.model.cluster.object_meta import Address
from ingress.model.cluster.objects import Kind, Node, ObjectId, ObjectKey, Pod, Projection
from ingress.status.node_addresses import (
    BETWEEN_SECONDS,
    MOST_ADDRESSES,
    NodeAddresses,
    address_of,
    nodes_of_replicas,
)
from tests.fakes.counting import calls

OURS = frozenset({("app", "txingress")})


def key(name: str) -> ObjectKey:
    return ObjectKey("txingress", name)


def pod(name: str, node: str, labels: frozenset[tuple[str, str]] = OURS, *, is_ready: bool = True) -> Pod:
    return Pod(key(name), node, labels, is_ready)


def node(name: str, external: str = "", internal: str = "") -> Node:
    return Node(ObjectKey("", name), "", external, internal)


def batch(*values: Pod | Node | str) -> dict[ObjectId, Projection | None]:
    """Return a change by which these are there, and those that are but a name are gone: pods, or Nodes where it begins with n."""
    found: dict[ObjectId, Projection | None] = {}
    for value in values:
        if isinstance(value, str):
            gone = (Kind.NODE, ObjectKey("", value)) if value.startswith("n") else (Kind.POD, key(value))
            found[gone] = None
        else:
            found[Kind.POD if isinstance(value, Pod) else Kind.NODE, value.key] = Projection(value)
    return found


class ReplicaTests(SynchronousTestCase):
    """Which pods are replicas, and on which Nodes."""

    def nodes(self, own: Pod, *others: Pod) -> set[str]:
        return set(nodes_of_replicas(own, (own, *others)))

    def test_by_labels(self) -> None:
        """A replica has all of our labels, and may have more; others are not ours."""
        others = (
            pod("b", "n2"),
            pod("c", "n3", OURS | {("zone", "x")}),
            pod("d", "n4", frozenset({("app", "other")})),
            pod("e", "n5", frozenset()),
        )
        self.assertEqual(self.nodes(pod("a", "n1"), *others), {"n1", "n2", "n3"})

    def test_revisions(self) -> None:
        """Pods of another revision are replicas, and so are those of a StatefulSet, each of which has a label of its own."""
        for label in (
            "pod-template-hash",
            "controller-revision-hash",
            "pod-template-generation",
            "statefulset.kubernetes.io/pod-name",
            "apps.kubernetes.io/pod-index",
        ):
            own, other = pod("a", "n1", OURS | {(label, "1")}), pod("b", "n2", OURS | {(label, "2")})
            self.assertEqual(self.nodes(own, other), {"n1", "n2"}, label)

    def test_no_labels(self) -> None:
        """A pod that somebody made without labels of its own is one of a kind: not every pod of the namespace is a replica."""
        for labels in (frozenset[tuple[str, str]](), frozenset({("pod-template-hash", "1")})):
            self.assertEqual(self.nodes(pod("a", "n1", labels), pod("b", "n2", labels)), {"n1"})

    def test_ready(self) -> None:
        """Only those that are ready count, us included, and one that is on no Node yet does not."""
        self.assertEqual(
            self.nodes(
                pod("a", "n1", is_ready=False), pod("b", "n2"), pod("c", "n3", is_ready=False), pod("d", "")
            ),
            {"n2"},
        )


class AddressTests(SynchronousTestCase):
    """Which address of a Node is shown."""

    def shown(self, external: str, internal: str, *, is_internal: bool = False) -> str | None:
        found = address_of(node("n1", external, internal), is_internal=is_internal)
        self.assertTrue(found is None or not found.hostname)
        return found and found.ip

    def test_external_first(self) -> None:
        """The external one, or else the internal one, or that alone where it is asked for."""
        self.assertEqual(self.shown("203.0.113.1", "10.0.0.1"), "203.0.113.1")
        self.assertEqual(self.shown("", "10.0.0.1"), "10.0.0.1")
        self.assertEqual(self.shown("203.0.113.1", "10.0.0.1", is_internal=True), "10.0.0.1")
        self.assertIsNone(self.shown("203.0.113.1", "", is_internal=True))

    def test_ipv6(self) -> None:
        """An IPv6 address is one, without a zone."""
        self.assertEqual(self.shown("", "2001:db8::1"), "2001:db8::1")
        self.assertIsNone(self.shown("", "fe80::1%eth0"))

    def test_none(self) -> None:
        """What is no IP address is none."""
        self.assertIsNone(self.shown("", ""))
        self.assertIsNone(self.shown("", "node-1.example.com"))


class FollowedCase(SynchronousTestCase):
    """A leader, and what it is told of pods and Nodes."""

    def setUp(self) -> None:
        self.clock = Clock()
        self.scopes: list[Sequence[Scope]] = []
        self.ended = 0
        self.changes: list[list[str] | None] = []
        self.addresses = self.made()

    def made(self, *, is_internal: bool = False) -> NodeAddresses:
        return NodeAddresses(key("a"), self.watch, self.changed, self.clock, is_internal=is_internal)

    def watch(self, scopes: Sequence[Scope], sink: OnDemandSink) -> "Ending":
        self.assertIs(sink, self.addresses)
        self.scopes.append(scopes)
        return Ending(self)

    def changed(self) -> None:
        self.changes.append(self.shown())

    def shown(self) -> list[str] | None:
        found = self.addresses.addresses
        return None if found is None else [str(one) for one in found]

    def lead(self, *values: Pod | Node | str) -> None:
        """Begin to lead, and know these."""
        self.addresses.lead()
        self.addresses.changed(batch(*values))
        self.addresses.complete()

    def then(self, *values: Pod | Node | str) -> list[str] | None:
        """Have these be there, or gone, long after; return what is shown."""
        self.clock.advance(BETWEEN_SECONDS)
        self.addresses.changed(batch(*values))
        return self.shown()


class Ending:
    """Ends a watch, once."""

    def __init__(self, case: FollowedCase) -> None:
        self.case = case

    def __call__(self) -> None:
        self.case.ended += 1


class FollowedTests(FollowedCase):
    """What is shown."""

    def test_two_replicas(self) -> None:
        """The addresses of both Nodes, sorted, each once; what is asked for are the pods of our namespace, and all Nodes whole."""
        self.lead(
            pod("a", "n1"),
            pod("b", "n2"),
            pod("c", "n2"),
            node("n1", "", "10.0.0.9"),
            node("n2", "203.0.113.1"),
        )
        self.assertEqual(self.shown(), ["10.0.0.9", "203.0.113.1"])
        self.assertEqual(self.changes, [self.shown()])
        self.assertEqual(self.scopes, [((PODS, "txingress"), (WHOLE_NODES, ""))])
        self.assertFalse(WHOLE_NODES.metadata_only)

    def test_nothing_before_all_is_known(self) -> None:
        """Part of the list is never shown, and nothing is told of it."""
        self.addresses.lead()
        self.addresses.changed(batch(pod("a", "n1"), node("n1", "", "10.0.0.1")))
        self.addresses.changed(batch(pod("b", "n2")))
        self.assertEqual((self.shown(), self.changes), (None, []))
        self.addresses.changed(batch(node("n2", "", "10.0.0.2")))
        self.addresses.complete()
        self.assertEqual(self.changes, [["10.0.0.1", "10.0.0.2"]])

    def test_followed(self) -> None:
        """Nodes that go, pods that move, end or cease to be ready, and other addresses: each is followed."""
        self.lead(pod("a", "n1"), pod("b", "n2"), node("n1", "", "10.0.0.1"), node("n2", "", "10.0.0.2"))
        self.assertEqual(self.then("n2"), ["10.0.0.1"])
        self.assertEqual(self.then(node("n2", "", "10.0.0.2")), ["10.0.0.1", "10.0.0.2"])
        self.assertEqual(self.then(pod("b", "n2", is_ready=False)), ["10.0.0.1"])
        self.assertEqual(self.then(pod("b", "n3"), node("n3", "", "10.0.0.3")), ["10.0.0.1", "10.0.0.3"])
        self.assertEqual(self.then(node("n3", "203.0.113.3", "10.0.0.3")), ["10.0.0.1", "203.0.113.3"])
        self.assertEqual(self.then("b"), ["10.0.0.1"])
        self.assertEqual(self.then(pod("b", "n1")), ["10.0.0.1"])

    def test_no_word_where_nothing_is_other(self) -> None:
        """What changes nothing of what is shown is not told."""
        self.lead(pod("a", "n1"), node("n1", "", "10.0.0.1"))
        self.then(node("n2", "", "10.0.0.2"), pod("x", "n2", frozenset()))
        self.then(node("n1", "", "10.0.0.1"), "n9")
        self.assertEqual(len(self.changes), 1)

    def test_internal(self) -> None:
        """Internal ones, where these are asked for."""
        self.addresses = self.made(is_internal=True)
        self.lead(pod("a", "n1"), node("n1", "203.0.113.1", "10.0.0.1"))
        self.assertEqual(self.shown(), ["10.0.0.1"])

    def test_none_ready(self) -> None:
        """Where no replica is ready, as while the first one starts, nothing is shown, or what was shown last."""
        self.lead(pod("a", "n1", is_ready=False), node("n1", "", "10.0.0.1"))
        self.assertEqual((self.shown(), self.changes), (None, []))
        self.assertEqual(self.then(pod("a", "n1")), ["10.0.0.1"])
        self.assertEqual(self.then(pod("a", "n1", is_ready=False)), ["10.0.0.1"])
        self.assertEqual(self.then("a", "n1"), ["10.0.0.1"])

    def test_removed_by_force(self) -> None:
        """Others are still known by our labels when our own pod is gone."""
        self.lead(pod("a", "n1"), pod("b", "n2"), node("n1", "", "10.0.0.1"), node("n2", "", "10.0.0.2"))
        self.assertEqual(self.then("a"), ["10.0.0.2"])

    def test_unknown_pod(self) -> None:
        """Without our own pod nobody is a replica, which the log says."""
        with capturedLogs() as events:
            self.lead(pod("b", "n1"), node("n1", "", "10.0.0.1"))
        (said,) = (str(formatEvent(event)) for event in events)
        self.assertIn("there is no pod txingress/a", said)
        self.assertEqual((self.shown(), self.changes), (None, []))
        self.assertEqual(self.then(pod("a", "n1")), ["10.0.0.1"])

    def test_hostname_only(self) -> None:
        """A Node without an IP address shows nothing, which the log says once as long as that is so."""
        self.lead(pod("a", "n1"), pod("b", "n2"), node("n1", "", "10.0.0.1"))
        with capturedLogs() as events:
            self.assertEqual(self.then(node("n2")), ["10.0.0.1"])
            self.then(node("n3"), pod("c", "n1"))
        (said,) = (str(formatEvent(event)) for event in events)
        self.assertIn("no ExternalIP and no InternalIP of Node n2,", said)
        self.then(node("n2", "", "10.0.0.2"))
        with capturedLogs() as events:
            self.then(node("n2"))
        self.assertEqual(len(events), 1)

    def test_unreadable(self) -> None:
        """An object that cannot be read counts as gone."""
        self.lead(pod("a", "n1"), pod("b", "n2"), node("n1", "", "10.0.0.1"), node("n2", "", "10.0.0.2"))
        self.clock.advance(BETWEEN_SECONDS)
        self.addresses.changed({(Kind.NODE, ObjectKey("", "n2")): Projection(None)})
        self.assertEqual(self.shown(), ["10.0.0.1"])

    def test_bound(self) -> None:
        """There is a bound."""
        pods = [pod("a", "n0"), *(pod(f"b{number}", f"n{number}") for number in range(1, 300))]
        nodes = [node(f"n{number}", "", f"10.0.{number // 250}.{number % 250}") for number in range(300)]
        self.lead(*pods, *nodes)
        self.assertEqual(len(self.addresses.addresses or ()), MOST_ADDRESSES)


class ManyTests(FollowedCase):
    """Thousands of pods and Nodes."""

    def test_what_is_no_replica(self) -> None:
        """Whatever becomes of other pods, and of Nodes without a replica, nobody looks at all of them."""
        count = 1000
        others = frozenset({("app", "other")})
        self.lead(
            *(pod(f"p{number}", f"n{number}") for number in range(count)),
            *(node(f"n{number}", f"10.0.{number >> 8}.{number & 255}") for number in range(count)),
            pod("a", "n0"),
        )
        self.clock.advance(BETWEEN_SECONDS)
        changes: tuple[Pod | Node | str, ...] = (
            pod("x", "n7", others),
            pod("x", "n8", others),
            pod("x", "n8", others, is_ready=False),
            "x",
            node("n1000", "10.1.0.1"),
            "n1000",
        )
        for one in changes:
            self.assertLess(calls(partial(self.addresses.changed, batch(one))), 100, one)
        self.assertGreater(calls(partial(self.addresses.changed, batch("p1"))), count)


class PaceTests(FollowedCase):
    """How soon changes are shown."""

    def test_first_at_once(self) -> None:
        """After a quiet time a change is shown at once, the next ones together a while later, as they are then."""
        self.lead(pod("a", "n1"), pod("b", "n2"), node("n1", "", "10.0.0.1"), node("n2", "", "10.0.0.2"))
        self.clock.advance(BETWEEN_SECONDS - 1)
        for is_ready in (False, True, False):
            self.addresses.changed(batch(pod("b", "n2", is_ready=is_ready)))
        self.assertEqual(len(self.changes), 1)
        self.clock.advance(1)
        self.assertEqual(self.changes[1:], [["10.0.0.1"]])
        self.addresses.changed(batch(pod("b", "n2")))
        self.assertEqual(len(self.changes), 2)
        self.clock.advance(BETWEEN_SECONDS)
        self.assertEqual(self.changes[2:], [["10.0.0.1", "10.0.0.2"]])
        self.assertEqual(self.clock.getDelayedCalls(), [])

    def test_back_again(self) -> None:
        """What is as it was shown when its time comes is not told."""
        self.lead(pod("a", "n1"), pod("b", "n2"), node("n1", "", "10.0.0.1"), node("n2", "", "10.0.0.2"))
        self.addresses.changed(batch("n2"))
        self.addresses.changed(batch(node("n2", "", "10.0.0.2")))
        self.clock.advance(BETWEEN_SECONDS)
        self.assertEqual(len(self.changes), 1)


class LeadingTests(FollowedCase):
    """Who leads watches, and nobody else."""

    def test_not_leading(self) -> None:
        """Who does not lead asks for nothing, and ceasing without having begun is harmless."""
        self.addresses.follow()
        self.assertEqual((self.scopes, self.ended), ([], 0))

    def test_end_and_again(self) -> None:
        """Who ceases knows nothing any more, and nothing comes later; who leads again begins anew."""
        self.lead(pod("a", "n1"), pod("b", "n2"), node("n1", "", "10.0.0.1"), node("n2", "", "10.0.0.2"))
        self.addresses.changed(batch("n2"))
        self.addresses.follow()
        self.assertEqual((self.ended, self.shown(), self.clock.getDelayedCalls()), (1, None, []))
        self.lead(pod("a", "n1"), node("n1", "", "10.0.0.7"))
        self.assertEqual(self.shown(), ["10.0.0.7"])
        self.addresses.follow()
        self.assertEqual(self.ended, 2)


_ADDRESSES = st.sampled_from(["", "10.0.0.1", "10.0.0.2", "2001:db8::1", "x"])
_STEPS = st.one_of(
    st.builds(pod, st.sampled_from("abc"), st.sampled_from(["n1", "n2", ""]), is_ready=st.booleans()),
    st.builds(node, st.sampled_from(["n1", "n2"]), _ADDRESSES, _ADDRESSES),
    st.sampled_from(["b", "c", "n1", "n2"]),
)


class HistoryTests(FollowedCase):
    """Random histories."""

    @given(st.lists(_STEPS, max_size=12))
    def test_as_if_it_were_new(self, steps: list[Pod | Node | str]) -> None:
        """Whatever happened, what is shown is what a new leader would show, or what was there last where that is nothing."""
        self.setUp()
        self.lead(pod("a", "n1"), node("n1", "", "10.0.0.9"))
        left: dict[ObjectId, Projection | None] = batch(pod("a", "n1"), node("n1", "", "10.0.0.9"))
        with capturedLogs():
            for step in steps:
                self.then(step)
                left |= batch(step)
            shown = self.addresses.addresses
            self.addresses.follow()
            self.addresses.lead()
            self.addresses.changed({one: change for one, change in left.items() if change is not None})
            self.addresses.complete()
        self.assertTrue(self.addresses.addresses is None or self.addresses.addresses == shown)
        self.assertTrue(shown and all(isinstance(one, Address) and one.ip for one in shown))

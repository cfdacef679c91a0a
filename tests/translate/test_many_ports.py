"""Services with hundreds of ports, each of which a path names."""

from collections.abc import Iterator
from itertools import product
from typing import TypeVar

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.backends import BackendReference
from ingress.model.many_ports import ManyPorts, Port
from ingress.model.objects import EndpointSlice, ObjectKey, Service, ServicePort, SlicePort
from ingress.model.state import ClusterState
from ingress.translate.backend_cache import REFRESHED_AT_ONCE
from ingress.translate.backends import backend_fault, resolve_backends
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from ingress.translate.self_check import differences
from tests.translate.following import Follower, batch

P = TypeVar("P", bound=Port)
WEB = ObjectKey("demo", "web")
MANY = 2 * REFRESHED_AT_ONCE


class Looked(ManyPorts[P]):
    """Counts how often somebody looks through it."""

    times = 0

    def __iter__(self) -> Iterator[P]:
        self.times += 1
        return super().__iter__()


def service(count: int) -> Service:
    """A Service of *count* ports."""
    return Service(WEB, ports=Looked(ServicePort(f"p{n}", 1 + n, f"t{n}") for n in range(count)))


def slice_of(count: int, *addresses: str) -> EndpointSlice:
    """Where these ports are."""
    ports = Looked(SlicePort(f"p{n}", 8000 + n) for n in range(count))
    return EndpointSlice(WEB, WEB, ports=ports, ready=addresses)


def ingress(count: int) -> Ingress:
    """An Ingress with a path for each port."""
    paths = (
        IngressPath(f"/{n}", "Prefix", IngressBackend("web", ServicePortReference(number=1 + n)))
        for n in range(count)
    )
    return Ingress(ObjectKey("demo", "web"), class_name="nginx", rules=(IngressRule("a", tuple(paths)),))


class FindingTests(SynchronousTestCase):
    """Which port a reference means."""

    def test_as_among_few(self) -> None:
        """Among many ports the same one is found as among few, by number, name or ``targetPort``, and the same faults."""
        few = (
            ServicePort("udp", 53, 53, protocol="UDP"),
            ServicePort("dns", 53, 5353),
            ServicePort("http", 80, "web"),
            ServicePort("other", 8080, "web"),
            ServicePort("web", 90, 80),
            ServicePort("", 70000, "far"),
            ServicePort("only-udp", 443, "tls", protocol="UDP"),
        )
        others = tuple(ServicePort(f"x{n}", 10_000 + n, f"y{n}") for n in range(30))
        named = tuple(SlicePort(port.name, 8000 + n, port.protocol) for n, port in enumerate(few))
        more = tuple(SlicePort(port.name, 9000) for port in others)
        wanted: tuple[int | str, ...] = (
            "",
            53,
            "udp",
            "dns",
            5353,
            80,
            "http",
            "web",
            8080,
            90,
            "far",
            70000,
            "tls",
            443,
            "none",
        )
        for number, is_slice_large in product(wanted, (False, True)):
            reference = BackendReference("demo", "web", number)
            found = []
            for ports in (few, few + others):
                one = EndpointSlice(WEB, WEB, ports=named + more * is_slice_large, ready=("10.0.0.1",))
                state = ClusterState(services={WEB: Service(WEB, ports=ports)}, slices={WEB: (one,)})
                fault = backend_fault(reference, state, TranslateOptions())
                state_of = resolve_backends([reference], state, TranslateOptions())[reference]
                found.append((fault and fault.reason, state_of.endpoints, state_of.is_broken))
            self.assertEqual(found[0], found[1], number)

    def test_looked_through_once(self) -> None:
        """Hundreds of references look through the ports of a Service, and of its slice, once for all of them."""
        one, web = slice_of(300, "10.0.0.1"), service(300)
        state = ClusterState(services={WEB: web}, slices={WEB: (one,)})
        references = [BackendReference("demo", "web", 1 + n) for n in range(300)]
        references += [BackendReference("demo", "web", f"t{n}") for n in range(300)]
        found = resolve_backends(references, state, TranslateOptions())
        self.assertTrue(all(each.endpoints for each in found.values()))
        for ports in (one.ports, web.ports):
            assert isinstance(ports, Looked)
            self.assertEqual(ports.times, 1)


class FollowingTests(SynchronousTestCase):
    """They are kept up to date without keeping anybody waiting."""

    def test_step_by_step(self) -> None:
        """When an endpoint comes, hundreds of backends are found again by a round, each by a step; a few at once."""
        for count in (REFRESHED_AT_ONCE, MANY):
            follower = Follower(
                TranslateOptions(), [ingress(count), service(count), slice_of(count, "10.0.0.1")]
            )
            follower.settle()
            changes = follower.store.changed(batch(slice_of(count, "10.0.0.1", "10.0.0.2")))
            at_once = follower.translation.refresh(changes.services, follower.store.state())
            self.assertEqual(at_once, 0 if count == MANY else count)
            self.assertEqual(follower.translation.is_marked, count == MANY)
            round_ = follower.translation.round(follower.store.state(), follower.now)
            steps = sum(1 for _ in round_)
            self.assertEqual(steps >= count, count == MANY)
            snapshot = follower.translation.snapshot
            assert snapshot is not None
            self.assertEqual(differences(snapshot, follower.expected()), ())

    def test_paths_of_one_object(self) -> None:
        """That each of thousands of paths is wrong is found out in several steps."""
        follower = Follower(TranslateOptions(), [service(1), slice_of(1, "10.0.0.1"), ingress(1)])
        follower.settle()
        follower.change(batch(ingress(2000)))
        told = follower.translation._problem_index
        steps = 0
        for _ in follower.translation.round(follower.store.state(), follower.now):
            steps += not told.of(("backends", ingress(1).owner.id))
        self.assertGreater(steps, 2000 // 200)
        snapshot = follower.settle()
        self.assertEqual(differences(snapshot, follower.expected()), ())
        self.assertEqual(len(snapshot.problems), 1999)

    def test_change_amid_a_round(self) -> None:
        """Endpoints that change in any step of a round, also while backends leave, are not forgotten."""
        steps = 0
        for steps in range(1, 1000, 7):
            follower = Follower(
                TranslateOptions(), [ingress(MANY), service(MANY), slice_of(MANY, "10.0.0.1")]
            )
            follower.settle()
            follower.change(batch(ingress(REFRESHED_AT_ONCE + 2)))
            follower.work(steps)
            if follower.round is None:
                break
            follower.change(batch(slice_of(MANY, "10.0.0.1", "10.0.0.2")))
            found = follower.settle()
            self.assertEqual(differences(found, follower.expected()), (), steps)
        self.assertGreater(steps, 50)

"""Services with hundreds of ports, each of which a path names."""

from collections.abc import Iterator
from itertools import product
from typing import TypeVar

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.annotations import AnnotationReader
from ingress.model.cluster.many_ports import ManyPorts, Port
from ingress.model.cluster.objects import EndpointSlice, ObjectKey, Service, ServicePort, SlicePort
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import finished
from ingress.model.upstream.backends import BackendReference
from ingress.translate.caches.backend_cache import WORK_AT_ONCE
from ingress.translate.endpoints.backends import backend_fault, backend_problems, resolve_backends
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    ServicePortReference,
)
from ingress.translate.readers.ingress.rules import read_ingress
from ingress.translate.self_check import differences
from tests.translate.following import Follower, batch

P = TypeVar("P", bound=Port)
WEB = ObjectKey("demo", "web")
MANY = 4 * WORK_AT_ONCE


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

    def test_some_at_a_time(self) -> None:
        """When endpoints come, those of hundreds of backends are found some at a time, the fewer the more each has, and without a round."""
        for addresses, most in ((2, WORK_AT_ONCE), (200, 1)):
            follower = Follower(
                TranslateOptions(), [ingress(MANY), service(MANY), slice_of(MANY, "10.0.0.1")]
            )
            follower.settle()
            coming = (f"10.0.1.{number}" for number in range(addresses))
            changes = follower.store.changed(batch(slice_of(MANY, *coming)))
            follower.translation.endpoints_changed(changes.services)
            found = []
            while follower.translation.awaits_endpoints:
                found.append(follower.translation.refresh(follower.store.state()))
            self.assertEqual((max(found), sum(found)), (most, MANY))
            self.assertFalse(follower.translation.is_marked)
            snapshot = follower.translation.snapshot
            assert snapshot is not None
            self.assertEqual(differences(snapshot, follower.expected()), ())

    def test_round_ends(self) -> None:
        """A round ends although the endpoints of all its backends change faster than it finds them."""
        follower = Follower(TranslateOptions(), [service(MANY), slice_of(MANY, "10.0.0.1")])
        follower.settle()
        follower.change(batch(ingress(MANY)))
        steps = 0
        follower.work(1)
        while follower.round is not None:
            steps += 1
            self.assertLess(steps, 10 * MANY)
            if not steps % (MANY // 2):
                follower.change(batch(slice_of(MANY, f"10.0.1.{steps % 250}")))
            follower.work(1)
        self.assertEqual(differences(follower.settle(), follower.expected()), ())

    def test_paths_of_one_object(self) -> None:
        """That each of thousands of paths is wrong is found out in several steps."""
        follower = Follower(TranslateOptions(), [service(1), slice_of(1, "10.0.0.1"), ingress(2000)])
        snapshot = follower.settle()
        self.assertEqual(len(snapshot.problems), 1999)
        parsed = finished(read_ingress(ingress(2000), AnnotationReader("test")))
        steps = backend_problems(parsed, follower.store.state(), TranslateOptions())
        self.assertEqual(sum(1 for _ in steps), 2000 // 200)

    def test_change_amid_a_round(self) -> None:
        """Endpoints that change in any step of a round, also while backends leave, are not forgotten."""
        steps = 0
        for steps in range(1, 1000, 7):
            follower = Follower(
                TranslateOptions(), [ingress(MANY), service(MANY), slice_of(MANY, "10.0.0.1")]
            )
            follower.settle()
            follower.change(batch(ingress(MANY // 2)))
            follower.work(steps)
            if follower.round is None:
                break
            follower.change(batch(slice_of(MANY, "10.0.0.1", "10.0.0.2")))
            found = follower.settle()
            self.assertEqual(differences(found, follower.expected()), (), steps)
        self.assertGreater(steps, 50)

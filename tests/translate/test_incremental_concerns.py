"""Incremental translation beside the full one: what each sort of change concerns."""

import math
from datetime import timedelta

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.redirects.https_redirect import HttpsRedirect
from ingress.model.cluster.objects import (
    Batch,
    ClusterObject,
    ObjectKey,
    Secret,
)
from ingress.model.cluster.problems import Reason
from ingress.model.upstream.backends import BackendReference
from ingress.translate.incremental import Translation
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    IngressClass,
    IngressRule,
    IngressTLS,
)
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from tests.fakes.certificates import issue, make_authority
from tests.translate.following import (
    BACKEND,
    ENDED,
    NOW,
    SERVICE,
    SLICE,
    SUITES,
    Follower,
    asking,
    batch,
    gone,
    insisting,
    tls_secret,
)
from tests.translate.golden import issued


class ConcernTests(SynchronousTestCase):
    """What a change concerns, and what it leaves as it is: the very same objects."""

    def start(self, *values: ClusterObject, options: TranslateOptions | None = None) -> Snapshot:
        self.follower = Follower(options or TranslateOptions(), list(values))
        return self.follower.settle()

    def change(self, changed: Batch) -> Snapshot:
        self.follower.change(changed)
        found = self.follower.settle()
        self.assertEqual(differences(found, self.follower.expected()), ())
        return found

    def steps(self, changed: Batch) -> int:
        """Count the steps that *changed* takes."""
        self.follower.change(changed)
        return sum(1 for _ in self.follower.translation.round(self.follower.store.state(), NOW))

    def test_catch_all_that_is_disabled(self) -> None:
        """An Ingress ceases to be served with its default backend, also for the next older one's sake, and is again without it."""
        first, second = asking("a", "a.test"), asking("b", "a.test", created="2026-01-02T00:00:00Z")
        self.start(SERVICE, SLICE, first, second, options=TranslateOptions(disable_catch_all=True))
        caught = evolve(first, default_backend=BACKEND)
        for value, owner, reasons in (
            (caught, "b", {Reason.CATCH_ALL_DISABLED}),
            (first, "a", {Reason.PATH_CONFLICT}),
        ):
            found = self.change(batch(value))
            self.assertEqual([route.owner.key.name for route in found.routes() if route.owner], [owner])
            self.assertEqual({one.reason for one in found.problems}, reasons)

    def test_one_host(self) -> None:
        """A changed Ingress costs its own steps, however many others there are."""
        counts = []
        for others in (2, 50):
            self.start(SERVICE, SLICE, *(asking(f"i{n}", f"h{n}.test") for n in range(others)))
            counts.append(self.steps(batch(asking("i1", "new.test"))))
        self.assertEqual(counts[0], counts[1])

    def test_hosts_shared(self) -> None:
        """Hosts of other Ingresses keep their routes."""
        before = self.start(SERVICE, SLICE, asking("a", "a.test"), asking("b", "b.test"))
        after = self.change(batch(asking("b", "c.test")))
        self.assertIs(after.table.get("a.test"), before.table.get("a.test"))
        self.assertIsNone(after.table.get("b.test"))

    def test_annotations_alone(self) -> None:
        """An Ingress that changes in what makes no difference changes no snapshot."""
        before = self.start(SERVICE, SLICE, asking("a", "a.test"))
        changed = evolve(
            asking("a", "a.test"), annotations={"nginx.ingress.kubernetes.io/ssl-redirect": "true"}
        )
        self.assertIs(self.change(batch(changed)), before)

    def test_certificate_for_the_default_backend(self) -> None:
        """The controller's own default backend insists on HTTPS for hosts that get a certificate."""
        options = TranslateOptions(default_backend_service=BackendReference("demo", "web", 80))
        self.start(SERVICE, SLICE, options=options)
        self.change(batch(tls_secret("a", "a.test"), asking("a", "a.test", secret="a")))

    def test_passthrough(self) -> None:
        """TLS of a host passes through, or not any more, with the Ingress that decides about it."""
        self.start(SERVICE, SLICE, options=TranslateOptions(ssl_passthrough=True))
        passing = {"nginx.ingress.kubernetes.io/ssl-passthrough": "true"}
        vault = evolve(asking("vault", "a.test"), annotations=passing)
        route = self.change(batch(vault)).table.find(b"a.test", b"/")
        assert route is not None
        self.assertEqual(route.passthrough, BackendReference("demo", "web", 80))
        after = self.change(batch(asking("older", "a.test", created="2025-01-01T00:00:00Z")))
        route = after.table.find(b"a.test", b"/")
        assert route is not None
        self.assertIsNone(route.passthrough)
        self.assertIn("vault", {problem.name for problem in after.problems})

    def test_endpoints(self) -> None:
        """Endpoints change backends and nothing else."""
        before = self.start(SERVICE, SLICE, asking("a", "a.test"))
        follower = self.follower
        follower.change(batch(evolve(SLICE, ready=("10.0.0.2",))))
        after = follower.translation.snapshot
        assert after is not None
        self.assertIsNot(after, before)
        self.assertIs(after.table, before.table)
        self.assertIs(after.problems, before.problems)
        self.assertFalse(follower.translation.is_marked)
        self.assertEqual(differences(after, follower.expected()), ())

    def test_service(self) -> None:
        """A Service changes the problems and backends of those who name it, and no route."""
        before = self.start(SLICE, asking("a", "a.test"), asking("b", "b.test", service="other"))
        self.assertEqual(len(before.problems), 2)
        after = self.change(batch(SERVICE))
        self.assertEqual([one.name for one in after.problems], ["b"])
        self.assertIs(after.table, before.table)

    def test_older_ingress_comes(self) -> None:
        """An older Ingress takes the host, and the younger one is told; it has it back when that is gone."""
        young, old = asking("young", "a.test"), asking("old", "a.test", created="2020-01-01T00:00:00Z")
        self.start(SERVICE, SLICE, young)
        taken = self.change(batch(old))
        self.assertEqual([route.owner for route in taken.table.routes], [old.owner])
        self.assertEqual([one.reason for one in taken.problems], [Reason.PATH_CONFLICT])
        back = self.change(gone(old))
        self.assertEqual([route.owner for route in back.table.routes], [young.owner])
        self.assertEqual(back.problems, ())

    def test_certificate_of_a_host(self) -> None:
        """A host that an entry names redirects with and without certificate, and insists only with one."""
        secret = tls_secret("tls", "a.test")
        entry = evolve(asking("a", "a.test"), tls=(IngressTLS(("a.test",), "tls"),))
        before = self.start(SERVICE, SLICE, entry, asking("b", "b.test"))
        self.assertEqual(insisting(before), ([True, False], [False, False]))
        self.assertEqual(insisting(self.change(batch(secret))), ([True, False], [True, False]))
        without = self.change(gone(secret))
        self.assertEqual(insisting(without), ([True, False], [False, False]))
        self.assertEqual([one.reason for one in without.problems], [Reason.SECRET_NOT_FOUND])

    def test_wildcard_certificate(self) -> None:
        """A wildcard certificate concerns all hosts below it, whoever asks for them."""
        self.start(SERVICE, SLICE, asking("w", "*.a.test", secret="tls"), asking("b", "b.a.test", "c.test"))
        after = self.change(batch(tls_secret("tls", "*.a.test")))
        redirected = [
            route.host
            for route in after.table.routes
            if any(isinstance(spec, HttpsRedirect) for spec in route.filters)
        ]
        self.assertEqual(redirected, ["*.a.test", "b.a.test"])

    def test_wildcard_route(self) -> None:
        """The routes of a wildcard and of all hosts go by the hosts that entries name and no rule does."""
        everywhere = evolve(asking("e", ""), rules=(IngressRule("", asking("e", "").rules[0].paths),))
        entry = evolve(asking("b"), default_backend=BACKEND, tls=(IngressTLS(("b.a.test",), "tls"),))
        self.start(SERVICE, SLICE, asking("w", "*.a.test"), everywhere, entry)
        after = self.change(batch(tls_secret("tls", "b.a.test")))
        self.assertEqual(insisting(after), ([True, True], [True, True]))
        without = self.change(gone(tls_secret("tls", "b.a.test")))
        self.assertEqual(insisting(without), ([True, True], [False, False]))
        nobody = self.change(gone(entry))
        self.assertEqual(insisting(nobody), ([False, False], [False, False]))

    def test_certificate_ends(self) -> None:
        """A certificate that has ended stays, with a problem; the host redirects on, and insists no more."""
        before = self.start(SERVICE, SLICE, asking("a", "a.test", secret="tls"), tls_secret("tls", "a.test"))
        self.assertEqual((insisting(before), before.problems), (([True], [True]), ()))
        self.follower.now = ENDED
        after = self.change({})
        self.assertIs(after.certificates, before.certificates)
        self.assertEqual(insisting(after), ([True], [False]))
        self.assertEqual([one.reason for one in after.problems], [Reason.CERTIFICATE_EXPIRED])
        self.follower.now = NOW - timedelta(days=40)
        early = self.change({})
        self.assertEqual(insisting(early), ([True], [False]))
        self.assertEqual([one.reason for one in early.problems], [Reason.CERTIFICATE_NOT_YET_VALID])
        self.follower.now = NOW
        self.assertEqual(insisting(self.change({})), ([True], [True]))

    def test_certificates_end_one_by_one(self) -> None:
        """Each certificate concerns its own hosts when its own time has come, and no others."""
        chain, key = issue(make_authority(), ("b.test",), not_before=NOW, not_after=ENDED + timedelta(days=1))
        later = Secret(ObjectKey("demo", "later"), "kubernetes.io/tls", {"tls.crt": chain, "tls.key": key})
        first = asking("a", "a.test", secret="tls"), tls_secret("tls", "a.test")
        before = self.start(SERVICE, SLICE, *first, asking("b", "b.test", secret="later"), later)
        self.follower.now = ENDED
        after = self.change({})
        self.assertEqual(insisting(after), ([True, True], [False, True]))
        self.assertIs(after.table.get("b.test"), before.table.get("b.test"))
        self.follower.now = ENDED + timedelta(days=2)
        self.assertEqual(insisting(self.change({})), ([True, True], [False, False]))

    def test_moments(self) -> None:
        """It is known how long it takes until time alone changes anything, whichever way the clock goes."""
        translation = Translation(TranslateOptions())
        self.assertIsNone(translation.seconds_to_next(NOW))
        self.start(SERVICE, SLICE, asking("a", "a.test"))
        self.assertIsNone(self.follower.translation.seconds_to_next(NOW))
        self.change(batch(asking("a", "a.test", secret="tls"), tls_secret("tls", "a.test")))
        seconds = self.follower.translation.seconds_to_next
        ends = NOW + timedelta(days=30)
        self.assertEqual(seconds(NOW), timedelta(days=30).total_seconds())
        self.assertEqual(seconds(ends - timedelta(seconds=1)), 1)
        self.assertEqual((seconds(ends), seconds(NOW - timedelta(days=40))), (0, 0))
        self.follower.now = ends
        self.change({})
        self.assertEqual((seconds(ends), seconds(NOW)), (math.inf, 0))
        self.change(gone(tls_secret("tls", "a.test")))
        self.assertIsNone(seconds(NOW))

    def test_owner_goes(self) -> None:
        """A host goes to the namespace of the next oldest Ingress with the oldest, and comes back with it."""
        ours = asking("ours", "a.test", secret="tls", created="2020-01-01T00:00:00Z")
        theirs = evolve(
            asking("theirs", "a.test", secret="tls"), key=ObjectKey("other", "theirs"), annotations=SUITES
        )
        their_secret = evolve(tls_secret("tls", "a.test"), key=ObjectKey("other", "tls"))
        self.start(SERVICE, SLICE, tls_secret("tls", "a.test"), their_secret, ours, theirs)
        for changed, owner, told in (
            ({}, "demo", {"theirs"}),
            (gone(ours), "other", set()),
            (batch(ours), "demo", {"theirs"}),
            (batch(evolve(ours, rules=ours.rules, created="2027-01-01T00:00:00Z")), "other", {"ours"}),
            (batch(evolve(ours, class_name="none")), "other", set()),
        ):
            found = self.change(changed)
            self.assertEqual(found.certificates.exact["a.test"][0].secret.namespace, owner)
            self.assertEqual(bool(found.handshake_settings.by_host["a.test"].ciphers), owner == "other")
            conflicts = [one for one in found.problems if one.reason is Reason.HOST_CONFLICT]
            self.assertEqual({one.name for one in conflicts}, told)

    def test_rule_comes(self) -> None:
        """A rule for a host that only entries named takes it from another namespace, and so does one for its wildcard."""
        entry = evolve(asking("e"), default_backend=BACKEND, tls=(IngressTLS(("b.a.test",), "tls"),))
        self.start(SERVICE, SLICE, entry, tls_secret("tls", "b.a.test"))
        for host in ("b.a.test", "*.a.test"):
            theirs = evolve(asking("theirs", host), key=ObjectKey("other", "theirs"))
            taken = self.change(batch(theirs))
            self.assertIsNone(taken.certificates.named("b.a.test"))
            self.assertEqual(
                [one.reason for one in taken.problems if one.name == "e"], [Reason.HOST_CONFLICT]
            )
            back = self.change(gone(theirs))
            self.assertEqual(list(back.certificates.exact), ["b.a.test"])

    def test_wildcard_of_another_namespace(self) -> None:
        """A wildcard certificate leaves out hosts of others, which is told once, as long as there are any."""
        wild = asking("w", "*.a.test", secret="tls")
        theirs = [evolve(asking(name, f"{name}.a.test"), key=ObjectKey("other", name)) for name in "xyz"]
        self.start(SERVICE, SLICE, wild, tls_secret("tls", "*.a.test"), asking("b", "b.a.test"))
        for changed in (batch(theirs[0]), batch(*theirs), gone(theirs[2])):
            found = self.change(changed)
            self.assertEqual(
                [one.name for one in found.problems if one.reason is Reason.HOST_CONFLICT], ["w"]
            )
            self.assertIsNone(found.certificates.named("x.a.test"))
            redirected = [
                route.host
                for route in found.table.routes
                if any(isinstance(spec, HttpsRedirect) for spec in route.filters)
            ]
            self.assertEqual(redirected, ["*.a.test", "b.a.test"])
        for one in theirs[:2]:
            found = self.change(gone(one))
        self.assertEqual([one for one in found.problems if one.reason is Reason.HOST_CONFLICT], [])
        self.assertIsNotNone(found.certificates.named("x.a.test"))

    def test_host_that_nobody_names_any_more(self) -> None:
        """A host whose rule goes is shown what its wildcard has again, also where no rule names that."""
        wild = evolve(asking("w"), default_backend=BACKEND, tls=(IngressTLS(("*.a.test",), "tls"),))
        theirs = evolve(asking("x", "x.a.test"), key=ObjectKey("other", "x"))
        self.start(SERVICE, SLICE, wild, tls_secret("tls", "*.a.test"))
        self.assertIsNone(self.change(batch(theirs)).certificates.named("x.a.test"))
        found = self.change(gone(theirs))
        self.assertIsNotNone(found.certificates.named("x.a.test"))
        self.assertEqual([one for one in found.problems if one.reason is Reason.HOST_CONFLICT], [])

    def test_steps_of_tls(self) -> None:
        """What changes TLS of one host costs the steps of that host, however many others there are."""
        counts = []
        for others in (2, 50):
            names = [f"h{number}" for number in range(others)]
            hosts = [asking(name, f"{name}.a.test", secret=name) for name in names]
            secrets = [tls_secret(name, f"{name}.a.test") for name in names]
            wild = asking("wild", "*.a.test", secret="wild"), tls_secret("wild", "*.a.test")
            everywhere = evolve(asking("e"), default_backend=BACKEND)
            self.start(SERVICE, SLICE, *hosts, *secrets, *wild, everywhere)
            stranger = evolve(asking("s", "h1.a.test", secret="h1"), key=ObjectKey("other", "s"))
            older = evolve(stranger, created="2020-01-01T00:00:00Z")
            renewed = Secret(
                ObjectKey("demo", "wild"), "kubernetes.io/tls", issued(("*.a.test",), NOW, ENDED)
            )
            changes = (
                gone(secrets[1]),
                batch(stranger),
                batch(older),
                gone(older),
                gone(hosts[1]),
                batch(renewed),
            )
            counts.append([self.steps(changed) for changed in changes])
        self.assertEqual(counts[0], counts[1])
        self.assertLess(max(counts[0]), 15)

    def test_certificate_conflict(self) -> None:
        """The older Ingress brings the certificate of a host, whichever came first."""
        young = [asking(f"y{number}", "a.test", secret="tls") for number in range(8)]
        old = asking("old", "a.test", secret="wild", created="2020-01-01T00:00:00Z")
        both = tls_secret("tls", "a.test"), tls_secret("wild", "*.test")
        for first, then in ((young, [old]), ([old], young)):
            self.start(SERVICE, SLICE, *both, *first)
            after = self.change(batch(*then))
            self.assertEqual(after.certificates.exact["a.test"][0].secret.name, "wild")

    def test_default_certificate(self) -> None:
        """The default certificate is that of every entry without Secret, and it may come late."""
        options = TranslateOptions(default_ssl_certificate=ObjectKey("demo", "tls"))
        entry = evolve(asking("a", "a.test"), tls=(IngressTLS(("a.test",), ""),))
        before = self.start(SERVICE, SLICE, entry, options=options)
        self.assertEqual([one.reason for one in before.problems], [Reason.SECRET_NOT_FOUND])
        after = self.change(batch(tls_secret("tls", "other.test")))
        self.assertEqual(list(after.certificates.exact), ["a.test"])
        self.assertEqual(self.follower.translation.certificates, 1)

    def test_default_certificate_of_hosts_left_out(self) -> None:
        """A host that spec.tls leaves out has the default certificate while that covers it, whenever it comes and goes."""
        options = TranslateOptions(default_ssl_certificate=ObjectKey("demo", "default"))
        entry = evolve(asking("a", "a.test"), tls=(IngressTLS(("b.test",), "own"),))
        before = self.start(SERVICE, SLICE, entry, tls_secret("own", "b.test"), options=options)
        self.assertEqual(list(before.certificates.exact), ["b.test"])
        after = self.change(batch(tls_secret("default", "a.test")))
        self.assertEqual(set(after.certificates.exact), {"a.test", "b.test"})
        after = self.change(gone(tls_secret("default", "a.test")))
        self.assertEqual(list(after.certificates.exact), ["b.test"])

    def test_default_certificate_of_others(self) -> None:
        """A host whose Secret is missing insists while the default certificate covers it, and is valid."""
        options = TranslateOptions(default_ssl_certificate=ObjectKey("demo", "default"))
        entry = evolve(asking("a", "a.test"), tls=(IngressTLS(("a.test",), "gone"),))
        self.start(SERVICE, SLICE, entry, options=options)
        self.assertEqual(insisting(self.change(batch(tls_secret("default", "a.test")))), ([True], [True]))
        self.follower.now = ENDED
        self.assertEqual(insisting(self.change({})), ([True], [False]))
        self.follower.now = NOW
        self.assertEqual(insisting(self.change(gone(tls_secret("default", "a.test")))), ([True], [False]))

    def test_blocked_hosts(self) -> None:
        """A host without any usable rule is blocked as soon as it would fall to others, and while it would."""
        nothing = evolve(asking("n", "n.a.test"), rules=(IngressRule("n.a.test", None),))
        wildcard = asking("w", "*.a.test")
        before = self.start(SERVICE, SLICE, nothing)
        self.assertEqual(before.table.routes, ())
        self.assertEqual(
            [route.host for route in self.change(batch(wildcard)).table.routes], ["*.a.test", "n.a.test"]
        )
        self.assertEqual(self.change(gone(wildcard)).table.routes, ())

    def test_class(self) -> None:
        """An IngressClass that comes and goes takes its Ingresses along."""
        self.start(SERVICE, SLICE, asking("a", "a.test"))
        foreign = IngressClass(ObjectKey("", "nginx"), "example.com/other")
        self.assertEqual(self.change(batch(foreign)).table.routes, ())
        self.assertEqual(len(self.change(gone(foreign)).table.routes), 1)

    def test_default_backend(self) -> None:
        """The default backend of the controller is there without any Ingress, and its fault is told."""
        options = TranslateOptions(default_backend_service=BackendReference("demo", "web", 80))
        before = self.start(options=options)
        self.assertEqual(([route.host for route in before.table.routes], len(before.problems)), ([""], 1))
        self.assertEqual(self.change(batch(SERVICE)).problems, ())

    def test_unused_backends(self) -> None:
        """A backend is there as long as a route names it."""
        first, second = asking("a", "a.test"), asking("b", "b.test")
        self.start(SERVICE, SLICE, first, second)
        self.assertEqual(len(self.change(gone(first)).backends), 1)
        self.assertEqual(len(self.change(gone(second)).backends), 0)
        self.assertEqual(len(self.change(batch(first)).backends), 1)

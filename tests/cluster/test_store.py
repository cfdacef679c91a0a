"""Tests for ``ingress.cluster.store``."""

from datetime import UTC, datetime, timedelta

from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.store import Changes, Store
from ingress.model.cluster.object_meta import Address, ObjectMeta
from ingress.model.cluster.objects import (
    EndpointSlice,
    Kind,
    ObjectId,
    ObjectKey,
    Projection,
    Secret,
    Service,
)
from ingress.model.cluster.problems import Problem, Reason
from ingress.translate.readers.ingress.objects import Ingress, IngressClass
from tests.fakes.certificates import issue, make_authority

NOW = datetime.now(UTC)
WEB = ObjectKey("shop", "web")
INGRESS: ObjectId = (Kind.INGRESS, WEB)
SECRET: ObjectId = (Kind.SECRET, WEB)
PROBLEM = Problem(Kind.INGRESS, "shop", "web", Reason.MALFORMED_OBJECT, "no", "spec")


class StoreTests(SynchronousTestCase):
    """Keeping objects."""

    def setUp(self) -> None:
        self.store = Store()

    def put_slice(self, name: str, service: str) -> Changes:
        key = ObjectKey("shop", name)
        value = EndpointSlice(key, ObjectKey("shop", service))
        return self.store.changed({(Kind.ENDPOINT_SLICE, key): Projection(value)})

    def slices(self) -> dict[str, list[str]]:
        found = self.store.state().slices
        return {service.name: [one.key.name for one in some] for service, some in found.items()}

    def test_every_kind(self) -> None:
        """Objects of all kinds are found in the state under their keys."""
        in_use = IngressClass(ObjectKey("", "nginx"), "k8s.io/ingress-nginx")
        self.store.changed(
            {
                INGRESS: Projection(Ingress(WEB)),
                (Kind.INGRESS_CLASS, in_use.key): Projection(in_use),
                (Kind.SERVICE, WEB): Projection(Service(WEB)),
                SECRET: Projection(Secret(WEB, "Opaque", {})),
            }
        )
        self.put_slice("web-1", "web")
        state = self.store.state()
        self.assertEqual(state.of(Kind.INGRESS), {WEB: Ingress(WEB)})
        self.assertEqual(state.of(Kind.INGRESS_CLASS), {in_use.key: in_use})
        self.assertEqual(state.services, {WEB: Service(WEB)})
        self.assertEqual(state.secrets, {WEB: Secret(WEB, "Opaque", {})})
        self.assertEqual(self.slices(), {"web": ["web-1"]})
        self.assertEqual(state.problems, ())

    def test_what_became_of_objects(self) -> None:
        """It is told of an object whether it is new, gone, or another one."""
        self.store.changed({INGRESS: Projection(Ingress(INGRESS[1]))})
        changes = self.store.changed({INGRESS: Projection(Ingress(INGRESS[1], class_name="x"))})
        self.assertEqual(
            (changes.objects, changes.came, changes.went), ((INGRESS,), frozenset(), frozenset())
        )
        changes = self.store.changed({INGRESS: None})
        self.assertEqual((changes.came, changes.went), (frozenset(), frozenset({INGRESS})))

    def test_equal_projections_change_nothing(self) -> None:
        """What is equal to what is known is no change; a deletion of nothing is none either."""
        batch = {INGRESS: Projection(Ingress(WEB), (PROBLEM,)), (Kind.SERVICE, WEB): None}
        self.assertEqual(self.store.changed(batch), Changes((INGRESS,), came=frozenset({INGRESS})))
        self.assertEqual(self.store.changed(batch), Changes())

    def test_only_problems_differ(self) -> None:
        """Other problems are a change even when the value is the same."""
        self.store.changed({INGRESS: Projection(Ingress(WEB), (PROBLEM,))})
        self.assertEqual(self.store.state().problems, (PROBLEM,))
        self.assertEqual(self.store.changed({INGRESS: Projection(Ingress(WEB))}).objects, (INGRESS,))
        self.assertEqual(self.store.state().problems, ())

    def test_deletion(self) -> None:
        """A deleted object takes its problems along."""
        self.store.changed({INGRESS: Projection(Ingress(WEB), (PROBLEM,))})
        self.assertEqual(self.store.changed({INGRESS: None}).objects, (INGRESS,))
        self.assertEqual(self.store.state().of(Kind.INGRESS), {})
        self.assertEqual(self.store.state().problems, ())

    def test_unusable_object(self) -> None:
        """An object that cannot be read is absent, but its problems are there."""
        self.store.changed({INGRESS: Projection(Ingress(WEB))})
        self.assertEqual(self.store.changed({INGRESS: Projection(None, (PROBLEM,))}).objects, (INGRESS,))
        self.assertEqual(self.store.state().of(Kind.INGRESS), {})
        self.assertEqual(self.store.state().problems, (PROBLEM,))

    def test_manifest_problems(self) -> None:
        """A manifest file has problems and no value."""
        problem = Problem(Kind.MANIFEST, "", "a.yaml", Reason.MALFORMED_MANIFEST, "not YAML")
        manifest: ObjectId = (Kind.MANIFEST, ObjectKey("", "a.yaml"))
        self.assertEqual(self.store.changed({manifest: Projection(None, (problem,))}).objects, (manifest,))
        self.assertEqual(self.store.state().problems, (problem,))

    def test_problems_are_in_order(self) -> None:
        """The order of problems does not depend on the order in which objects came."""
        first = Problem(Kind.INGRESS, "a", "a", Reason.INVALID_HOST, "no")
        self.store.changed({INGRESS: Projection(Ingress(WEB), (PROBLEM,))})
        self.store.changed({(Kind.INGRESS, ObjectKey("a", "a")): Projection(None, (first,))})
        self.assertEqual(self.store.state().problems, (first, PROBLEM))

    def test_slices_by_service(self) -> None:
        """Slices are found by their Service, sorted by name, and follow it when it changes."""
        self.put_slice("web-2", "web")
        self.put_slice("web-1", "web")
        self.assertEqual(self.slices(), {"web": ["web-1", "web-2"]})
        self.put_slice("web-2", "api")
        self.assertEqual(self.slices(), {"web": ["web-1"], "api": ["web-2"]})
        self.store.changed({(Kind.ENDPOINT_SLICE, ObjectKey("shop", "web-1")): None})
        self.assertEqual(self.slices(), {"api": ["web-2"]})
        self.assertEqual(self.put_slice("web-2", "api"), Changes())

    def test_services_with_other_slices(self) -> None:
        """A change of an EndpointSlice names the Service that it belonged to and the one that it belongs to."""
        web, api = ObjectKey("shop", "web"), ObjectKey("shop", "api")
        self.assertEqual(self.put_slice("any-1", "web"), Changes(services=frozenset({web})))
        self.assertEqual(self.put_slice("any-1", "api"), Changes(services=frozenset({web, api})))
        gone: ObjectId = (Kind.ENDPOINT_SLICE, ObjectKey("shop", "any-1"))
        self.assertEqual(self.store.changed({gone: None}), Changes(services=frozenset({api})))

    def test_unreadable_slice(self) -> None:
        """An EndpointSlice is among the changed objects when it brings up problems, or stops to."""
        self.put_slice("any-1", "web")
        object_id: ObjectId = (Kind.ENDPOINT_SLICE, ObjectKey("shop", "any-1"))
        changes = self.store.changed({object_id: Projection(None, (PROBLEM,))})
        self.assertEqual(changes, Changes((object_id,), frozenset({ObjectKey("shop", "web")})))
        self.assertEqual(self.put_slice("any-1", "web"), changes)


class LastGoodSecretTests(SynchronousTestCase):
    """Secrets that become bad."""

    def setUp(self) -> None:
        self.store = Store()
        self.authority = make_authority("Store tests")
        self.good = self.secret(["shop.example"])
        self.store.changed({SECRET: Projection(self.good)})
        self.bad = Secret(WEB, "kubernetes.io/tls", {"tls.crt": b"no", "tls.key": b"no"})

    def secret(self, names: list[str]) -> Secret:
        chain, key = issue(self.authority, names)
        return Secret(WEB, "kubernetes.io/tls", {"tls.crt": chain, "tls.key": key})

    def assertHeld(self) -> Problem:
        """The good version is handed on, with one problem."""
        state = self.store.state()
        self.assertEqual(state.secrets, {WEB: self.good})
        self.assertEqual(len(state.problems), 1)
        return state.problems[0]

    def assertIs_(self, secret: Secret) -> None:
        """This version is handed on, without problems."""
        state = self.store.state()
        self.assertEqual(state.secrets, {WEB: secret})
        self.assertEqual(state.problems, ())

    def test_bad_after_good(self) -> None:
        """The good version stays, with a problem that says why the new one is refused."""
        self.assertEqual(self.store.changed({SECRET: Projection(self.bad)}).objects, (SECRET,))
        problem = self.assertHeld()
        self.assertEqual((problem.kind, problem.namespace, problem.name), (Kind.SECRET, "shop", "web"))
        self.assertEqual(problem.reason, Reason.INVALID_CERTIFICATE)
        self.assertIn("last good version", problem.message)

    def test_bad_again(self) -> None:
        """The same bad version is no change, another bad one still leaves the good version in use."""
        self.store.changed({SECRET: Projection(self.bad)})
        self.assertEqual(self.store.changed({SECRET: Projection(self.bad)}), Changes())
        other = Secret(WEB, "kubernetes.io/tls", {"tls.crt": b"no", "tls.key": b"nor this"})
        self.store.changed({SECRET: Projection(other)})
        self.assertHeld()

    def test_unreadable_after_good(self) -> None:
        """A Secret that cannot even be projected counts as bad, and its own problem is kept."""
        own = Problem(Kind.SECRET, "shop", "web", Reason.MALFORMED_OBJECT, "not base64", "data")
        self.store.changed({SECRET: Projection(None, (own,))})
        state = self.store.state()
        self.assertEqual(state.secrets, {WEB: self.good})
        self.assertIn(own, state.problems)

    def test_every_kind_of_bad(self) -> None:
        """The good version stays whatever is wrong, and the problem says what it is."""
        chain, key = self.good.content["tls.crt"], self.good.content["tls.key"]
        _, other_key = issue(self.authority, ["shop.example"])
        for type_, content, word in (
            ("kubernetes.io/tls", {"tls.crt": b"no PEM", "tls.key": key}, "no PEM certificates"),
            ("kubernetes.io/tls", {"tls.crt": chain, "tls.key": other_key}, "does not belong"),
            ("kubernetes.io/tls", {"tls.crt": chain}, "tls.key: missing"),
            ("kubernetes.io/basic-auth", {"tls.crt": chain, "tls.key": key}, "the Secret's type"),
        ):
            self.store.changed({SECRET: Projection(Secret(WEB, type_, content))})
            self.assertIn(word, self.assertHeld().message)

    def test_good_again(self) -> None:
        """A new good version ends it, and so does the old one."""
        for secret in (self.secret(["other.example"]), self.good):
            self.store.changed({SECRET: Projection(self.good)})
            self.store.changed({SECRET: Projection(self.bad)})
            self.assertHeld()
            self.assertEqual(self.store.changed({SECRET: Projection(secret)}).objects, (SECRET,))
            self.assertIs_(secret)

    def test_deleted(self) -> None:
        """A deleted Secret is gone, good version and all; a bad one after that is taken as it is."""
        self.store.changed({SECRET: Projection(self.bad)})
        self.store.changed({SECRET: None})
        self.assertEqual(self.store.state().secrets, {})
        self.assertEqual(self.store.state().problems, ())
        self.store.changed({SECRET: Projection(self.bad)})
        self.assertIs_(self.bad)

    def test_expired(self) -> None:
        """Time makes no version bad: replicas that looked at different times come to the same."""
        begins, ended = NOW - timedelta(days=9), NOW - timedelta(days=1)
        pair = issue(self.authority, ["shop.example"], not_before=begins, not_after=ended)
        expired = Secret(WEB, "kubernetes.io/tls", dict(zip(("tls.crt", "tls.key"), pair, strict=True)))
        self.store.changed({SECRET: Projection(expired)})
        self.assertIs_(expired)
        self.store.changed({SECRET: Projection(self.bad)})
        self.good = expired
        self.assertHeld()


class ObjectMetaTests(SynchronousTestCase):
    """What objects are and have beside their values."""

    def setUp(self) -> None:
        self.store = Store()

    def put(self, meta: ObjectMeta, object_id: ObjectId = INGRESS, *problems: Problem) -> Changes:
        value = Ingress(WEB) if object_id == INGRESS else None
        return self.store.changed({object_id: Projection(value, problems, meta)})

    def test_no_object_changes(self) -> None:
        """A change of the metadata alone is no change of the object, so nothing is translated."""
        self.put(ObjectMeta("u"))
        changes = self.put(ObjectMeta("u", (Address("192.0.2.1"),)))
        self.assertEqual(changes, Changes(metas=(INGRESS,)))
        self.assertEqual(self.store.state().metas[INGRESS].addresses, (Address("192.0.2.1"),))

    def test_no_change(self) -> None:
        """The same standing again is no change at all."""
        self.put(ObjectMeta("u"))
        self.assertEqual(self.put(ObjectMeta("u")), Changes())

    def test_gone(self) -> None:
        """The standing goes with the object."""
        self.put(ObjectMeta("u"))
        self.assertEqual(self.store.changed({INGRESS: None}).metas, (INGRESS,))
        self.assertEqual(self.store.state().metas, {})

    def test_nothing_to_keep(self) -> None:
        """Objects of manifests have no standing, and EndpointSlices are kept with a problem alone."""
        self.put(ObjectMeta())
        a_slice: ObjectId = (Kind.ENDPOINT_SLICE, ObjectKey("shop", "web-1"))
        self.put(ObjectMeta("u"), a_slice)
        self.assertEqual(self.store.state().metas, {})
        self.put(ObjectMeta("u"), a_slice, PROBLEM)
        self.assertEqual(self.store.state().metas, {a_slice: ObjectMeta("u")})
        self.put(ObjectMeta("u"), a_slice)
        self.assertEqual(self.store.state().metas, {})

    def test_of_a_secret_that_became_bad(self) -> None:
        """A Secret whose last good version stays in use has the metadata of its present version."""
        good = Secret(
            WEB,
            "kubernetes.io/tls",
            dict(zip(("tls.crt", "tls.key"), issue(make_authority(), ["a.test"]), strict=True)),
        )
        self.store.changed({SECRET: Projection(good, (), ObjectMeta("old"))})
        self.store.changed({SECRET: Projection(Secret(WEB, "kubernetes.io/tls", {}), (), ObjectMeta("new"))})
        state = self.store.state()
        self.assertEqual((state.secrets[WEB], state.metas[SECRET]), (good, ObjectMeta("new")))

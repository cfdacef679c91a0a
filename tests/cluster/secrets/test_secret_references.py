"""Tests for ``ingress.cluster.secrets.secret_references``."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.secrets.secret_references import NeedChanges, ObjectReferences
from ingress.model.cluster.objects import Kind, ObjectId, ObjectKey, Projection
from ingress.model.cluster.secrets import TLS_KEYS, UPSTREAM_TLS_KEYS
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, IngressBackend, IngressClass, IngressTLS

NOTHING = NeedChanges({}, set(), set())


def key(name: str, namespace: str = "shop") -> ObjectKey:
    return ObjectKey(namespace, name)


def ingress(name: str, *secrets: str, class_name: str | None = "nginx", host: str = "") -> Ingress:
    tls = tuple(IngressTLS((host,), secret) for secret in secrets)
    return Ingress(key(name), class_name=class_name, tls=tls)


def batch(*objects: Ingress | IngressClass) -> dict[ObjectId, Projection | None]:
    return {
        (Kind.INGRESS if isinstance(one, Ingress) else Kind.INGRESS_CLASS, one.key): Projection(one)
        for one in objects
    }


def without(name: str) -> dict[ObjectId, Projection | None]:
    return {(Kind.INGRESS, key(name)): None}


class ObjectReferencesTests(SynchronousTestCase):
    """Which Secrets are needed."""

    def setUp(self) -> None:
        self.references = ObjectReferences(TranslateOptions())

    def names(self) -> set[str]:
        return {secret.name for secret in self.references.needed()}

    def test_nothing_is_judged_before_the_beginning(self) -> None:
        """Until all Ingresses and classes are known, nothing is needed; then everything is told at once."""
        self.assertEqual(self.references.changed(batch(ingress("a", "t1"), ingress("b", "t2"))), NOTHING)
        self.assertEqual(self.references.keys_of(key("t1")), frozenset())
        begun = self.references.begin()
        self.assertEqual(begun, NeedChanges({key("t1"): TLS_KEYS, key("t2"): TLS_KEYS}, set(), set()))
        self.assertEqual((len(self.references), self.names()), (2, {"t1", "t2"}))

    def test_secrets_of_upstreams(self) -> None:
        """A Secret for TLS to backends is needed with its authority; one for both uses with all keys of both."""
        prefix = "nginx.ingress.kubernetes.io"
        over_tls = {f"{prefix}/backend-protocol": "HTTPS", f"{prefix}/proxy-ssl-secret": "shop/t1"}
        self.references.begin()
        asking = evolve(ingress("a", "t2"), annotations=over_tls)
        changes = self.references.changed(batch(asking))
        self.assertEqual(changes.needed, {key("t1"): UPSTREAM_TLS_KEYS, key("t2"): TLS_KEYS})
        changes = self.references.changed(batch(evolve(ingress("a", "t1"), annotations=over_tls)))
        self.assertEqual((changes.needed, changes.dropped), ({}, {key("t2")}))
        self.assertEqual(self.references.keys_of(key("t1")), UPSTREAM_TLS_KEYS)
        self.assertEqual(self.references.changed(batch(ingress("a", "t1"))).needed, {key("t1"): TLS_KEYS})

    def test_others_ingresses(self) -> None:
        """An Ingress of another class needs nothing of us, by field as by annotation."""
        annotated = Ingress(
            key("c"), annotations={"kubernetes.io/ingress.class": "other"}, tls=(IngressTLS((), "t"),)
        )
        self.references.changed(
            batch(ingress("a", "t", class_name="other"), ingress("b", "t", class_name=None), annotated)
        )
        self.assertEqual(self.references.begin(), NOTHING)

    def test_catch_all_that_is_disabled(self) -> None:
        """An Ingress that is not served for its default backend needs nothing, and one like it without that does."""
        self.references = ObjectReferences(TranslateOptions(disable_catch_all=True))
        plain = ingress("a", "t1")
        self.references.changed(
            batch(plain, evolve(ingress("b", "t2"), default_backend=IngressBackend("web")))
        )
        self.references.begin()
        self.assertEqual(self.names(), {"t1"})
        caught = evolve(plain, default_backend=IngressBackend("web"))
        self.assertEqual(self.references.changed(batch(caught)), NeedChanges({}, {key("t1")}, set()))

    def test_changes_of_a_class(self) -> None:
        """A class that comes to be ours, or ceases to be, brings or takes what its Ingresses need."""
        self.references.changed(batch(ingress("a", "t1", class_name="edge"), ingress("b", "t2")))
        self.references.begin()
        self.assertEqual(self.names(), {"t2"})
        edge = IngressClass(ObjectKey("", "edge"), "k8s.io/ingress-nginx")
        self.assertEqual(
            self.references.changed(batch(edge)), NeedChanges({key("t1"): TLS_KEYS}, set(), set())
        )
        gone: dict[ObjectId, Projection | None] = {(Kind.INGRESS_CLASS, edge.key): None}
        self.assertEqual(self.references.changed(gone), NeedChanges({}, {key("t1")}, set()))

    def test_unneeded_class_changes(self) -> None:
        """The change of a class that decides nothing touches nothing."""
        self.references.changed(batch(ingress("a", "t")))
        self.references.begin()
        ours = IngressClass(ObjectKey("", "nginx"), "k8s.io/ingress-nginx")
        self.assertEqual(self.references.changed(batch(ours)), NOTHING)

    def test_two_users(self) -> None:
        """A Secret is needed until the last of those who refer to it is gone."""
        self.references.begin()
        self.references.changed(batch(ingress("a", "t"), ingress("b", "t")))
        self.assertEqual(self.references.changed(without("a")), NeedChanges({}, set(), {key("t")}))
        self.assertEqual(self.references.changed(without("b")), NeedChanges({}, {key("t")}, set()))
        self.assertEqual(self.references.changed(without("b")), NOTHING)
        self.assertEqual(len(self.references), 0)

    def test_many_users(self) -> None:
        """However many refer to one Secret, what is needed of it is found out twice: before the change and after."""
        asked = []

        class Asked(ObjectReferences):
            """Tells what it is asked for."""

            def keys_of(self, secret: ObjectKey) -> frozenset[str]:
                asked.append(secret)
                return super().keys_of(secret)

        references = Asked(TranslateOptions())
        references.changed(batch(*(ingress(f"i{number}", "t") for number in range(500))))
        references.begin()
        self.assertEqual(asked, [key("t")] * 2)

    def test_touched(self) -> None:
        """A Secret is touched when an Ingress that refers to it changes, and not when it comes unchanged."""
        self.references.begin()
        self.references.changed(batch(ingress("a", "t")))
        self.assertEqual(self.references.changed(batch(ingress("a", "t"))), NOTHING)
        changed = self.references.changed(batch(ingress("a", "t", host="a.example")))
        self.assertEqual(changed, NeedChanges({}, set(), {key("t")}))

    def test_moves(self) -> None:
        """An Ingress that refers to another Secret than before drops the one and needs the other."""
        self.references.begin()
        self.references.changed(batch(ingress("a", "t1")))
        moved = self.references.changed(batch(ingress("a", "t2")))
        self.assertEqual(moved, NeedChanges({key("t2"): TLS_KEYS}, {key("t1")}, set()))

    def test_ingress_that_cannot_be_read(self) -> None:
        """An Ingress without value needs nothing."""
        self.references.begin()
        self.references.changed(batch(ingress("a", "t")))
        unreadable: dict[ObjectId, Projection | None] = {(Kind.INGRESS, key("a")): Projection(None)}
        self.assertEqual(self.references.changed(unreadable).dropped, {key("t")})

    def test_operator(self) -> None:
        """What the operator refers to is needed always, in whatever namespace."""
        default = key("wildcard", "web")
        self.references = ObjectReferences(TranslateOptions(default_ssl_certificate=default))
        self.assertEqual(self.references.begin(), NeedChanges({default: TLS_KEYS}, set(), set()))

    def test_impossible_names(self) -> None:
        """A name that no Secret can have is needed by nobody: it must not become part of a path."""
        self.references.begin()
        names = ("..", "../../nodes", "a/b", "A", "", "x" * 254)
        self.assertEqual(self.references.changed(batch(ingress("a", *names))), NOTHING)

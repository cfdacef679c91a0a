"""Tests for ``ingress.cluster.secrets.secret_references``."""

from random import Random

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.secrets.secret_references import JUDGED_AT_ONCE, NeedChanges, ObjectReferences
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
        """However many refer to one Secret, what is needed of it is found out twice for a call: before the change and after."""
        asked = []

        class Asked(ObjectReferences):
            """Tells what it is asked for."""

            def keys_of(self, secret: ObjectKey) -> frozenset[str]:
                asked.append(secret)
                return super().keys_of(secret)

        references = Asked(TranslateOptions())
        references.changed(batch(*(ingress(f"i{number}", "t") for number in range(JUDGED_AT_ONCE - 1))))
        references.begin()
        self.assertFalse(references.is_judging)
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


class VeryManyTests(SynchronousTestCase):
    """Objects that refer to very many Secrets, which are found out some in a call."""

    def setUp(self) -> None:
        self.references = ObjectReferences(TranslateOptions())

    def of_many(self, name: str, *letters: str) -> Ingress:
        """Return an Ingress that refers to more Secrets of each letter than are judged in a call."""
        return ingress(
            name, *(f"{letter}{number}" for letter in letters for number in range(2 * JUDGED_AT_ONCE))
        )

    def finish(self) -> list[NeedChanges]:
        """Judge who waits; return what each call found."""
        found = []
        while self.references.is_judging:
            found.append(self.references.judge_some())
        return found

    def letters(self) -> dict[str, int]:
        """Return of how many Secrets of each letter all keys are needed."""
        counts: dict[str, int] = {}
        for secret in self.references.needed():
            self.assertEqual(self.references.keys_of(secret), TLS_KEYS)
            counts[secret.name[0]] = counts.get(secret.name[0], 0) + 1
        return counts

    def test_one_object(self) -> None:
        """What one object needs is found in several calls, each Secret in one, and so is what nobody needs when it is gone."""
        self.references.begin()
        count = 2 * JUDGED_AT_ONCE
        changes = [self.references.changed(batch(self.of_many("a", "x"))), *self.finish()]
        self.assertGreater(len(changes), 2)
        self.assertLessEqual(max(len(one.needed) for one in changes), JUDGED_AT_ONCE)
        self.assertEqual(sum(len(one.needed) for one in changes), count)
        self.assertEqual(self.letters(), {"x": count})
        changes = [self.references.changed(without("a")), *self.finish()]
        self.assertLessEqual(max(len(one.dropped) for one in changes), JUDGED_AT_ONCE)
        self.assertEqual(sum(len(one.dropped) for one in changes), count)
        self.assertEqual((self.letters(), sum(len(one.needed) for one in changes)), ({}, 0))

    def test_beginning(self) -> None:
        """Of those that are there at the beginning some are judged in a call, too, unless all are asked for at once."""
        many = batch(*(ingress(f"i{number}", f"x{number}") for number in range(2 * JUDGED_AT_ONCE)))
        self.references.changed(many)
        begun = self.references.begin()
        self.assertLessEqual(len(begun.needed), JUDGED_AT_ONCE)
        self.finish()
        self.assertEqual(self.letters(), {"x": 2 * JUDGED_AT_ONCE})
        at_once = ObjectReferences(TranslateOptions())
        at_once.changed(many)
        self.assertEqual(at_once.begin_at_once(), dict.fromkeys(self.references.needed(), TLS_KEYS))

    def test_change_amid(self) -> None:
        """An object that changes while what it needs is being found needs what it says then, and nothing of what it said before."""
        self.references.begin()
        self.references.changed(batch(self.of_many("a", "x")))
        self.references.judge_some()
        self.assertTrue(self.references.is_judging)
        self.references.changed(batch(self.of_many("a", "y")))
        self.references.judge_some()
        self.references.changed(batch(self.of_many("a", "z", "x")))
        self.finish()
        self.assertEqual(self.letters(), {"z": 2 * JUDGED_AT_ONCE, "x": 2 * JUDGED_AT_ONCE})
        self.references.changed(without("a"))
        self.references.judge_some()
        self.references.changed(batch(ingress("a", "w")))
        self.finish()
        self.assertEqual(self.letters(), {"w": 1})

    def test_class_amid(self) -> None:
        """A class that ceases to be ours amid that takes away what was counted, and no more."""
        nginx = IngressClass(ObjectKey("", "nginx"), "k8s.io/ingress-nginx")
        self.references.changed(batch(nginx))
        self.references.begin()
        self.references.changed(batch(self.of_many("a", "x"), ingress("b", "x0")))
        self.references.changed(batch(evolve(nginx, controller="other/controller")))
        self.finish()
        self.assertEqual(self.letters(), {})
        self.references.changed(batch(nginx))
        self.finish()
        self.assertEqual(self.letters(), {"x": 2 * JUDGED_AT_ONCE})

    def test_not_asked_for_any_more(self) -> None:
        """Of an object whose class ceases to be ours while what it needs is being counted nothing more is asked for."""
        nginx = IngressClass(ObjectKey("", "nginx"), "k8s.io/ingress-nginx")
        self.references.changed(batch(nginx))
        self.references.begin()
        self.references.changed(batch(self.of_many("a", "x", "y")))
        while not self.references.needed():
            self.references.judge_some()
        self.assertTrue(self.references.is_judging)
        changes = [self.references.changed(batch(evolve(nginx, controller="other/controller")))]
        changes += self.finish()
        self.assertEqual([dict(one.needed) for one in changes], [{}] * len(changes))
        self.assertEqual(self.letters(), {})
        # It is ours again amid that.
        self.references.changed(batch(nginx))
        self.references.judge_some()
        self.references.changed(batch(evolve(nginx, controller="other/controller")))
        self.references.changed(batch(nginx))
        self.finish()
        self.assertEqual(self.letters(), {"x": 2 * JUDGED_AT_ONCE, "y": 2 * JUDGED_AT_ONCE})

    def test_others_amid(self) -> None:
        """Who changes does not wait for an object that takes several calls."""
        self.references.begin()
        self.references.changed(batch(self.of_many("a", "x", "y", "z")))
        self.assertEqual(self.references.changed(batch(ingress("b", "w"))).needed, {key("w"): TLS_KEYS})
        self.assertTrue(self.references.is_judging)

    def test_any_history(self) -> None:
        """Whatever changes between whatever calls, in the end that is needed which the objects refer to, as often as they do."""
        random = Random(5)
        nginx = IngressClass(ObjectKey("", "nginx"), "k8s.io/ingress-nginx")
        for _ in range(6):
            self.references = ObjectReferences(TranslateOptions())
            self.references.changed(batch(nginx))
            self.references.begin()
            said: dict[str, set[str]] = {}
            is_ours = True
            for _ in range(25):
                name = random.choice("abc")
                if random.random() < 0.2:
                    is_ours = not is_ours
                    controller = nginx.controller if is_ours else "other/controller"
                    self.references.changed(batch(evolve(nginx, controller=controller)))
                elif random.random() < 0.2:
                    said.pop(name, None)
                    self.references.changed(without(name))
                else:
                    one = self.of_many(name, random.choice("xy"))
                    one = evolve(one, tls=one.tls[: random.choice((3, 150, 900))])
                    said[name] = {entry.secret_name for entry in one.tls}
                    self.references.changed(batch(one))
                for _ in range(random.choice((0, 0, 1, 2, 9))):
                    self.references.judge_some()
            self.finish()
            expected = set().union(*said.values()) if is_ours else set()
            self.assertEqual({secret.name for secret in self.references.needed()}, expected)
            for name in said:
                self.references.changed(without(name))
            self.finish()
            self.assertEqual(len(self.references), 0)

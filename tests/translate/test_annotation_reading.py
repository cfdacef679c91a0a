"""Tests for Secrets and ConfigMaps that annotations name, from object to filter."""

from typing import Any

from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations import annotations
from ingress.annotations.annotations import FAMILIES
from ingress.model.cluster.objects import ConfigMap, Kind, ObjectKey, Projection, Secret
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.secrets import ALL_KEYS
from ingress.model.upstream.backends import BackendReference
from ingress.translate.annotation_reading import annotation_reader, needs_of_options
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.needs import needs_of
from ingress.translate.self_check import differences
from ingress.translate.snapshot import Snapshot
from tests.translate.badges import BADGES, OPERATORS_BADGES, Badge
from tests.translate.following import Follower, batch
from tests.translate.tls.test_client_authentication import ingress

OPTIONS = TranslateOptions()


def secret(text: bytes, name: str = "s", namespace: str = "demo") -> Secret:
    """A Secret that has *text* under the key that is needed, and another key."""
    return Secret(ObjectKey(namespace, name), "Opaque", {"tls.crt": text, "other": text + b"!"})


def config(name: str = "c", namespace: str = "demo", **data: str) -> ConfigMap:
    """A ConfigMap."""
    return ConfigMap(ObjectKey(namespace, name), data)


class ReferenceCase(SynchronousTestCase):
    """A follower of a few objects, and families with references."""

    families: tuple[Any, ...] = (*FAMILIES, BADGES)

    def setUp(self) -> None:
        """Add the row."""
        self.patch(annotations, "FAMILIES", self.families)

    def follow(self, *objects: Any, options: TranslateOptions = OPTIONS) -> None:
        """Begin with *objects*."""
        self.follower = Follower(options, list(objects))

    def settled(self) -> Snapshot:
        """Settle, and compare with a full translation."""
        found = self.follower.settle()
        self.assertEqual(differences(found, self.follower.expected()), ())
        return found

    def badges(self) -> list[Badge]:
        """The badges of all routes, by host."""
        return [
            one for route in self.settled().table.routes for one in route.filters if isinstance(one, Badge)
        ]

    def told(self) -> list[Problem]:
        """Problems about badges and what they need."""
        return [one for one in self.settled().problems if "badge" in one.message]


class FoundTests(ReferenceCase):
    """What filters get of what was named."""

    def test_found(self) -> None:
        """The family gets of a Secret the keys that it needs, and all of a ConfigMap."""
        self.follow(
            ingress("a", "/", badge_secret="s", badge_config="demo/c"), secret(b"x"), config(k="v", l="w")
        )
        self.assertEqual(self.badges(), [Badge(b"x", (("k", "v"), ("l", "w")))])
        self.assertEqual(self.told(), [])

    def test_missing(self) -> None:
        """What is missing is told of the annotation that names it, with what becomes of the Ingress; the family gets None."""
        self.follow(ingress("a", "/", badge_secret="s", badge_config="c"))
        self.assertEqual(self.badges(), [Badge(None)])
        of_map, of_secret = self.told()
        self.assertEqual(
            (of_map.reason, of_map.message, of_map.field),
            (
                Reason.CONFIG_MAP_NOT_FOUND,
                "badge-config: ConfigMap demo/c: there is no such ConfigMap; it has no effect",
                "metadata.annotations[nginx.ingress.kubernetes.io/badge-config]",
            ),
        )
        self.assertEqual(of_secret.reason, Reason.SECRET_NOT_FOUND)
        self.assertIn("there is no such Secret; its paths answer 503", of_secret.message)

    def test_forbidden(self) -> None:
        """What may not be read is told as that."""
        self.follow(ingress("a", "/", badge_secret="s", badge_config="c"))
        for kind, name, reason in (
            (Kind.SECRET, "s", Reason.SECRET_FORBIDDEN),
            (Kind.CONFIG_MAP, "c", Reason.CONFIG_MAP_FORBIDDEN),
        ):
            problem = Problem(kind, "demo", name, reason, "no right to get it")
            self.follower.change({(kind, ObjectKey("demo", name)): Projection(None, (problem,))})
        self.assertEqual(
            sorted(one.reason for one in self.told()), [Reason.CONFIG_MAP_FORBIDDEN, Reason.SECRET_FORBIDDEN]
        )
        for one in self.told():
            self.assertIn("for its operator to grant", one.message)

    def test_another_namespace(self) -> None:
        """What another namespace has is refused with the reason, and neither read nor found, though it is there."""
        asks = ingress("a", "/", badge_secret="other/s", badge_config="other/c")
        self.follow(asks, secret(b"x", namespace="other"), config(namespace="other", k="v"))
        self.assertEqual(self.badges(), [Badge(None)])
        self.assertEqual([one.reason for one in self.told()], [Reason.INVALID_ANNOTATION] * 2)
        for one in self.told():
            self.assertIn("is in another namespace and out of reach", one.message)
        for kind in (Kind.SECRET, Kind.CONFIG_MAP):
            self.assertEqual(needs_of(asks, kind, annotation_reader(OPTIONS)), {})

    def test_contents(self) -> None:
        """What a family has to say of the content is told, where there is any content."""
        self.follow(ingress("a", "/", badge_config="c"), config())
        (problem,) = self.told()
        self.assertEqual(problem.message, "badge-config: ConfigMap demo/c is empty")

    def test_needs(self) -> None:
        """Both are asked for by name, with the keys that are needed of a Secret; a canary needs none."""
        reader = annotation_reader(OPTIONS)
        asks = ingress("a", "/", badge_secret="s", badge_config="c")
        self.assertEqual(
            needs_of(asks, Kind.SECRET, reader), {ObjectKey("demo", "s"): frozenset({"tls.crt"})}
        )
        self.assertEqual(needs_of(asks, Kind.CONFIG_MAP, reader), {ObjectKey("demo", "c"): ALL_KEYS})
        canary = ingress("a", "/", badge_secret="s", canary="true")
        self.assertEqual(needs_of(canary, Kind.SECRET, reader), {})


class ChangeTests(ReferenceCase):
    """What a change of what was named concerns."""

    def setUp(self) -> None:
        """One Ingress that refers to both, one that refers to the Secret, one to nothing."""
        super().setUp()
        self.follow(
            ingress("a", "/", host="a.test", badge_secret="s", badge_config="c"),
            ingress("b", "/", host="b.test", badge_secret="s"),
            ingress("n", "/", host="n.test"),
        )

    def change(self, changed: Any) -> set[str]:
        """Let something change; return the hosts whose routes were decided to be others."""
        before = dict(self.settled().table.by_host())
        self.follower.change(changed)
        after = dict(self.settled().table.by_host())
        return {host for host in after if after[host] is not before[host]}

    def test_comes_changes_goes(self) -> None:
        """Each change of it concerns the hosts of those who name it, and no others."""
        self.assertEqual(self.change(batch(config(k="1"))), {"a.test"})
        self.assertEqual(self.change(batch(config(k="2"))), {"a.test"})
        self.assertEqual(self.change({(Kind.CONFIG_MAP, ObjectKey("demo", "c")): None}), {"a.test"})
        self.assertEqual(self.change(batch(secret(b"1"))), {"a.test", "b.test"})
        self.assertEqual(self.change({(Kind.SECRET, ObjectKey("demo", "s")): None}), {"a.test", "b.test"})

    def test_what_is_not_needed(self) -> None:
        """A key that nobody needs, and objects that nobody names, concern nobody."""
        self.change(batch(secret(b"1")))
        other = Secret(ObjectKey("demo", "s"), "Opaque", {"tls.crt": b"1", "other": b"2"})
        self.assertEqual(self.change(batch(other)), set())
        self.assertEqual(self.change(batch(config("d", k="1"))), set())

    def test_the_ingress_changes(self) -> None:
        """Who names another one gets that, and hears no more of the first."""
        self.change(batch(config(k="1"), config("d", k="2")))
        self.assertEqual(self.change(batch(ingress("a", "/", host="a.test", badge_config="d"))), {"a.test"})
        self.assertEqual(self.badges()[0], Badge(None, (("k", "2"),)))
        self.assertEqual(self.change(batch(config(k="3"))), set())


class OperatorTests(ReferenceCase):
    """What the operator names."""

    families = (*FAMILIES, OPERATORS_BADGES)

    def test_everywhere(self) -> None:
        """It may be in any namespace, and holds for all Ingresses and for the controller's own default backend."""
        options = TranslateOptions(default_backend_service=BackendReference("demo", "web", 80))
        self.follow(
            ingress("a", "/a"),
            ingress("b", "/", host="b.test"),
            config("web", "other", a="1"),
            options=options,
        )
        badges = self.badges()
        self.assertEqual(set(badges), {Badge(None, everywhere="1")})
        self.assertEqual(len(badges), len(self.settled().table.routes))
        self.follower.change(batch(config("web", "other", a="2")))
        self.assertEqual(set(self.badges()), {Badge(None, everywhere="2")})

    def test_missing(self) -> None:
        """One that is missing is told once, of the ConfigMap itself, for the operator alone."""
        self.follow(ingress("a", "/a"), ingress("b", "/", host="b.test"))
        (problem,) = self.told()
        self.assertEqual((problem.kind, problem.name), ("ConfigMap", "web"))
        self.assertTrue(problem.is_the_operators)

    def test_needs(self) -> None:
        """It is read whoever is served."""
        needs = needs_of_options(OPTIONS, Kind.CONFIG_MAP)
        self.assertEqual(needs, {ObjectKey("other", "web"): ALL_KEYS})

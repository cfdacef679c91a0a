"""Why nothing is served."""

from typing import cast

from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.label_selectors import LabelRequirement, LabelSelector
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.model.stepwise import finished
from ingress.settings import Settings, translate_options
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.nothing_served import why_nothing_is_served
from ingress.translate.readers.ingress.objects import Ingress, IngressClass, ingresses_of
from ingress.translate.readers.reader import Readers
from ingress.translate.readers.route_kinds import ROUTE_KINDS


def state(*classes: str | None, seen: dict[str, str] | None = None) -> ClusterState:
    """Return a state with an Ingress of each of *classes*, and IngressClasses with their controllers."""
    keys = [ObjectKey("demo", f"i{number}") for number in range(len(classes))]
    return ClusterState(
        {
            Kind.INGRESS: {
                key: Ingress(key, class_name=name) for key, name in zip(keys, classes, strict=True)
            },
            Kind.INGRESS_CLASS: {
                ObjectKey("", name): IngressClass(ObjectKey("", name), controller)
                for name, controller in (seen or {}).items()
            },
        }
    )


def why(state: ClusterState, options: TranslateOptions) -> str:
    """Return why nothing of *state* is served."""
    return finished(why_nothing_is_served(state, options))


class WhyNothingTests(SynchronousTestCase):
    """What an operator reads who sees no routes."""

    def test_no_ingresses(self) -> None:
        """Without any Ingress that is said, of manifests and of a cluster."""
        self.assertEqual(
            why(state(), TranslateOptions(from_manifests=True)),
            "the manifests hold no Ingresses",
        )
        self.assertIn("has no Ingresses", why(state(), TranslateOptions()))
        settings = Settings(namespace_selector=LabelSelector((LabelRequirement("team", "Exists"),)))
        self.assertIn(
            "has no Ingresses in namespaces that --watch-namespace-selector selects",
            why(state(), translate_options(settings)),
        )

    def test_nothing_of_any_kind(self) -> None:
        """Where there is nothing at all, the kinds of the Gateway API are not listed besides."""
        options = TranslateOptions(from_manifests=True)
        self.assertEqual(
            finished(Readers(ROUTE_KINDS, options).why_nothing(ClusterState({}))),
            "the manifests hold no Ingresses",
        )

    def test_other_classes(self) -> None:
        """The classes that were seen are named with their counts, those most seen first, and the options with them."""
        found = why(
            state("traefik", "edge", "traefik", None, seen={"edge": "example.com/edge"}), TranslateOptions()
        )
        self.assertEqual(
            found,
            'left alone are 2 Ingresses of class "traefik", 1 Ingress of class "edge" (of the controller'
            ' "example.com/edge"), 1 Ingress without class; served is class "nginx" (--ingress-class), with the'
            ' controller "k8s.io/ingress-nginx" (--controller-class), and none without class (--watch-without-class)',
        )

    def test_class_by_name(self) -> None:
        """Which class is served by its name alone is said, and an Ingress of that class is none that is left alone."""
        options = TranslateOptions(class_by_name=True)
        found = why(state("nginx", "edge", seen={"nginx": "example.com/edge"}), options)
        self.assertEqual(
            found,
            'left alone are 1 Ingress of class "edge", the problems of 1 Ingress say why; served is class "nginx"'
            ' (--ingress-class), with the controller "k8s.io/ingress-nginx" (--controller-class), or whatever controller it has'
            " (--ingress-class-by-name)",
        )

    def test_old_annotation(self) -> None:
        """A class by the old annotation is one, too."""
        key = ObjectKey("demo", "a")
        old = Ingress(key, annotations={"kubernetes.io/ingress.class": "haproxy"})
        self.assertIn(
            'class "haproxy"',
            why(ClusterState({Kind.INGRESS: {key: old}}), TranslateOptions()),
        )

    def test_many_classes(self) -> None:
        """However many classes there are, and whatever they are called, the text is short and printable."""
        found = why(state(*("\n" * 100 + str(one) for one in range(300))), TranslateOptions())
        self.assertIn("295 Ingresses of other classes", found)
        self.assertTrue(found.isprintable())
        self.assertLess(len(found), 2500)

    def test_in_steps(self) -> None:
        """Thousands of Ingresses are looked at in steps, however many come or go meanwhile."""
        seen = state(*["edge"] * 3000)
        ingresses = cast("dict[ObjectKey, Ingress]", ingresses_of(seen))
        steps, count = Readers(ROUTE_KINDS, TranslateOptions()).why_nothing(seen), 0
        while True:
            try:
                next(steps)
            except StopIteration as end:
                self.assertIn("3,000 Ingresses", end.value)
                break
            count += 1
            key = ObjectKey("demo", f"x{count}")
            ingresses[key] = Ingress(key)
        self.assertGreater(count, 10)

    def test_own_ingresses_without_routes(self) -> None:
        """Where Ingresses of our class have no route, their problems say why."""
        self.assertEqual(why(state("nginx"), TranslateOptions()), "the problems of 1 Ingress say why")

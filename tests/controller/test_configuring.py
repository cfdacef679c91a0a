"""Options that change while the controller runs."""

from attrs import evolve

from ingress.annotations.redirects.https_redirect import REDIRECTS, RedirectSettings
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.serving.serving_settings import ServingSettings
from ingress.translate.translate import translate
from tests.controller.controller_case import NOW, ControllerTestCase, batch, endpoint_slice, ingress
from tests.operator_settings import operator_settings

FORCING = operator_settings((REDIRECTS, RedirectSettings(force_ssl_redirect=True)))


class ConfigureTests(ControllerTestCase):
    """Options that change while the controller runs."""

    problem = Problem("ConfigMap", "ingress", "options", Reason.INVALID_OPTION, "no option", "data.x")

    def test_serving(self) -> None:
        """What only the proxy goes by is published with the next snapshot, and nothing is translated for it."""
        before = self.start_shop()
        serving = ServingSettings(slow_start_seconds=5.0)
        self.controller.configure(self.options, serving, (self.problem,))
        self.assertEqual(self.published, [])
        self.clock.advance(1)
        [after] = self.published
        self.assertEqual((before.serving, after.serving), (ServingSettings(), serving))
        self.assertIs(after.table, before.table)
        self.assertIs(after.backends, before.backends)
        self.assertEqual(after.problems, (self.problem,))
        self.assertEqual(self.controller.verify(), ())

    def test_the_same(self) -> None:
        """To say what holds already publishes nothing."""
        self.start_shop()
        self.controller.configure(self.options, ServingSettings(), ())
        self.clock.advance(1)
        self.assertEqual(self.published, [])

    def test_translation(self) -> None:
        """Where translation goes by other options, all is as if it had begun with them."""
        self.start_shop()
        options = evolve(self.options, operators=FORCING)
        self.controller.configure(options, ServingSettings(), (self.problem,))
        self.clock.pump([0.01] * 50)
        self.assertEqual(self.controller.verify(), ())
        expected = translate(self.store.state(), options, NOW)
        self.assertEqual(self.published[-1].table.routes, expected.table.routes)
        self.assertEqual(self.published[-1].problems, (self.problem,))
        self.assertEqual(self.addresses(), ["10.0.0.1"])
        self.controller.configure(self.options, ServingSettings(), ())
        self.clock.pump([0.01] * 50)
        self.assertEqual((self.controller.verify(), self.published[-1].problems), ((), ()))

    def test_amid_changes(self) -> None:
        """What changes while all is translated anew is lost neither before the new snapshot nor in it."""
        self.start_shop()
        self.controller.changed(batch(ingress("other", "other.test")))
        self.controller.configure(evolve(self.options, operators=FORCING), ServingSettings(), ())
        self.controller.changed(batch(endpoint_slice("shop-1", "shop", "10.0.0.2")))
        self.controller.changed(batch(ingress("third", "third.test")))
        self.clock.pump([0.01] * 50)
        self.assertEqual(self.hosts(), ["other.test", "shop.test", "third.test"])
        self.assertEqual(self.addresses(), ["10.0.0.2"])
        self.assertEqual(self.controller.verify(), ())

    def test_amid_a_round(self) -> None:
        """Options that come again and again while a round goes on let it come to its end, and the last ones count."""
        self.start_shop()
        self.controller.changed(batch(ingress("other", "other.test")))
        published = len(self.published)
        others = [evolve(self.options, operators=FORCING), evolve(self.options, shared_hosts=True)]
        for number in range(200):
            self.controller.configure(others[number % 2], ServingSettings(), ())
            self.clock.advance(0.001)
        self.assertGreater(len(self.published), published)
        self.clock.pump([0.01] * 50)
        self.assertEqual(
            self.published[-1].table.routes, translate(self.store.state(), others[1], NOW).table.routes
        )
        self.assertEqual(self.controller.verify(), ())

    def test_before_the_first(self) -> None:
        """What is configured before the first snapshot is in it, and brings none forth by itself."""
        serving = ServingSettings(slow_start_seconds=5.0)
        self.controller.configure(self.options, serving, (self.problem,))
        self.clock.advance(1)
        self.assertEqual(self.published, [])
        self.controller.synced()
        [snapshot] = self.published
        self.assertEqual((snapshot.serving, snapshot.problems), (serving, (self.problem,)))

    def test_after_a_bug(self) -> None:
        """A bug makes nobody forget what was configured."""
        self.start_shop()
        serving = ServingSettings(slow_start_seconds=5.0)
        self.controller.configure(self.options, serving, (self.problem,))
        self.store.is_broken = True
        self.clock.advance(1)
        self.assertTrue(self.flushLoggedErrors(RuntimeError))
        self.store.is_broken = False
        self.controller.changed(batch(ingress("other", "other.test")))
        self.clock.pump([0.01] * 50)
        self.assertEqual(
            (self.published[-1].serving, self.published[-1].problems), (serving, (self.problem,))
        )

"""What is around an ingress-nginx, found among very much."""

from collections.abc import Callable
from functools import partial

from twisted.trial.unittest import SynchronousTestCase

from ingress.ctl.inputs.ingress_nginx.installation import Surroundings
from ingress.ctl.inputs.ingress_nginx.raw_values import name_of
from tests.ctl.inputs.controllers import LABELS, budget, network_policy, service, workload
from tests.fakes.counting import calls

OF = "app.kubernetes.io/instance"


class SurroundingsTests(SynchronousTestCase):
    """Hundreds of controllers in one namespace."""

    def calls(self, count: int, *, are_apart: bool) -> int:
        """How many calls it takes to find what is around eighty of them, among *count* Services and policies."""
        around = [service(f"service-{number:04}") for number in range(count)]
        for number, one in enumerate(around if are_apart else ()):
            one["spec"]["selector"] = {**LABELS, OF: f"release-{number % 80}"}
        labels = [{OF: f"release-{number}"} for number in range(count)]
        around += [network_policy({"podSelector": {"matchLabels": one}}) for one in labels]
        found = Surroundings([*around, budget()])
        controllers = [workload(pod_metadata={"labels": {**LABELS, **one}}) for one in labels[:80]]
        asked: Callable[[], object] = partial(list, map(found.installation_of, controllers, [""] * 80))
        return calls(asked)

    def test_whoever_asks_for_one_does_not_look_through_all(self) -> None:
        """Twice as many Services and policies are hardly more work, be it that all Services lead to all controllers, or each to one."""
        for are_apart in (False, True):
            few, many = (self.calls(count, are_apart=are_apart) for count in (800, 1600))
            self.assertLess(many, 1.1 * few, are_apart)

    def test_the_one_that_is_published_is_first(self) -> None:
        """However many lead to the same pods; of the others those are kept that come first."""
        around = [service(f"service-{number:03}", type="ClusterIP") for number in range(40)]
        around.append(service("balanced"))
        found = Surroundings(around).installation_of(workload(), "ingress-nginx/service-030")
        self.assertEqual(
            [name_of(one) for one in found.services][:3], ["service-030", "balanced", "service-000"]
        )
        self.assertEqual(len(found.services), 10)
        found = Surroundings(around).installation_of(workload(), "shop/service-030")
        self.assertEqual(name_of(found.services[0]), "balanced")

"""Tests for the statuses of GatewayClasses, and for the list of features."""

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.problems import Reason
from ingress.translate.readers.gateway.statuses.features import CORE, EXTENDED, FEATURES
from tests.translate.readers.gateway.gateway_values import CLASS
from tests.translate.readers.gateway.statuses.statuses_case import StatusCase


class GatewayClassTests(StatusCase):
    """What is said of a class."""

    def test_accepted(self) -> None:
        """A class that names our controller is accepted, and has the features that we serve, sorted."""
        self.given()
        self.assertEqual(
            self.conditions(CLASS),
            {"Accepted": ("True", "Accepted"), "SupportedVersion": ("True", "SupportedVersion")},
        )
        named = [one["name"] for one in self.fields(CLASS)["supportedFeatures"]]
        self.assertEqual(named, sorted(FEATURES))

    def test_theirs(self) -> None:
        """Nothing is said of a class that names another controller."""
        theirs = evolve(CLASS, controller="example.com/other")
        self.given(theirs)
        self.assertFalse(self.report(theirs).is_ours)

    def test_version(self) -> None:
        """Definitions of another version are told, and the class is accepted all the same."""
        problem = CLASS.owner.problem(Reason.UNSUPPORTED_VERSION, "v9.9.9 is not known; v1.6.1 is")
        self.given(problems=[problem])
        self.assertEqual(
            self.conditions(CLASS),
            {"Accepted": ("True", "Accepted"), "SupportedVersion": ("False", "UnsupportedVersion")},
        )
        self.assertIn("v9.9.9", self.message(CLASS, "SupportedVersion"))

    def test_parameters(self) -> None:
        """Parameters that nothing is known of are refused by name."""
        problem = CLASS.owner.problem(Reason.INVALID_PARAMETERS, "there are none", "spec.parametersRef")
        self.given(problems=[problem])
        self.assertEqual(self.conditions(CLASS)["Accepted"], ("False", "InvalidParameters"))
        self.assertEqual(self.message(CLASS, "Accepted"), "spec.parametersRef: there are none")


class FeaturesTests(SynchronousTestCase):
    """The list of features."""

    def test_list(self) -> None:
        """Each is there once, in order, and they are as few as a status may have."""
        self.assertEqual(len(FEATURES), len(CORE) + len(EXTENDED))
        self.assertLessEqual(len(FEATURES), 64)
        for names in (CORE, EXTENDED):
            self.assertEqual(list(names), sorted(names, key=str.lower))

"""Tests for ``ingress.translate.absent_secrets``: what an Ingress is told of a Secret that is not there."""

from datetime import UTC, datetime

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.cluster.kinds import SECRETS
from ingress.cluster.secrets.secret_rights import forbidden_problem
from ingress.model.cluster.objects import Kind, ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.cluster.state import ClusterState
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, IngressTLS
from ingress.translate.translate import translate

KEY = ObjectKey("shop", "tls")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class AbsentSecretTests(SynchronousTestCase):
    """Problems of an Ingress that names a Secret."""

    issued_by = ""
    """The annotation that asks cert-manager for the certificate."""

    def told(self, options: TranslateOptions, *of_secret: Problem, **annotations: str) -> dict[str, str]:
        """The messages to the Ingress, by reason."""
        named = {
            f"nginx.ingress.kubernetes.io/{name.replace('_', '-')}": text
            for name, text in annotations.items()
        }
        tls = () if named else (IngressTLS(("a.example",), "tls"),)
        ingress = Ingress(ObjectKey("shop", "web"), class_name="nginx", tls=tls, annotations=named)
        ingress = evolve(ingress, issued_by=self.issued_by)
        state = ClusterState(
            {Kind.INGRESS: {ingress.key: ingress}},
            problems_of={(Kind.SECRET, KEY): of_secret} if of_secret else {},
        )
        problems = translate(state, options, NOW).problems
        return {one.reason.value: one.message for one in problems if one.kind == "Ingress"}

    def test_missing(self) -> None:
        """Where nothing is hidden, it is said that there is none."""
        told = self.told(TranslateOptions())
        self.assertIn("there is no Secret shop/tls", told[Reason.SECRET_NOT_FOUND])

    def test_hidden(self) -> None:
        """Where a selector hides some from the watch, the option is named, and how soon others are found."""
        told = self.told(TranslateOptions(secret_selector="type=kubernetes.io/tls"))
        message = told[Reason.SECRET_NOT_FOUND]
        self.assertIn("--secret-field-selector (type=kubernetes.io/tls)", message)
        self.assertIn("2, 4, 8 seconds", message)

    def test_made_by_cert_manager(self) -> None:
        """What cert-manager is to make is of the type that is watched: what a selector hides has nothing to do with it."""
        self.issued_by = "cert-manager.io/issuer"
        for options in (TranslateOptions(), TranslateOptions(secret_selector="type=kubernetes.io/tls")):
            self.assertEqual(
                self.told(options)[Reason.SECRET_NOT_FOUND],
                "there is no Secret shop/tls that holds a certificate, and cert-manager is to make it, by cert-manager.io/issuer;"
                " 'kubectl describe certificate' says how far it is; another certificate that covers the host is shown, or the default",
            )

    def test_forbidden(self) -> None:
        """A Secret that may not be read is not called missing, whatever names it."""
        for annotations in (
            {},
            {"auth_tls_secret": "shop/tls"},
        ):
            told = self.told(TranslateOptions(), forbidden_problem(SECRETS, KEY), **annotations)
            self.assertIn("the controller has no right to read it", told[Reason.SECRET_FORBIDDEN])
            self.assertNotIn(Reason.SECRET_NOT_FOUND, told)

    def test_who_is_told(self) -> None:
        """The problem of the Secret is the operator's, that of the Ingress its owner's."""
        problem = forbidden_problem(SECRETS, KEY)
        self.assertTrue(problem.is_the_operators)
        # Which may be a Gateway, or a policy.
        self.assertTrue(problem.message.endswith("to which another object or an option refers"))
        self.assertFalse(evolve(problem, kind="Ingress").is_the_operators)

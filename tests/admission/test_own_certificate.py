"""The webhook's own certificate: whoever runs the controller is told why API servers refuse it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

from ingress.admission.key_files import KeyFiles
from ingress.admission.own_certificate import LOOK_SECONDS, OwnCertificate
from ingress.model.cluster.problems import Problem, Reason
from tests.admission.secret_folder import SecretFolder
from tests.fakes.certificates import issue, make_authority

HOST = "txingress-admission.txingress.svc"
BEGIN = datetime(2030, 1, 1, tzinfo=UTC)
END = datetime(2030, 6, 30, 12, tzinfo=UTC)


class OwnCertificateTests(SynchronousTestCase):
    """``OwnCertificate``, in a pod of the namespace ``txingress``."""

    def setUp(self) -> None:
        self.authority = make_authority()
        self.secret = SecretFolder(Path(self.mktemp()))
        self.clock: Any = Clock()
        self.now = END - timedelta(days=1)
        self.told: list[tuple[Problem, ...]] = []
        self.files = KeyFiles(self.secret.certificate, self.secret.key, "1.2", self.clock)

    def put(
        self, *names: str, begin: datetime = BEGIN, end: datetime = END, common_name: str | None = None
    ) -> None:
        """Have the files hold a certificate for *names*."""
        pair = issue(self.authority, names, not_before=begin, not_after=end, common_name=common_name)
        self.secret.swap(*pair)

    def watch(self, namespace: str = "txingress") -> OwnCertificate:
        """Begin to look."""
        watch = OwnCertificate(self.files, namespace, lambda: self.now, self.clock, self.told.append)
        watch.start()
        self.addCleanup(watch.stop)
        return watch

    def reasons(self) -> list[list[Reason]]:
        """Return the reasons of what was told, each time."""
        return [[problem.reason for problem in problems] for problems in self.told]

    def test_good(self) -> None:
        """Of one that is good nothing is told; it is shown with the first of its names."""
        self.put(HOST, "a.test")
        watch = self.watch()
        self.clock.advance(LOOK_SECONDS)
        self.assertEqual(self.told, [])
        ((host, certificate),) = watch.shown()
        self.assertEqual((host, certificate.not_after), (HOST, END))
        self.assertEqual(str(certificate.secret), self.secret.certificate)

    def test_ends(self) -> None:
        """One that ends is told of within a minute, once, and no more once it was renewed, be it that nobody connects."""
        self.put(HOST)
        self.watch()
        self.now = END
        self.clock.pump([LOOK_SECONDS] * 3)
        ((problem,),) = self.told
        self.assertEqual((problem.kind, problem.namespace, problem.name), ("Process", "", "admission"))
        self.assertTrue(problem.is_the_operators)
        self.assertEqual(
            problem.message,
            f"the certificate in {self.secret.certificate} ended at 2030-06-30T12:00:00Z; "
            "API servers refuse it, so nobody is warned",
        )
        self.put(HOST, end=END + timedelta(days=90))
        self.clock.advance(LOOK_SECONDS)
        self.assertEqual(self.reasons(), [[Reason.CERTIFICATE_EXPIRED], []])

    def test_begins(self) -> None:
        """One that is not valid yet is told of until it is."""
        self.put(HOST, begin=END - timedelta(hours=1))
        self.watch()
        self.now = END - timedelta(minutes=1)
        self.clock.advance(LOOK_SECONDS)
        self.assertEqual(self.reasons(), [[Reason.CERTIFICATE_NOT_YET_VALID], []])

    def test_name(self) -> None:
        """One that is for no Service of the namespace is told of; a wildcard is for one, and the common name for none."""
        for names, common_name in (
            (["a.test", "txingress-admission", "web.other.svc", "*.svc", f"a.{HOST}"], None),
            ([], HOST),
        ):
            self.put(*names, common_name=common_name)
            self.watch().stop()
            ((problem,),) = self.told
            self.assertEqual(problem.reason, Reason.CERTIFICATE_NAME_MISMATCH)
            self.assertIn(
                'is for "a.test", "txingress-admission"' if names else "is for no DNS name", problem.message
            )
            self.assertIn("SERVICE.txingress.svc", problem.message)
            self.told.clear()
            self.clock.advance(LOOK_SECONDS)
        for name in ("*.txingress.svc", HOST.upper()):
            self.put("a.test", name)
            self.watch().stop()
            self.clock.advance(LOOK_SECONDS)
        self.assertEqual(self.told, [])

    def test_unknown_namespace(self) -> None:
        """Outside of a pod it is not known by which name API servers ask."""
        self.put("webhook.example.com")
        self.watch("")
        self.assertEqual(self.told, [])

    def test_unusable(self) -> None:
        """Files that cannot be used are told of, besides what is wrong with the pair that stays in use."""
        watch = self.watch()
        self.assertEqual(list(watch.shown()), [])
        self.put("a.test")
        self.clock.advance(LOOK_SECONDS)
        self.secret.swap(b"nonsense", None)
        self.clock.advance(LOOK_SECONDS)
        self.put(HOST)
        self.clock.advance(LOOK_SECONDS)
        mismatch = Reason.CERTIFICATE_NAME_MISMATCH
        self.assertEqual(
            self.reasons(),
            [[Reason.INVALID_CERTIFICATE], [mismatch], [Reason.INVALID_CERTIFICATE, mismatch], []],
        )
        self.assertIn("nobody can ask the webhook until they can", self.told[0][0].message)
        self.assertIn("the last good ones stay in use", self.told[2][0].message)
